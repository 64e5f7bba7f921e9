"""Actions that steer the campaign as a whole, or one of its instances."""

from __future__ import annotations

from functools import partial

from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import (
    why_not_pause,
    why_not_skip_current,
    why_not_steer_instance,
    why_not_undo,
)

_action = partial(Action, group="Campaign")

CAMPAIGN = (
    _action("campaign.pause", ("p",), "Pause", "Pause the whole campaign, or resume it",
        check=why_not_pause, footer=15, mode="live"),
    _action("campaign.stop", ("x",), "Stop", "End the campaign cleanly; all findings are kept",
        check=why_not_pause, footer=15, mode="live"),
    _action("app.undo", ("z",), "Undo", "Undo your last steering; again: the one before it",
        check=why_not_undo, mode="live"),
    Action("instance.pause", ("P",), "Pause instance",
        "Pause the instance under the cursor, or resume it", "Campaign", scope="overview",
        check=why_not_steer_instance, footer=10, mode="live"),
    Action("instance.skip_current", ("n",), "Next entry",
        "Make the instance continue with another entry", "Campaign", scope="fuzzing",
        needs="skip-current", does="leave the current entry", check=why_not_skip_current, footer=15,
        mode="live", engine="afl"),
    _action("campaign.add_seed", ("a",), "Add seed", "Add an input to the running campaign",
        needs="add-seed", does="add seeds during the campaign", check=why_not_pause, footer=16,
        mode="live", engine="afl"),
)  # fmt: skip

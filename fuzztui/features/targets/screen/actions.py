"""Actions of the Targets screen, and what a user can do with a target now."""

from __future__ import annotations

from typing import Final

from fuzztui.kernel.wire.commands import WeighTarget
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import why_no_row
from fuzztui.tui.frame.weights import WeightContext, weight_actions


class TargetContext(WeightContext):
    """The target under the cursor, after all pending commands."""

    __slots__ = ()
    SCOPE, NOUN, COMMAND = "targets", "target", WeighTarget


ACTIONS: Final[tuple[Action, ...]] = (
    *weight_actions(TargetContext, footer=12),
    Action("targets.open", ("o",), "Open", "Open the run of this target; leaving comes back",
           "Targets", scope="targets", check=why_no_row, footer=11),
    Action("targets.find", ("backspace",), "Find", "Go to the latest finding of this target",
           "Targets", scope="targets", check=why_no_row, footer=22),
)  # fmt: skip

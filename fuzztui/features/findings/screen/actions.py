"""Actions of the Findings screen, and the reasons why one is not possible now."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from fuzztui.kernel.model.selectors import ENDED
from fuzztui.tui.frame.action import Action, editor, source_link, view_input
from fuzztui.tui.frame.action_context import (
    ActionContext,
    RowContext,
    why_no_row,
    why_not_steer,
    without_supervisor,
)


@dataclass(frozen=True, slots=True)
class FindingContext(RowContext):
    """The finding under the cursor."""

    minimising: bool = False

    def labels(self) -> dict[str, str]:
        """Return the label of the key that cancels minimising."""
        return {"finding.minimise": "Cancel"} if self.minimising else {}


def why_not_minimise(now: ActionContext) -> str:
    """Why the finding under the cursor cannot be minimised."""
    # Without a supervisor the screen runs the command itself.
    reason = "" if without_supervisor(now) else why_not_steer(now)
    return reason or why_no_row(now)


def why_not_judge_finding(now: ActionContext) -> str:
    """Why the group under the cursor cannot get a verdict. After the end a command writes it."""
    ended = without_supervisor(now) and now.state in ENDED
    return ("" if ended else why_not_steer(now)) or why_no_row(now)


_action = partial(Action, group="Findings", scope="findings")

ACTIONS: Final[tuple[Action, ...]] = (
    source_link("findings", "Findings", "the line at which the stack ends"),
    view_input("findings", "Findings"),
    editor("findings", "Findings", "a copy of the input"),
    _action("finding.copy", ("c",), "Copy repro",
        "Copy the command line that reproduces this finding", check=why_no_row, footer=10),
    _action("finding.copy_path", ("C",), "Copy path", "Copy the path of the finding's file",
        check=why_no_row, footer=11),
    _action("finding.minimise", ("m",), "Minimise",
        "Look for a smaller input with the same signature", check=why_not_minimise, footer=13,
        mode="live"),
    _action("finding.judge", ("V",), "Verdict",
        "Say that the group is known, fixed or not to be fixed, with a note",
        check=why_not_judge_finding, footer=14, mode="live"),
    _action("finding.frames", ("f",), "Frames",
        "Say which frames of the stack count for the signature", check=why_not_judge_finding,
        footer=15, mode="live"),
    _action("finding.group", ("v",), "Group", "Show one row per signature, or one row per file",
        footer=12),
)  # fmt: skip

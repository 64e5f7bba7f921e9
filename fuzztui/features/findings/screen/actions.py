"""Actions of the Findings screen."""

from __future__ import annotations

from functools import partial
from typing import Final

from fuzztui.tui.frame.action import Action, editor, source_link, view_input
from fuzztui.tui.frame.action_context import why_no_row, why_not_judge_finding, why_not_minimise

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

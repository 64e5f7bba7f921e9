"""Actions of the Findings screen."""

from __future__ import annotations

from typing import Final

from fuzztui.tui.frame.action import Action, editor, source_link, view_input
from fuzztui.tui.frame.action_context import why_no_row, why_not_judge_finding, why_not_minimise

ACTIONS: Final[tuple[Action, ...]] = (
    source_link("findings", "Findings", "the line at which the stack ends"),
    view_input("findings", "Findings"),
    editor("findings", "Findings", "a copy of the input"),
    Action(
        "finding.copy", ("c",), "Copy repro",
        "Copy the command line that reproduces this finding", "Findings",
        scope="findings", check=why_no_row, footer=10,
    ),
    Action(
        "finding.copy_path", ("C",), "Copy path",
        "Copy the path of the finding's file", "Findings",
        scope="findings", check=why_no_row, footer=11,
    ),
    Action(
        "finding.minimise", ("m",), "Minimise",
        "Look for a smaller input with the same signature", "Findings",
        scope="findings", check=why_not_minimise, footer=13, mode="live",
    ),
    Action(
        "finding.judge", ("V",), "Verdict",
        "Say that the group is known, fixed or not to be fixed, with a note", "Findings",
        scope="findings", check=why_not_judge_finding, footer=14, mode="live",
    ),
    Action(
        "finding.frames", ("f",), "Frames",
        "Say which frames of the stack count for the signature", "Findings",
        scope="findings", check=why_not_judge_finding, footer=15, mode="live",
    ),
    Action(
        "finding.group", ("v",), "Group",
        "Show one row per signature, or one row per file", "Findings",
        scope="findings", footer=12,
    ),
)  # fmt: skip

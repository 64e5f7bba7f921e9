"""Actions of the Source screen."""

from __future__ import annotations

from typing import Final

from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import why_no_row, why_not_measure

ACTIONS: Final[tuple[Action, ...]] = (
    Action(
        "source.other", ("t",), "Files", "Switch between the files and the lines", "Source",
        scope="source", footer=1,
    ),
    *(
        Action(
            f"source.{name}", (key,), label, text, "Source", scope="source", footer=footer,
            run="source.next", args=(step,),
        )
        for name, key, label, text, step, footer in (
            ("next", "n", "Next", "Go to the next line that is on the frontier, or has a finding "
             "or survivor", 1, 9),
            ("previous", "N", "Previous", "Go to the previous such line", -1, 0),
        )
    ),
    Action(
        "source.mutants", ("m",), "Mutants", "Go to the mutants of this line, one after the other",
        "Source", scope="source", check=why_no_row, footer=10,
    ),
    Action(
        "source.finding", ("f",), "Finding", "Go to the finding that ends on this line", "Source",
        scope="source", check=why_no_row, footer=11,
    ),
    Action(
        "source.first", ("backspace",), "First entry",
        "Go to the entry that was the first to execute this line", "Source",
        scope="source", check=why_no_row, footer=12,
    ),
    Action(
        "source.smallest", ("b",), "Smallest",
        "Go to the smallest entry that executes this line; measures it at first", "Source",
        scope="source", check=why_no_row, footer=13,
    ),
    Action(
        "source.measure", ("r",), "Measure",
        "Run the corpus again: the smallest entry of each line, and coverage that the log lacks",
        "Source", scope="source", check=why_not_measure, footer=14,
    ),
    Action(
        "source.edit", ("e",), "Editor", "Open the file at this line in $EDITOR", "Source",
        scope="source", check=why_no_row, footer=18, run="row.edit",
    ),
    Action(
        "source.copy", ("c",), "Copy location", "Copy path and line", "Source",
        scope="source", check=why_no_row, footer=23,
    ),
)  # fmt: skip

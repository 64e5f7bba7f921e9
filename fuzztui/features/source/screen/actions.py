"""Actions of the Source screen."""

from __future__ import annotations

from functools import partial
from typing import Final

from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import why_no_row, why_not_measure

_action = partial(Action, group="Source", scope="source")

ACTIONS: Final[tuple[Action, ...]] = (
    _action("source.other", ("t",), "Files", "Switch between the files and the lines", footer=1),
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
    _action("source.mutants", ("m",), "Mutants",
        "Go to the mutants of this line, one after the other", check=why_no_row, footer=10),
    _action("source.finding", ("f",), "Finding", "Go to the finding that ends on this line",
        check=why_no_row, footer=11),
    _action("source.first", ("backspace",), "First entry",
        "Go to the entry that was the first to execute this line", check=why_no_row, footer=12),
    _action("source.smallest", ("b",), "Smallest",
        "Go to the smallest entry that executes this line; measures it at first", check=why_no_row,
        footer=13),
    _action("source.measure", ("r",), "Measure",
        "Run the corpus again: the smallest entry of each line, and coverage that the log lacks",
        check=why_not_measure, footer=14),
    _action("source.edit", ("e",), "Editor", "Open the file at this line in $EDITOR",
        check=why_no_row, footer=18, run="row.edit"),
    _action("source.copy", ("c",), "Copy location", "Copy path and line", check=why_no_row,
        footer=23),
)  # fmt: skip

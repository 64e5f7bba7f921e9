"""Actions of the Source screen, and why they are impossible."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import ActionContext, RowContext, why_no_row


@dataclass(frozen=True, slots=True)
class SourceContext(RowContext):
    """What the screen knows of measurements."""

    measuring: bool = False
    """Whether the coverage is being measured from here."""

    def labels(self) -> dict[str, str]:
        """Return the label of the key that cancels the measurement."""
        return {"source.measure": "Cancel"} if self.measuring else {}


def why_not_measure(now: ActionContext) -> str:
    """Why the corpus cannot be run again from here."""
    if now.watched or not now.has_run:
        return "there is no run of fuzztui here whose target could be run"
    if now.read_only:
        return now.read_only
    if now.remote:
        return "the run is on another machine; there: fuzztui coverage RUN"
    if not now.engine:
        return "the campaign is still starting"
    return ""


_action = partial(Action, group="Source", scope="source")

ACTIONS: Final[tuple[Action, ...]] = (
    _action("source.other", ("t",), "Files", "Switch between the files and the lines", footer=1),
    _action("source.map", ("v",), "Map",
        "Show the map: files and functions by size, filled by what is covered; again: the table",
        footer=2),
    *(
        Action(
            f"map.{name}", (name,), label, text, "Source", scope="map", run="map.move", args=(by,)
        )
        for name, label, text, by in (
            ("left", "Left", "On the map: go to the box on the left", -1),
            ("right", "Right", "On the map: go to the box on the right", 1),
        )
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
        check=why_no_row, footer=18, run="row.edit", local=True),
    _action("source.copy", ("c",), "Copy location", "Copy path and line", check=why_no_row,
        footer=23),
)  # fmt: skip

"""A list of what can be started: a new campaign of the user's own, and the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuzztui.tui.base.list_dialog import ListScreen

OWN = "own"
"""The answer for a campaign of the user's own."""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample campaign."""

    file: str
    title: str
    needs: str = ""
    """What must be installed for it; an empty string: nothing is missing."""


class NewScreen(ListScreen):
    """Returns :data:`OWN`, or the file of a sample; None after escape."""

    DEFAULT_CSS = "NewScreen > Vertical { width: 110; }"

    def __init__(self, samples: Sequence[SampleRow], own: str) -> None:
        """``own``: the text of the first row."""
        room = max((len(s.file) for s in samples), default=0) + 2
        rows = {OWN: own}
        for s in samples:
            needs = f"{s.needs}: " if s.needs else ""
            rows[s.file] = f"{s.file:<{room}}{needs}{s.title}"
        super().__init__("New campaign", "⏎ starts, esc cancels", rows)

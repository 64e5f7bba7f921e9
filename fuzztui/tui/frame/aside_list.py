"""A list in the right part of the Overview, which a feature adds: what is left to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from fuzztui.kernel.model.state import Changes, State
from fuzztui.tui.base.canvas import Line, TextSpan

MAX_LISTED = 60
"""Rows that are looked up: more than a terminal has."""


class AsideRow(NamedTuple):
    """One row; the spans are safe to draw."""

    key: str
    """The key of the row on the screen to which a click leads."""
    left: Line
    right: TextSpan


class AsideList:
    """Rows of one kind. Of several lists the first one that has rows is shown."""

    TAB: ClassVar[str] = ""
    """The screen to which a click leads."""
    TITLE: ClassVar[str] = ""
    RIGHT: ClassVar[str] = ""
    """The title above the right parts of the rows."""

    def note(self, changes: Changes) -> None:
        """Remember what has changed."""

    def look(self, state: State) -> bool:
        """Take the rows from ``state``; return whether there are any."""
        raise NotImplementedError

    def rows(self, width: int) -> Iterator[AsideRow]:
        """Yield the rows of the last look, for so many cells."""
        raise NotImplementedError

"""What a feature adds to the Overview: lines below the tiles, lists in its right part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from fuzztui.kernel.model.state import Changes, State
from fuzztui.tui.base.canvas import Line, TextSpan, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.host import host
from fuzztui.tui.frame.strip import StatusCanvas
from fuzztui.tui.labels.status import Status


class OverviewLine(StatusCanvas):
    """A line below the tiles that is hidden as long as it has nothing to show.

    If a subclass, which may be of another package, raises an error, the line shows the error.
    """

    DEFAULT_CSS = "OverviewLine { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__()
        self._made: Sequence[Line] = ()
        """The content as of the last :meth:`show`, because the state may change during drawing."""

    def content(self, width: int) -> Sequence[Line]:
        """Return the lines for ``self._status``; those that fit into the height are drawn.

        An empty sequence: the line is hidden.
        """
        raise NotImplementedError

    def show(self, status: Status) -> None:
        """Draw ``status``, or hide the line."""
        self._status = status
        self._made = self.lines_for(self.app.size.width)
        self.display = bool(self._made)
        self.repaint()

    def on_resize(self) -> None:
        """Make the content for another width."""
        host(self).when_free(partial(self.show, self._status))

    def paint(self, width: int, height: int) -> Sequence[Line]:
        """Draw the content, without spans that do not fit whole."""
        return [whole_spans(line, width) for line in self._made]

    def lines_for(self, width: int) -> Sequence[Line]:
        """Return the content, or the error that it has raised."""
        try:
            return list(self.content(width))
        except Exception as e:
            text = plain(f" {type(self).__name__}: {type(e).__name__}: {e}")
            return [[TextSpan(text[:width], "failed")]]


def whole_spans(line: Line, width: int) -> Line:
    """Return ``line`` without the spans that do not fit whole: half a number is a wrong number.

    A label at the end, whose value does not fit, is left out too.
    """
    shown = [*line]
    if width_of(shown) <= width:
        return shown
    while shown and (width_of(shown) > width or _is_label(shown[-1])):
        shown.pop()
    return shown


def _is_label(span: TextSpan) -> bool:
    return span.style == "muted" or span.text.endswith(" ")


MAX_LISTED = 60
"""Rows that are looked up: more than a terminal has."""


class AsideRow(NamedTuple):
    """One row; the spans are safe to draw."""

    key: str
    """The key of the row on the screen to which a click leads."""
    left: Line
    right: TextSpan


class AsideList:
    """A list of what is left to do. Of several lists the first one that has rows is shown."""

    TAB: ClassVar[str] = ""
    """The screen to which a click leads."""
    TITLE: ClassVar[str] = ""
    RIGHT: ClassVar[str] = ""
    """The title above the right parts of the rows."""

    def note(self, changes: Changes) -> None:
        """Collect changes for the next :meth:`look`."""

    def look(self, state: State) -> bool:
        """Take the rows from ``state``; return whether there are any."""
        raise NotImplementedError

    def rows(self, width: int) -> Iterator[AsideRow]:
        """Yield the rows of the last look, for a list of ``width`` cells."""
        raise NotImplementedError

"""Canvases that draw the campaign's status, and a clickable kind of them."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from fuzztui.tui.base.canvas import Canvas, Line, TextSpan
from fuzztui.tui.base.wrap import wrap
from fuzztui.tui.labels.status import Status

MOST = 0.6
"""The part of a terminal's lines that an opened strip may take."""

ALL, MAIN, NO = 2, 1, 0
"""Levels of explanation in an opened strip: of all figures, of the main ones, of none."""

INDENT = 7
"""Cells in front of explanations, and of lines that go on."""


class StatusCanvas(Canvas):
    """A canvas that draws ``self._status``, the status of the last :meth:`show`."""

    def __init__(self) -> None:
        super().__init__()
        self._status = Status(caught_up=0.0)

    def show(self, status: Status) -> None:
        """Draw ``status``."""
        self._status = status
        self.repaint()


class ChoiceStrip(StatusCanvas):
    """One line above a table; opened: as many as all figures need. Spans are filters of the table.

    A subclass implements :meth:`folded` and :meth:`unfolded`.
    """

    DEFAULT_CSS = "ChoiceStrip { height: 1; max-height: 60%; }"
    explains = ALL
    """The highest level for which there is room: figures take precedence over explanations."""

    class Chosen(Message):
        """A span with a state or a phase was clicked."""

        def __init__(self, state: str) -> None:
            super().__init__()
            self.state = state

    def __init__(self) -> None:
        super().__init__()
        self._opened = False
        self._high = 1

    def folded(self, width: int) -> Line:
        """Return the line of the folded strip."""
        raise NotImplementedError

    def unfolded(self, width: int) -> Sequence[Line]:
        """Return the lines of the opened strip, none longer than ``width``."""
        raise NotImplementedError

    def meaning(self, width: int, *texts: str, level: int = ALL) -> list[Line]:
        """Return what the figures above it mean, wrapped; nothing without texts or room."""
        line = [TextSpan(" " * INDENT), TextSpan("; ".join(texts), "muted")]
        return [*wrap(line, width)] if texts and self.explains >= level else []

    def open(self, opened: bool) -> None:
        """Open or fold the strip."""
        self._opened = opened
        self._fit()
        self.repaint()

    def show(self, status: Status) -> None:
        """Draw ``status``."""
        super().show(status)
        self._fit()

    def on_resize(self) -> None:
        """Adapt the number of lines to the new width."""
        self._fit()

    def _fit(self) -> None:
        lines: Sequence[Line] = ()
        if self._opened and self.size.width:
            for self.explains in (ALL, MAIN, NO):
                lines = self.unfolded(self.size.width)
                if len(lines) <= MOST * self.app.size.height:
                    break
        if (high := max(1, len(lines))) != self._high:
            self._high = high
            self.styles.height = high

    def paint(self, width: int, height: int) -> Sequence[Line]:
        """Draw the folded line, or all lines if the strip is open."""
        return self.unfolded(width) if self._opened else [self.folded(width)]

    def clicked(self, click: str, at: int) -> None:
        """Post :class:`Chosen`."""
        self.post_message(self.Chosen(click))

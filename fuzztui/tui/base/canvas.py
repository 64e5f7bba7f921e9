"""A widget drawn from styled spans that repaints only changed cells.

Over SSH every byte counts, and an idle screen should send none: a subclass returns its current
lines, and the canvas determines what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.dom import DOMNode
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from fuzztui.tui.base.palette import Palette


class TextSpan(NamedTuple):
    """Text in one style; must have gone through :func:`~fuzztui.tui.base.text.plain`.

    ``style`` is for the :class:`~fuzztui.tui.base.palette.Palette`. ``click`` is passed to
    :meth:`Canvas.clicked` after a click on the span.
    """

    text: str
    style: str = ""
    click: str = ""


Line = Sequence[TextSpan]


class OneLine(list[TextSpan]):
    """A :data:`Line` that is cut, not wrapped, in a narrow pane: a line of source code."""


def width_of(line: Line) -> int:
    """Return the width of ``line`` in cells."""
    return sum(cell_len(span.text) for span in line)


def spread(left: Line, right: Line, width: int) -> list[TextSpan]:
    """Return ``left`` and ``right`` at the ends of ``width`` cells; without room only ``left``."""
    room = width - width_of(left)
    wanted = width_of(right)
    if wanted >= room:
        return list(left)
    return [*left, TextSpan(" " * (room - wanted)), *right]


def merged(cells: Iterable[tuple[str, str]], *, clicks: bool = False) -> list[TextSpan]:
    """Return pairs of text and style as few spans: neighbours of one style become one span.

    ``clicks``: the ``click`` of each span is the number of its first pair.
    """
    out: list[TextSpan] = []
    for i, (text, style) in enumerate(cells):
        if out and out[-1].style == style:
            out[-1] = out[-1]._replace(text=out[-1].text + text)
        else:
            out.append(TextSpan(text, style, str(i) if clicks else ""))
    return out


def to_strip(line: Line, width: int, base: Style, palette: Palette) -> Strip:
    """Return ``line`` in exactly ``width`` cells."""
    segments = [Segment(s.text, base + palette[s.style] if s.style else base) for s in line]
    return Strip(segments).adjust_cell_length(width, base)


GAP = 6
"""Unchanged cells between two changes up to which they are sent, too: moving over them takes as
many bytes."""


def changed_spans(old: Strip, new: Strip) -> list[tuple[int, int]]:
    """Return the first and last-plus-one cells of the parts that differ; none if equal."""
    if (a := list(old)) == (b := list(new)):
        return []
    before, after = _cells(a), _cells(b)
    width = max(len(before), len(after))
    before += [None] * (width - len(before))
    after += [None] * (width - len(after))
    spans: list[tuple[int, int]] = []
    for x in range(width):
        if before[x] == after[x]:
            continue
        if spans and x - spans[-1][1] < GAP:
            spans[-1] = spans[-1][0], x + 1
        else:
            spans.append((x, x + 1))
    return spans


def _cells(segments: Sequence[Segment]) -> list[tuple[str, Style | None] | None]:
    """What each cell shows, to be compared; a wide character has two cells, unlike all others."""
    out: list[tuple[str, Style | None] | None] = []
    for text, style, control in segments:
        if control:
            continue
        if text.isascii():
            out += [(ch, style) for ch in text]
            continue
        for ch in text:
            wide = cell_len(ch)
            out += [(ch, style), (f"{ch} ", style)][:wide]
    return out


class Painter(Protocol):
    """The part of the application that widgets use; tests and benchmarks have small ones."""

    @property
    def palette(self) -> Palette:
        """The colours of the theme."""

    def perform(self, action_id: str) -> None:
        """Do an action of the registry, or show why not."""


def painter(node: DOMNode) -> Painter:
    """The application of ``node``."""
    return cast(Painter, node.app)


class Canvas(Widget):
    """The base of all widgets with a few lines.

    Subclasses implement :meth:`paint` and call :meth:`repaint` when their data changed.
    """

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._strips: list[Strip] = []
        self._lines: list[Line] = []
        self._painted: Size | None = None

    def paint(self, width: int, height: int) -> Sequence[Line]:
        """Return the lines for ``width`` x ``height`` cells; the remaining cells stay empty."""
        raise NotImplementedError

    def clicked(self, click: str, at: int) -> None:
        """Called after a click on a span with ``click``, ``at`` cells from its start."""

    def repaint(self) -> None:
        """Draw again; only cells that differ are sent to the terminal."""
        if self._painted is None or self._painted != self.size:
            self.refresh()  # first time at this size: Textual draws everything anyway
            self._painted = None
            return
        old = self._strips
        self._draw()
        for y, (before, after) in enumerate(zip(old, self._strips, strict=True)):
            if before is not after and (spans := changed_spans(before, after)):
                self.refresh(*(Region(x, y, end - x, 1) for x, end in spans))

    def _draw(self) -> None:
        width, height = self.size
        lines = list(self.paint(width, height))[:height] if width and height else []
        known = list(zip(self._lines, self._strips, strict=False))
        if self._painted != self.size:
            known.clear()
        elif lines == self._lines:
            return  # nearly always: ages are updated once per second
        base = self.rich_style
        palette = painter(self).palette
        self._strips = [
            known[y][1]
            if y < len(known) and known[y][0] == line
            else to_strip(line, width, base, palette)
            for y, line in enumerate(lines)
        ]
        self._strips += [Strip.blank(width, base)] * (height - len(lines))
        self._lines, self._painted = lines, self.size

    def render_line(self, y: int) -> Strip:
        """Implements Textual's Line API."""
        if self._painted != self.size:
            self._draw()
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width)

    def notify_style_update(self) -> None:
        """Discard all strips, because the theme changed."""
        self._painted = None
        super().notify_style_update()

    def on_click(self, event: events.Click) -> None:
        """Find the span under the pointer."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y >= len(self._lines):
            return
        x = 0
        for span in self._lines[offset.y]:
            start, x = x, x + cell_len(span.text)
            if offset.x < x:
                if span.click:
                    event.stop()
                    self.clicked(span.click, offset.x - start)
                return

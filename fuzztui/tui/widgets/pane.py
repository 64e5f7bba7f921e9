"""A pane of styled lines that wraps and scrolls: details of the row under the cursor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fuzztui.tui.host import painter
from fuzztui.tui.text import cell_len
from fuzztui.tui.widgets.canvas import Line, Span, to_strip


class Pane(ScrollView, can_focus=True):
    """Lines of spans, wrapped to the pane's width; the arrow keys scroll it."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]
    DEFAULT_CSS = """
    Pane {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        scrollbar-color: $gauge;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._wrapped: list[Line] = []
        self._width = -1

    @property
    def lines(self) -> Sequence[Line]:
        """What is shown, before wrapping."""
        return self._lines

    def show(self, lines: Sequence[Line], *, top: bool = False) -> None:
        """Show ``lines``; ``top``: they are of another thing, begin at its start."""
        if lines == self._lines:
            return
        self._lines = lines
        self._width = -1
        self._wrap()
        if top:
            self.scroll_to(y=0, animate=False)
        self.refresh()

    def _wrap(self) -> None:
        width = self.scrollable_content_region.width
        if width == self._width:
            return
        self._width = width
        self._wrapped = [part for line in self._lines for part in wrap(line, width)]
        self.virtual_size = Size(0, len(self._wrapped))

    def on_resize(self) -> None:
        """Wrap to the new width."""
        self._wrap()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        index = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if index >= len(self._wrapped):
            return Strip.blank(width, self.rich_style)
        return to_strip(self._wrapped[index], width, self.rich_style, painter(self).palette)


def wrap(line: Line, width: int) -> Iterable[Line]:
    """``line`` in pieces of at most ``width`` cells, broken anywhere, order kept.

    What follows a label (a first span that ends with a blank) hangs below its start.
    """
    if width <= 0:
        return
    label = line[0].text if line and line[0].text.endswith(" ") else ""
    # Below a label there must be room for a wide character.
    hangs = 0 < cell_len(label) <= min(width // 2, width - 2)
    indent = [Span(" " * cell_len(label))] if hangs else []
    hang = width - (cell_len(label) if indent else 0)
    piece: list[Span] = []
    room = width
    for span in line:
        text = span.text
        while text:
            head = _take(text, room)
            if not head and len(piece) <= len(indent) and room in (width, hang):
                head = text[0]  # wider than the pane itself: better cut than lost
            if head:
                piece.append(Span(head, span.style, span.click))
                room -= cell_len(head)
                text = text[len(head) :]
            if text:
                yield piece
                piece, room = [*indent], hang
    yield piece


def _take(text: str, room: int) -> str:
    if room <= 0:
        return ""
    if text.isascii():
        return text[:room]
    used = 0
    for i, ch in enumerate(text):
        used += cell_len(ch)
        if used > room:
            return text[:i]
    return text

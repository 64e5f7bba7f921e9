"""A scrolling pane of wrapped, styled lines: the details of the row under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fuzztui.tui.base.canvas import Line, OneLine, painter, to_strip
from fuzztui.tui.base.wrap import cut, wrap


class DetailPane(ScrollView, can_focus=True):
    """Lines, wrapped or cut to the pane's width; the arrow keys scroll."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]
    DEFAULT_CSS = """
    DetailPane {
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
        """The current lines, before wrapping."""
        return self._lines

    def show(self, lines: Sequence[Line], *, top: bool = False) -> None:
        """Show ``lines``; ``top``: scroll to the start, because they describe another row."""
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
        self._wrapped = []
        for line in self._lines:
            self._wrapped += [cut(line, width)] if isinstance(line, OneLine) else wrap(line, width)
        self._fit_virtual_size()

    def _fit_virtual_size(self) -> None:
        # Each other size makes Textual lay out and draw the whole screen, for a scrollbar that a
        # text with room for all its lines has not.
        lines = len(self._wrapped)
        self.virtual_size = Size(0, lines if lines > self.size.height else 0)

    def on_resize(self) -> None:
        """Wrap to the new width."""
        self._wrap()
        self._fit_virtual_size()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Implements Textual's Line API."""
        index = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if index >= len(self._wrapped):
            return Strip.blank(width, self.rich_style)
        return to_strip(self._wrapped[index], width, self.rich_style, painter(self).palette)

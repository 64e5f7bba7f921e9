"""The menu of columns by which a table can be sorted."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters, digits
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Region
from textual.message import Message

from fuzztui.tui.base.canvas import Canvas, Line, TextSpan
from fuzztui.tui.base.dialogs import Dialog
from fuzztui.tui.base.text import fit, plain


class SortMenu(Canvas):
    """The titles of the columns, of which one is chosen."""

    DEFAULT_CSS = "SortMenu { width: 1fr; height: auto; }"

    class Clicked(Message):
        """A title was clicked, which is chosen now."""

    def __init__(self, titles: Sequence[str], now: int, reverse: bool) -> None:
        super().__init__()
        self._titles = titles
        self._now, self._reverse = now, reverse
        self.chosen = now

    def get_content_height(self, *_args: object, **_options: object) -> int:
        """Return a line for each title."""
        return len(self._titles)

    def clicked(self, click: str, at: int) -> None:
        """Choose the clicked title."""
        self.choose(int(click))
        self.post_message(self.Clicked())

    def choose(self, index: int) -> None:
        """Choose another title."""
        self.chosen = index % len(self._titles)
        self.repaint()
        if self.parent is not None:
            line = Region(0, self.chosen, 1, 1)
            self.screen.query_one(VerticalScroll).scroll_to_region(line, animate=False)

    def find(self, typed: str) -> bool:
        """Choose the next title that starts with ``typed``. Returns False if none does."""
        for index in range(len(self._titles)):
            if self._titles[(at := (self.chosen + index) % len(self._titles))].startswith(typed):
                self.choose(at)
                return True
        return False

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the titles; an arrow shows the present order."""
        return [self._line(index, width) for index in range(len(self._titles))]

    def _line(self, index: int, width: int) -> Line:
        here = index == self.chosen
        order = (" ▼" if self._reverse else " ▲") if index == self._now else ""
        title = fit(f"{plain(self._titles[index])}{order}", width - 2)
        return [
            TextSpan("▸ " if here else "  ", "bold primary", str(index)),
            TextSpan(title, "bold" if here else "", str(index)),
        ]


class SortScreen(Dialog[int | None]):
    """Asks for an order. Returns the index of a title, 0 for the own order; None: cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", show=False),
        Binding("down,tab", "move(1)", show=False),
        Binding("up,shift+tab", "move(-1)", show=False),
        Binding("enter,space", "choose", show=False),
        *(Binding(letter, f"type('{letter}')", show=False) for letter in ascii_letters + digits),
    ]
    DEFAULT_CSS = """
    SortScreen {
        & > VerticalScroll {
            width: 40; max-height: 90%; padding: 0 1; scrollbar-size-vertical: 1;
        }
    }
    """

    def __init__(self, titles: Sequence[str], now: int, reverse: bool) -> None:
        super().__init__()
        self._menu = SortMenu(titles, now, reverse)
        self._typed = ""

    def compose(self) -> ComposeResult:
        """Yield the menu in a box."""
        with VerticalScroll(can_focus=False) as box:
            box.border_title = "Sort by"
            subtitle = "↑↓ or type, ⏎ sorts or reverses"
            box.border_subtitle = subtitle if self.app.size.width >= cell_len(subtitle) + 6 else ""
            yield self._menu

    def on_mount(self) -> None:
        """Show the present order."""
        self.call_after_refresh(lambda: self._menu.choose(self._menu.chosen))

    def action_type(self, letter: str) -> None:
        """Choose a title by its first letters; ``s`` alone goes to the next one."""
        if letter == "s" and not self._typed:
            self.action_move(1)
            return
        self._typed += letter
        if not self._menu.find(self._typed):
            self._typed = letter
            self._menu.find(letter)

    def action_move(self, by: int) -> None:
        """Choose another title."""
        self._typed = ""
        self._menu.choose(self._menu.chosen + by)

    def action_choose(self) -> None:
        """Close the menu, and return the number of the chosen title."""
        self.dismiss(self._menu.chosen)

    def on_sort_menu_clicked(self) -> None:
        """Close the menu, and return the number of the clicked title."""
        self.action_choose()

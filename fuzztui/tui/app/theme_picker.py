"""A list of all themes; the screen behind it has the theme under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from fuzztui.tui.base.dialogs import Dialog
from fuzztui.tui.base.text import plain


class ThemeScreen(Dialog[str | None]):
    """Returns the name of the chosen theme; None: the user wants the former one back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", show=False),
        Binding("j,T", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
        # At once: a key that is typed ahead would come before the list's own message.
        Binding("enter", "choose", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    ThemeScreen {
        align: right middle;
        background: transparent;
        & > Vertical {
            width: 46; max-width: 60%; max-height: 80%; padding: 0 1;
        }
        & OptionList {
            height: auto; max-height: 100%; border: none; padding: 0; background: $surface;
            text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size-vertical: 1;
        }
        & OptionList:focus { border: none; background-tint: transparent; }
    }
    """

    def __init__(
        self, titles: Mapping[str, str], current: str, preview: Callable[[str], None]
    ) -> None:
        """``titles``: by name. ``preview`` is called with the name under the cursor."""
        super().__init__()
        self._titles = titles
        self._current = current
        self._preview = preview

    def compose(self) -> ComposeResult:
        """Yield the list in a box."""
        with Vertical() as box:
            box.border_title = "Theme"
            box.border_subtitle = "⏎ keeps, esc restores"
            options = [Option(plain(title), id=name) for name, title in self._titles.items()]
            yield OptionList(*options, markup=False)

    def on_mount(self) -> None:
        """Put the cursor on the current theme."""
        names = self.query_one(OptionList)
        names.highlighted = [*self._titles].index(self._current)
        self.set_focus(names)

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if self.is_current and event.option_id is not None:
            self._preview(event.option_id)

    def action_choose(self) -> None:
        """Close the list with the theme under the cursor."""
        option = self.query_one(OptionList).highlighted_option
        self.dismiss(option.id if option else None)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)

    def action_move(self, by: int) -> None:
        """Move the cursor to the next or previous theme, around the ends."""
        names = self.query_one(OptionList)
        if by > 0:
            names.action_cursor_down()
        else:
            names.action_cursor_up()

"""A list of all themes; the screen behind it has the theme under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import OptionList

from fuzztui.tui.base.list_dialog import ListScreen


class ThemeScreen(ListScreen):
    """Returns the name of the chosen theme; None: the user wants the former one back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("T", "move(1)", show=False)]
    DEFAULT_CSS = """
    ThemeScreen {
        align: right middle;
        background: transparent;
        & > Vertical { width: 46; max-width: 60%; }
    }
    """

    def __init__(
        self, titles: Mapping[str, str], current: str, preview: Callable[[str], None]
    ) -> None:
        """``titles``: by name. ``preview`` is called with the name under the cursor."""
        super().__init__("Theme", "⏎ keeps, esc restores", titles, current)
        self._preview = preview

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if self.is_current and event.option_id is not None:
            self._preview(event.option_id)

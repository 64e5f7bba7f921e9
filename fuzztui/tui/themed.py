"""An application with our colours and our way to the terminal; nothing of campaigns in it.

The widgets work in any such application: the tests and benchmarks have small ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual.app import App
from textual.screen import Screen

from fuzztui.tui.lean import lean
from fuzztui.tui.palette import Palette, fallbacks, to_textual
from fuzztui.tui.themes import ThemeFile


class ThemedApp(App[None]):
    """Knows our themes beside Textual's, and the semantic colours of both."""

    def __init__(self, themes: Iterable[ThemeFile] = (), theme: str = "") -> None:
        self._palette: Palette | None = None
        super().__init__()
        self.animation_level = "none"  # every frame in between would travel over SSH
        self.our_themes: list[str] = []
        for ours in themes:
            self.our_themes.append(ours.name)
            self.register_theme(to_textual(ours))
        if theme in self.available_themes:
            self.theme = theme

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Textual's own themes know nothing of crashes."""
        return fallbacks(self.current_theme)

    def get_css_variables(self) -> dict[str, str]:
        """The theme may have changed: so have the colours."""
        self._palette = None
        return super().get_css_variables()

    @property
    def palette(self) -> Palette:
        """The colours of the theme."""
        if self._palette is None:
            self._palette = Palette(self.theme_variables)
        return self._palette

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        """Textual's way to the terminal, by the shorter road."""
        super()._display(screen, lean(renderable))

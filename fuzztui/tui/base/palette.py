"""Colours by meaning: from a theme to Rich styles.

A style is a string like ``"bold crash"`` or ``"muted"``: attributes and at most one name of
:data:`~fuzztui.tui.base.themes.SEMANTIC` (or a base colour, or ``#rrggbb`` for the pixel of a
picture) for the text, one after ``on`` for the background. After ``soft`` the
text's colour is fainter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from fuzztui.tui.base.themes import SEMANTIC, ThemeFile

_ANSI_VARIABLES = BUILTIN_THEMES["ansi-dark"].variables
"""Variables that Textual's own style sheet needs from an ANSI theme."""

_MAX_CACHED = 10_000
"""Styles that are kept."""

_SOFT = 0.45
"""Share of the background in a soft colour."""

_ATTRIBUTES = ("bold", "italic", "underline", "reverse", "strike")


class Palette:
    """Resolves styles against a theme's variables; unknown words are ignored."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._cache: dict[str, Style] = {}

    def __getitem__(self, words: str) -> Style:
        style = self._cache.get(words)
        if style is None:
            if len(self._cache) >= _MAX_CACHED:  # pixels of many pictures
                self._cache.clear()
            style = self._cache[words] = self._resolve(words)
        return style

    def _resolve(self, words: str) -> Style:
        style = Style.null()
        ground = soft = False
        for word in words.split():
            if word == "on":
                ground = True
            elif word == "soft":
                soft = True
            elif word in _ATTRIBUTES:
                style += Style.parse(word)
            else:
                try:
                    name = word if word.startswith("#") else self._variables.get(word, "")
                    color = self._shade(Color.parse(name), soft=soft)
                except ColorParseError:
                    continue
                style += Style(bgcolor=color) if ground else Style(color=color)
        return style

    def _shade(self, color: Color, *, soft: bool) -> RichColor:
        """The colour; ``soft``: between it and the background, unless the terminal chooses both."""
        if soft and color.ansi is None:
            paper = Color.parse(self._variables.get("background", ""))
            if paper.ansi is None:
                return color.blend(paper, _SOFT, alpha=1).rich_color
        return color.rich_color


def to_textual(theme: ThemeFile) -> Theme:
    """Convert a theme to Textual's class: the semantic colours become CSS variables."""
    colors: dict[str, Any] = dict(theme.colors)
    return Theme(
        name=theme.name,
        dark=theme.dark,
        ansi=theme.ansi,
        variables={**theme.semantic, **(_ANSI_VARIABLES if theme.ansi else {})},
        **colors,
    )


def fallbacks(theme: Theme) -> dict[str, str]:
    """Return semantic colours for a theme that does not define them (Textual's own)."""
    generated = theme.to_color_system().generate()
    colors = {name: generated.get(base, "") for name, base in SEMANTIC.items()}
    if not theme.ansi:
        ink = Color.parse(generated["foreground"])
        paper = Color.parse(generated["background"])
        for name, share in (
            ("muted", 0.55),
            ("skipped", 0.55),
            ("demoted", 0.55),
            ("rule", 0.2),
            ("gauge", 0.2),
        ):
            colors[name] = paper.blend(ink, share, alpha=1).hex
    return colors

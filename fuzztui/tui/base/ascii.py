"""ASCII in place of all other characters, for terminals that cannot show them.

The screens choose their glyphs as if every terminal had them; :class:`AsciiFilter` replaces them
when lines are drawn: also Textual's borders and scrollbars. Every replacement has as many cells as
the original, so the layout is the same.
"""

from __future__ import annotations

import re
import unicodedata
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter
from textual.scrollbar import ScrollBarRender

_GLYPHS = {
    "…": "~", "⏎": "$", "→": ">", "←": "<", "↑": "^", "↓": "v", "⇄": "=", "⇧": "^", "⌫": "<",
    "×": "x", "÷": "/", "–": "-", "·": ".", "≥": ">", "≤": "<", "≠": "#", "≡": "=", "≈": "~",
    "●": "*", "○": "o", "◌": "o", "◍": "@", "◉": "@", "◐": "c", "◑": "c", "◆": "*",
    "◇": "+", "■": "#", "•": "o",
    "★": "*", "✓": "v", "✗": "x", "⊘": "0", "⊗": "0", "‖": "=", "↻": "@", "⇥": ">",
    "▲": "^", "▼": "v", "▽": "v", "▸": ">", "▶": ">", "▷": ">", "›": ">", "‹": "<",
    "█": "#", "▓": "@", "▒": ":", "░": ".", "▀": '"', "▔": '"',
    "▁": "_", "▂": ".", "▃": ":", "▄": "-", "▅": "=", "▆": "+", "▇": "*",
    "╱": "/", "╲": "\\", "╳": "X", "🔎": "> ",
}  # fmt: skip

UNKNOWN = "?"
"""Replaces each cell of a character without a replacement: text of a target."""

_TOP_DOTS, _BOTTOM_DOTS = 0x1B, 0xE4
"""The upper two and the lower two rows of dots of a braille character."""


class _Replacements(dict[int, str]):
    """A table for ``str.translate`` that fills itself."""

    def __missing__(self, code: int) -> str:
        if len(self) >= 4096:  # text of targets
            self.clear()
        self[code] = text = replacement(chr(code))
        return text


def replacement(ch: str) -> str:
    """Return ASCII of as many cells as ``ch`` has."""
    if ch.isascii():
        return ch
    if known := _GLYPHS.get(ch):
        return known
    if "\u2800" <= ch <= "\u28ff":
        return _braille(ord(ch) - 0x2800)
    if "\u2500" <= ch <= "\u257f":
        return _box(unicodedata.name(ch))
    if "\u2580" <= ch <= "\u259f":
        return "|"
    return UNKNOWN * cell_len(ch)


def _braille(dots: int) -> str:
    count = dots.bit_count()
    if count == 0:
        return " "
    if count > 4:
        return "#"
    if not dots & _TOP_DOTS:
        return "."
    return "'" if not dots & _BOTTOM_DOTS else ":"


def _box(name: str) -> str:
    """The character of a line by its name; heavy lines differ from light ones."""
    words = set(name.split())
    across = words & {"HORIZONTAL", "LEFT", "RIGHT"}
    along = words & {"VERTICAL", "UP", "DOWN"}
    if (across and along) or "ARC" in words:
        return "+"
    if across:
        return "=" if words & {"HEAVY", "DOUBLE"} else "-"
    return "|"


_TABLE = _Replacements()

_AT_LEAST = re.compile(r"≥([\d.,]+[%kMGT]?)")


class WholeCells(ScrollBarRender):
    """A scrollbar without parts of cells, which in ASCII would look like text of the table."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


class AsciiFilter(LineFilter):
    """Replaces everything that is not ASCII when a line is drawn."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return ``segments`` in ASCII."""
        return [
            segment
            if segment.control or segment.text.isascii()
            # "83%+": a ">" would say that it is not 83%, and ">=" has a cell too many.
            else segment._replace(text=_AT_LEAST.sub(r"\1+", segment.text).translate(_TABLE))
            for segment in segments
        ]

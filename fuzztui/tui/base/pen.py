"""Writes styled text for a terminal in few bytes: of styles only what changes is sent.

Textual sends a whole style before each piece of text and resets it afterwards, which takes longer
than the text: 40 bytes in a theme's colours.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

RESET = "\x1b[0m"

_ATTRIBUTES = {
    "bold": "1", "dim": "2", "italic": "3", "underline": "4", "blink": "5", "blink2": "6",
    "reverse": "7", "conceal": "8", "strike": "9", "underline2": "21", "frame": "51",
    "encircle": "52", "overline": "53",
}  # fmt: skip
_ON = (*_ATTRIBUTES.values(),)
"""Codes that switch the attributes of a style on, by bit."""

_OFF = ("22", "22", "23", "24", "25", "25", "27", "28", "29")
"""Codes that switch these attributes off, by bit; later ones are switched off by a reset only."""

_INTENSITY = 0b11
"""Bold and dim, which are switched off together."""

_DRAWN = sum(1 << _ON.index(code) for code in ("4", "7", "9", "21", "51", "52", "53"))
"""Attributes in which blanks show more than the background."""


class _Look(NamedTuple):
    """The style in which a terminal shows text: bits of attributes, and codes of the colours."""

    attributes: int = 0
    ink: str = ""
    ground: str = ""

    def codes(self) -> list[str]:
        return [*_switched_on(self.attributes), *filter(None, (self.ink, self.ground))]


_PLAIN = _Look()


@lru_cache(4096)
def _look(style: Style, system: ColorSystem) -> _Look:
    attributes = sum(1 << bit for bit, name in enumerate(_ATTRIBUTES) if getattr(style, name))
    return _Look(attributes, _code(style.color, system, True), _code(style.bgcolor, system, False))


def _code(color: Color | None, system: ColorSystem, foreground: bool) -> str:
    """The code of a colour; an empty string for the terminal's own."""
    if color is None or color.is_default:
        return ""
    return ";".join(color.downgrade(system).get_ansi_codes(foreground))


def _switched_on(attributes: int) -> list[str]:
    return [code for bit, code in enumerate(_ON) if attributes & 1 << bit]


@lru_cache(4096)
def _change(old: _Look, new: _Look) -> str:
    """The shortest sequence from one look to another."""
    if new == _PLAIN:
        return RESET
    whole = f"\x1b[{';'.join(['0', *new.codes()] if old != _PLAIN else new.codes())}m"
    gone = old.attributes & ~new.attributes
    if gone >> len(_OFF):
        return whole
    more = new.attributes & ~old.attributes
    if gone & _INTENSITY:
        more |= new.attributes & _INTENSITY
    codes = [*dict.fromkeys(code for bit, code in enumerate(_OFF) if gone & 1 << bit)]
    codes += _switched_on(more)
    if old.ink != new.ink:
        codes.append(new.ink or "39")
    if old.ground != new.ground:
        codes.append(new.ground or "49")
    return min(whole, f"\x1b[{';'.join(codes)}m", key=len)


class Pen:
    """The output, and the style in which the terminal would show the next character."""

    def __init__(self, system: ColorSystem) -> None:
        self._system = system
        self._out: list[str] = []
        self._now = _PLAIN

    def move(self, x: int, y: int) -> None:
        """Continue at a cell."""
        self._out.append(f"\x1b[{y + 1};{x + 1}H")

    def write(self, segments: Iterable[Segment]) -> None:
        """Write text; blanks need only the right background."""
        for text, style, control in segments:
            if control or not text:
                self._out.append(text if control else "")
                continue
            if style is not None and style.link:
                self._switch(_PLAIN)
                self._out.append(Strip.render_style(style, text, self._system))
                continue
            look = _PLAIN if style is None else _look(style, self._system)
            if text.isspace() and not look.attributes & _DRAWN:
                now = self._now
                look = _Look(now.attributes & ~_DRAWN, now.ink, look.ground)
            self._switch(look)
            self._out.append(text)

    def _switch(self, look: _Look) -> None:
        if look != self._now:
            self._out.append(_change(self._now, look))
            self._now = look

    def end(self) -> str:
        """Return the output, after which the terminal has its default style."""
        self._switch(_PLAIN)
        return "".join(self._out)

"""Screen updates with few bytes: only changed cells, and styles only where they change.

Textual 8.2 sends a line's update from the left edge of the widget on, and sets and resets the style
around every segment. Over a slow line that is most of the traffic (benchmarks/tui_cost.py measures
it). This module works on the compositor's own result; the tests compare it with Textual's output in
a terminal emulation. Unknown kinds of updates are left to Textual.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

RESET = "\x1b[0m"


class LeanUpdate(CompositorUpdate):
    """Replaces one of the compositor's updates."""

    def __init__(self, update: ChopsUpdate | LayoutUpdate) -> None:
        self._update = update

    def render_segments(self, console: Console) -> str:
        """Return the escape sequences of the update."""
        update = self._update
        color_system = console._color_system or ColorSystem.TRUECOLOR
        pieces = _of_chops(update) if isinstance(update, ChopsUpdate) else _of_layout(update)
        out: list[str] = []
        for x, y, segments in pieces:
            out.append(f"\x1b[{y + 1};{x + 1}H")
            out.append(encode(segments, color_system))
        return "".join(out)


def lean(renderable: Any) -> Any:
    """Return the lean form of ``renderable``; unchanged if there is none."""
    if type(renderable) in (ChopsUpdate, LayoutUpdate):
        return LeanUpdate(renderable)
    return renderable


Piece = tuple[int, int, Iterable[Segment]]


def _of_chops(update: ChopsUpdate) -> Iterable[Piece]:
    for y, x1, x2 in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is None or x >= x2 or end <= x1:
                continue
            yield max(x, x1), y, strip.crop(max(0, x1 - x), min(end, x2) - x)


def _of_layout(update: LayoutUpdate) -> Iterable[Piece]:
    for y, line in enumerate(update.strips, update.region.y):
        yield update.region.x, y, [segment for strip in line for segment in strip]


def encode(segments: Iterable[Segment], color_system: ColorSystem) -> str:
    """Return text and escape sequences; starts and ends with the default style.

    A style is sent only if it differs from the current one. Blanks need only the right background.
    """
    out: list[str] = []
    current = ""
    ground: object = None
    plain_ground = True
    for text, style, control in segments:
        if control or not text:
            out.append(text if control else "")
            continue
        if style is not None and style._link:
            out += [RESET if current else "", Strip.render_style(style, text, color_system)]
            current, ground, plain_ground = "", None, True
            continue
        decorated = style is not None and _decorates(style)
        background = None if style is None else style._bgcolor
        if text.isspace() and plain_ground and not decorated and background == ground:
            out.append(text)
            continue
        code = "" if style is None else _code(style, color_system)
        if code != current:
            out.append(f"\x1b[0;{code}m" if code and current else f"\x1b[{code or '0'}m")
            current = code
        ground, plain_ground = background, not decorated
        out.append(text)
    if current:
        out.append(RESET)
    return "".join(out)


def _code(style: Style, color_system: ColorSystem) -> str:
    code = style._ansi
    return Strip.render_ansi(style, color_system) if code is None else code


def _decorates(style: Style) -> bool:
    """Whether blanks in this style show more than the background."""
    return bool(
        style.underline or style.reverse or style.strike or style.overline or style.underline2
    )

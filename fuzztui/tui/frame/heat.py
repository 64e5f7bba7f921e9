"""How a gain of edges and kills is drawn: a bar in one cell, whose height is the gain's size."""

from __future__ import annotations

from fuzztui.kernel.model.gains import Gain, Gains, levels
from fuzztui.tui.base.braille import BARS

_FIRST_S = 0.25


def heat_cell(gain: Gain, level: int, *, later: bool = False) -> tuple[str, str] | None:
    """Return glyph and style of a gain; None: it brought nothing. ``later``: not yet replayed."""
    if not level:
        return None
    style = "killed" if gain.kills else "edge"
    return BARS[level], f"soft {style}" if later else style


def heat_strip(gains: Gains, now: float, cells: int) -> list[tuple[str, str] | None]:
    """Return cells of a strip from the start of a campaign until ``now``, at most ``cells``.

    A cell stands for a power of two of seconds, so that the strip rarely moves while time passes.
    """
    width = _FIRST_S
    while now >= width * cells:
        width *= 2
    there = [gains.between(n * width, (n + 1) * width) for n in range(int(now / width) + 1)]
    return [heat_cell(*one) for one in zip(there, levels(there), strict=True)]

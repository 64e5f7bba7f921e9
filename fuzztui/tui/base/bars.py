"""One bar of several parts, each with its own fill, colour and words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fuzztui.tui.base.canvas import TextSpan
from fuzztui.tui.screens.mutants.strip import apportion

__all__ = ["Part", "parted_bar"]


class Part(NamedTuple):
    """``words`` stand in the middle of it where there is room for them."""

    size: float
    fill: str
    style: str
    words: str


def parted_bar(parts: Sequence[Part], width: int) -> list[TextSpan]:
    """The parts as one bar of ``width`` cells; nothing where all are empty."""
    spans = []
    for part, cells in zip(parts, apportion([p.size for p in parts], width), strict=True):
        words = f" {part.words} "
        room = cells - len(words)
        if room >= 1:
            spans.append(TextSpan(part.fill * (room // 2), part.style))
            spans.append(TextSpan(words, f"bold {part.style}"))
            spans.append(TextSpan(part.fill * (room - room // 2), part.style))
        elif cells:
            spans.append(TextSpan(part.fill * cells, part.style))
    return spans

"""How the mixture of steps is drawn: one bar of three parts. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.tui.widgets.canvas import Span
from fuzztui.tui.widgets.mutantstrip import apportion
from fuzztui.wire.mixture import CLASSES, percentage

__all__ = ["SIGNS", "mixture_bar"]

SIGNS = {"havoc": ("▓", "rate"), "text": ("█", "edge"), "splice": ("▒", "corpus")}
"""Fill and colour of each class."""


def mixture_bar(mixture: Sequence[float], width: int) -> list[Span]:
    """The three parts as one bar, each with its name and percentage where there is room."""
    spans = []
    for name, part, cells in zip(CLASSES, mixture, apportion(mixture, width), strict=True):
        fill, style = SIGNS[name]
        words = f" {name} {percentage(part)} "
        room = cells - len(words)
        if room >= 1:
            spans += [Span(fill * (room // 2), style), Span(words, f"bold {style}")]
            spans.append(Span(fill * (room - room // 2), style))
        elif cells:
            spans.append(Span(fill * cells, style))
    return spans

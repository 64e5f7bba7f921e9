"""How the mixture of steps is drawn: one bar of three parts. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.tui.base.bars import Part, parted_bar
from fuzztui.tui.base.canvas import TextSpan
from fuzztui.wire.mixture import CLASSES, percentage

__all__ = ["SIGNS", "mixture_bar"]

SIGNS = {"havoc": ("▓", "rate"), "text": ("█", "edge"), "splice": ("▒", "corpus")}
"""Fill and colour of each class."""


def mixture_bar(mixture: Sequence[float], width: int) -> list[TextSpan]:
    """The three parts as one bar, each with its name and percentage where there is room."""
    parts = zip(CLASSES, mixture, strict=True)
    return parted_bar(
        [Part(part, *SIGNS[name], f"{name} {percentage(part)}") for name, part in parts], width
    )

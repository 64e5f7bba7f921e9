"""Draws the mixture as one bar of three parts. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.tui.base.bars import Part, parted_bar
from fuzztui.tui.base.canvas import TextSpan
from fuzztui.wire.mixture import CLASSES, percentage

SIGNS = {"havoc": ("▓", "rate"), "text": ("█", "edge"), "splice": ("▒", "corpus")}
"""Fill character and style of each mutator class."""


def mixture_bar(mixture: Sequence[float], width: int) -> list[TextSpan]:
    """Return one bar with the probabilities; each part has name and percentage if it has room."""
    parts = zip(CLASSES, mixture, strict=True)
    return parted_bar(
        [Part(part, *SIGNS[name], f"{name} {percentage(part)}") for name, part in parts], width
    )

"""A bar of several parts, each with fill, style and label. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fuzztui.tui.base.canvas import TextSpan


class Part(NamedTuple):
    """One part; ``label`` is drawn in its middle if there is room."""

    size: float
    fill: str
    style: str
    label: str


def parted_bar(parts: Sequence[Part], width: int) -> list[TextSpan]:
    """Return the parts as one bar of ``width`` cells; nothing if all are empty."""
    spans = []
    for part, cells in zip(parts, apportion([p.size for p in parts], width), strict=True):
        label = f" {part.label} "
        room = cells - len(label)
        if room >= 1:
            spans.append(TextSpan(part.fill * (room // 2), part.style))
            spans.append(TextSpan(label, f"bold {part.style}"))
            spans.append(TextSpan(part.fill * (room - room // 2), part.style))
        elif cells:
            spans.append(TextSpan(part.fill * cells, part.style))
    return spans


def apportion(parts: Sequence[float], width: int) -> list[int]:
    """Divide ``width`` cells among ``parts`` by size; a part above 0 gets one if there is room."""
    total = sum(parts)
    if total <= 0 or width <= 0:
        return [0] * len(parts)
    exact = [width * part / total for part in parts]
    cells = [max(int(x), 1 if x > 0 else 0) for x in exact]
    while sum(cells) > width:
        # The largest can spare it best.
        cells[max(range(len(cells)), key=cells.__getitem__)] -= 1
    while sum(cells) < width:
        cells[max(range(len(cells)), key=lambda i: exact[i] - cells[i])] += 1
    return cells

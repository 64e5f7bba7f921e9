"""A treemap: rectangles whose areas are in proportion to sizes, and which are nearly square.

The layout is that of Bruls, Huizing, van Wijk: "Squarified Treemaps" (2000). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fuzztui.features.source.tree import CodeNode

_CELL: Final = 2.0
"""How many times as high as wide a cell of a terminal is."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of cells; ``right`` and ``bottom`` are the first cells after it."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        """Cells from left to right."""
        return self.right - self.left

    @property
    def height(self) -> int:
        """Rows."""
        return self.bottom - self.top

    def contains(self, x: int, y: int) -> bool:
        """Whether a cell is in the box."""
        return self.left <= x < self.right and self.top <= y < self.bottom


@dataclass(frozen=True, slots=True)
class _Area:
    x: float
    y: float
    width: float
    height: float

    def box(self) -> Box:
        """The cells of the area: neighbours have no cell in common, and none is left between."""
        x, y = self.x, self.y
        return Box(round(x), round(y), round(x + self.width), round(y + self.height))


def code_map(rows: Mapping[str, CodeNode], width: int, height: int) -> dict[str, Box]:
    """Return the boxes of files, and in them those of their functions, by key.

    A file's size is its number of statements. The first row of its box is for its name; code
    outside of functions has no box. Files and functions without statements have none, and so has
    what is too small for a cell. Functions inside of others are a part of these.
    """
    files = [row for row in rows.values() if not row.function and row.statements > 0]
    inside: dict[str, list[CodeNode]] = {}
    for row in rows.values():
        if row.function and row.statements > 0:
            inside.setdefault(row.path, []).append(row)
    boxes: dict[str, Box] = {}
    for file, area in _squarified(files, _Area(0, 0, width, height)):
        box = area.box()
        if box.width < 1 or box.height < 1:
            continue
        boxes[file.key] = box
        if box.height < 2:
            continue
        below = _Area(box.left, box.top + 1, box.width, box.height - 1)
        for function, part in _squarified(_outermost(inside.get(file.path, ())), below):
            if (found := part.box()).width >= 1 and found.height >= 1:
                boxes[function.key] = found
    return boxes


def _outermost(functions: Sequence[CodeNode]) -> list[CodeNode]:
    found: list[CodeNode] = []
    for one in sorted(functions, key=lambda f: (f.first, -f.last)):
        if not found or one.first > found[-1].last:
            found.append(one)
    return found


def _squarified(rows: Sequence[CodeNode], area: _Area) -> Iterator[tuple[CodeNode, _Area]]:
    """Divide the area among the rows by their statements, the largest one first."""
    left = sorted(rows, key=lambda row: (-row.statements, row.path, row.first))
    total = sum(row.statements for row in left)
    while left and area.width > 0 and area.height > 0:
        scale = area.width * area.height / total
        along = min(area.width, area.height * _CELL) if area.width else 0.0
        count = _strip_of(left, scale * _CELL, along)
        strip, left = left[:count], left[count:]
        share = sum(row.statements for row in strip)
        total -= share
        if area.width >= area.height * _CELL:
            wide = scale * share / area.height
            y = area.y
            for row in strip:
                high = area.height * row.statements / share
                yield row, _Area(area.x, y, wide, high)
                y += high
            area = _Area(area.x + wide, area.y, area.width - wide, area.height)
        else:
            high = scale * share / area.width
            x = area.x
            for row in strip:
                wide = area.width * row.statements / share
                yield row, _Area(x, area.y, wide, high)
                x += wide
            area = _Area(area.x, area.y + high, area.width, area.height - high)


def _strip_of(rows: Sequence[CodeNode], scale: float, along: float) -> int:
    """How many rows the next strip has: as long as its worst rectangle gets more like a square."""
    share, best = 0.0, float("inf")
    for count, row in enumerate(rows, 1):
        share += row.statements * scale
        large, small = rows[0].statements * scale, row.statements * scale
        worst = max(along**2 * large / share**2, share**2 / (along**2 * small))
        if worst > best:
            return count - 1
        best = worst
    return len(rows)

"""Shapes and their areas."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Circle", "Shape", "total"]


@dataclass
class Shape:
    name: str
    tags: list[str] = field(default_factory=list)

    def area(self) -> float:
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{self.name}: {self.area():.2f} {', '.join(self.tags)!r}"


class Circle(Shape):
    def __init__(self, radius: float, parent: Optional["Shape"] = None) -> None:
        super().__init__("circle")
        self.radius = radius
        self.parent = parent

    def area(self) -> float:
        return math.pi * self.radius ** 2


def total(shapes: Iterable[Shape]) -> float:
    try:
        return sum(s.area() for s in shapes if s is not None)
    except (TypeError, ValueError) as e:
        print("no area: %s" % (e,))
        return 0.0
    finally:
        del shapes

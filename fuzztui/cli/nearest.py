"""Format types with their distances: all, or the nearest ones in a limited width."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fuzztui.base.text import visible
from fuzztui.tui.labels.targeting import brief_location, brief_type, fewer

NEAREST = 3
"""Maximum number of types, if not all fit."""

MIN_ROOM = 20
"""Minimum number of columns for types, on any terminal."""


def all_of(types: Iterable[tuple[str, int]]) -> str:
    """Format names and distances: ``datetime.date 2, pathlib.Path 4``; a dash if there are none."""
    return ", ".join(f"{visible(name)} {distance}" for name, distance in types) or "-"


def nearest(types: Sequence[tuple[str, int]], short: Mapping[str, str], room: int) -> str:
    """Format the first types with their ``short`` names, and how many more: ``date 2, Path 4 +9``.

    The result fits ``room`` columns if at least one type does.
    """
    named = [(short[name], distance) for name, distance in types]
    more = len(named[NEAREST:])
    three = all_of(named[:NEAREST]) + (f" +{more}" if more else "")
    for brief in (three, fewer(all_of(named), room)):
        if len(brief) <= room:
            return brief
    (name, distance), *others = named
    rest = f" {distance}" + (f" +{len(others)}" if others else "")
    return brief_type(visible(name), max(1, room - len(rest))) + rest


def place(location: str, room: int) -> str:
    """Format a location in ``room`` columns; of a longer one only the end."""
    return brief_location(visible(location), room)

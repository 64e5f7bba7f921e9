"""Types and their distances in few words: in full, or the nearest ones in little room."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fuzztui.base.text import visible
from fuzztui.tui.labels.targeting import brief_location, brief_type, fewer

__all__ = ["MIN_ROOM", "all_of", "nearest", "place"]

NEAREST = 3
"""Types that are named, at most, where not all are."""

MIN_ROOM = 20
"""Columns for types, however narrow the terminal is."""


def all_of(types: Iterable[tuple[str, int]]) -> str:
    """``datetime.date 2, pathlib.Path 4``; a dash for none. They are names and distances."""
    return ", ".join(f"{visible(name)} {distance}" for name, distance in types) or "-"


def nearest(types: Sequence[tuple[str, int]], short: Mapping[str, str], room: int) -> str:
    """``date 2, Path 4 +9``: the first ones by their ``short`` names, and how many more.

    In ``room`` columns, if there are enough for one.
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
    """A location in ``room`` columns: of a longer one the end."""
    return brief_location(visible(location), room)

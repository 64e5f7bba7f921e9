"""Short text about types, goals and commands. Pure.

Names come from the target and are not safe to draw: see ``tui.base.text``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fuzztui.features.targeting.fold import GoalRow
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.wire.commands import (
    Command,
    IgnoreGoal,
    PinGoal,
    SetTargetedShare,
    WeighType,
    weight_text,
)
from fuzztui.tui.base import format

_MAX_PARTS = 8
"""Maximal number of parts of a shortened name: hostile names have a hundred."""

COVERED_WHEN = {
    "then": "its condition holds",
    "else": "its condition does not hold",
    "loop": "its body is entered",
    "exit": "the loop ends by itself",
    "except": "this handler is entered",
    "no-except": "nothing is raised",
    "case": "this case matches",
    "no-case": "no case matches",
    "and": "its right operand is evaluated",
    "or": "its right operand is evaluated",
    "kept": "an element is kept",
}
"""When a branch is covered."""


class GoalGlyph(NamedTuple):
    """How goals of one kind are drawn; colour is not the only difference."""

    glyph: str
    word: str
    style: str


PINNED = GoalGlyph("▼", "pinned", "promoted")
FRONTIER = GoalGlyph("◆", "frontier", "rate")
FURTHER = GoalGlyph("·", "further", "muted")
IGNORED = GoalGlyph("⊘", "ignored", "skipped")


def sign_of(row: GoalRow) -> GoalGlyph:
    """Return the glyph: pinned, ignored, on the frontier, or further off."""
    if row.ignored:
        return IGNORED
    return PINNED if row.pinned else FRONTIER if row.frontier else FURTHER


def brief_type(name: str, room: int) -> str:
    """Shorten ``name`` to ``room`` characters: its last two parts, or its start and end."""
    if len(name) <= room:
        return name
    head, dot, last = name.rpartition(".")
    two = f"…{head.rpartition('.')[2]}.{last}" if dot else name
    for short in (two, last):
        if len(short) <= room:
            return short
    start = room // 3
    return f"{last[:start]}…{last[start + 1 - room :]}"


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return the shortest unique suffix of each name, in whole parts; else the whole name."""
    left = {name: name.split(".") for name in dict.fromkeys(names)}
    short: dict[str, str] = {}
    parts = 1
    while left:
        ends = {name: ".".join(all_parts[-parts:]) for name, all_parts in left.items()}
        often = Counter(ends.values())
        for name, end in ends.items():
            if often[end] == 1 or parts >= min(_MAX_PARTS, len(left[name])):
                short[name] = end if often[end] == 1 and end.strip(".") else name
                del left[name]
        parts += 1
    return short


def brief_location(location: str, room: int) -> str:
    """Shorten ``package/module.py:12:then`` to ``room`` characters; folders are removed first."""
    if len(location) <= room:
        return location
    tail = location.rpartition("/")[2]
    return f"…/{tail}" if len(tail) + 2 <= room else "…" + location[1 - room :]


def fewer(text: str, room: int) -> str:
    """Shorten a list with commas: the items that fit in ``room``, and the number of others."""
    listed = text.split(", ")
    for n in range(len(listed) - 1, 0, -1):
        short = f"{', '.join(listed[:n])} +{len(listed) - n}"
        if len(short) <= room:
            return short
    return text


def pending_label(command: Command) -> str:
    """Return a short label of a pending command."""
    match command:
        case WeighType():
            return f"{brief_type(command.type, 32)} {weight_text(command.weight)}"
        case PinGoal():
            return f"pin {brief_location(command.location, 40)}" if command.location else "unpin"
        case IgnoreGoal():
            verb = "ignore" if command.ignored else "unignore"
            return f"{verb} {brief_location(command.location, 40)}"
        case SetTargetedShare():
            share = "adaptive" if command.adaptive else format.share(command.share)
            return f"{share} targeted"
        case _:
            return command.summary


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

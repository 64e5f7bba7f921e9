"""``fuzztui types``: the types that a spoton engine aims at, and the code targets that are left."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Collection, Iterator

from fuzztui.cli.figures import cut, percent
from fuzztui.cli.runs import find_run, standing
from fuzztui.cli.words import DONE, Failure, at_terminal
from fuzztui.model.state import State
from fuzztui.model.types import (
    Aim,
    TargetRow,
    TypeRow,
    aim,
    stale,
    targets_left,
    types_dict,
)
from fuzztui.model.types import types as types_of
from fuzztui.wire.mixture import percentage
from fuzztui.wire.text import several, visible

__all__ = ["aim_rows", "left_table", "types", "types_table"]

LIKELIEST = 2
"""Types that ``status`` names."""

LEAST_TYPES = 20
"""Columns for the types of a target, however long its location is."""


def types(options: argparse.Namespace) -> int:
    """Two tables and a line that sums up, or one JSON object."""
    run = find_run(options.run)
    state = standing(run).state
    now = aim(state)
    if now is None:
        other = state.engine and state.engine != "spoton"
        only = f"; only spoton has any, and the campaign is for {state.engine}" if other else ""
        raise Failure(f"{run}: no engine of its campaign has told of types{only}")
    if options.json:
        print(json.dumps(types_dict(state), indent=1))
        return DONE
    rows, left = types_of(state), targets_left(state)
    for line in types_table(rows.values()):
        print(line)
    if any(row.differs for row in rows.values()):
        print("(*: instances have different weights; this is the first one's)")
    print()
    width = shutil.get_terminal_size().columns if at_terminal() else 0
    for line in left_table(left.values(), width):
        print(line)
    if len(left) < now.uncovered:
        print(f"(and {now.uncovered - len(left):,} more, of which engines do not tell)")
    if left:
        print()
    print(visible(summary(now)))
    if words := stale(state):
        print(visible(words))
    return DONE


def types_table(rows: Collection[TypeRow]) -> Iterator[str]:
    """A line for each type, under titles; what is banned is marked."""
    wide = max((len(visible(row.name)) for row in rows), default=4)
    yield (
        f"{'type':<{wide}}  probability  {'weight':>9}  distance  {'picks':>11}  {'matches':>11}  "
        f"{'misses':>11}  {'new arms':>8}"
    )
    for row in rows:
        weight = f"x{row.weight:g}" if row.weight else "banned"
        distance = str(row.distance) if row.distance >= 0 else "-"
        yield (
            f"{visible(row.name):<{wide}}  {percent(row.probability):>11}  "
            f"{weight + '*' * row.differs:>9}  {distance:>8}  {row.picks:>11,}  "
            f"{row.matches:>11,}  {row.misses:>11,}  {row.new_arms:>8,}"
        )


def left_table(rows: Collection[TargetRow], width: int = 0) -> Iterator[str]:
    """A line for each target that is left: where, how often it was reached, its types.

    Types are cut to what ``width`` columns have room for (0: they are as long as they are).
    """
    if not rows:
        return
    cells = [
        (
            visible(row.location),
            _standing(row),
            f"{row.reached:,} of {several(row.asked, 'trial')} asked" if row.asked else "-",
            ", ".join(f"{visible(name)} {distance}" for name, distance in row.types) or "-",
        )
        for row in rows
    ]
    titles = ("code target left", "", "reached", "types and their distances")
    wide = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    room = max(width - sum(wide[:3]) - 6, LEAST_TYPES) if width else max(wide)
    for location, where, reached, names in (titles, *cells):
        line = (
            f"{location:<{wide[0]}}  {where:<{wide[1]}}  {reached:>{wide[2]}}  {cut(names, room)}"
        )
        yield line.rstrip()


def _standing(row: TargetRow) -> str:
    if row.ignored:
        return "ignored"
    return "pinned" if row.pinned else "frontier" if row.frontier else ""


def summary(now: Aim) -> str:
    """What is aimed at, and what is left, in one line."""
    pinned = f"; pinned {now.pinned}" if now.pinned else ""
    return (
        f"{percentage(now.targeted)} of mutations aim at types{pinned}; {now.uncovered:,} of "
        f"{several(now.targets, 'code target')} left, {now.frontier:,} on the frontier"
        f"{_how_many_ignored(now)}"
    )


def _how_many_ignored(now: Aim) -> str:
    return f"; {len(now.ignored):,} ignored" if now.ignored else ""


def aim_rows(state: State) -> Iterator[tuple[str, str]]:
    """Rows of ``status`` about types: what is aimed at, what is left, and what is known no more."""
    now = aim(state)
    if now is None:
        return
    rows = list(types_of(state).values())
    likely = [f"{row.name} {row.probability:.0%}" for row in rows[:LIKELIEST] if row.probability]
    names = f"; likeliest {', '.join(likely)}" if likely else ""
    pinned = f"; pinned {now.pinned}" if now.pinned else ""
    yield (
        "types",
        f"aims {percentage(now.targeted)} at types{names}; {now.uncovered:,} of "
        f"{several(now.targets, 'code target')} left, {now.frontier:,} on the frontier{pinned}"
        f"{_how_many_ignored(now)}",
    )
    if words := stale(state):
        yield "changed", words

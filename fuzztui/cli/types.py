"""``fuzztui types``: the types that a spoton engine aims at, and the goals that are left."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence

from fuzztui.base.text import several, visible
from fuzztui.cli.mutant_lines import percent
from fuzztui.cli.nearest import MIN_ROOM, all_of, nearest, place
from fuzztui.cli.output import DONE, CliError, at_terminal
from fuzztui.cli.runs import find_run, none_left, standing
from fuzztui.model.state import State
from fuzztui.model.targeting import (
    Aim,
    TargetRow,
    TypeRow,
    aim,
    stale,
    targets_left,
    types_dict,
)
from fuzztui.model.targeting import types as types_of
from fuzztui.tui.labels.targeting import brief_type, short_names
from fuzztui.wire.mixture import percentage

__all__ = ["aim_rows", "left_table", "types", "types_table"]

LIKELIEST = 2
"""Types that ``status`` names."""

_LOCATION = 0.38
"""How much of a line the location of a target may take that is not shown in full."""


def types(options: argparse.Namespace) -> int:
    """Two tables and a line that sums up, or one JSON object."""
    run = find_run(options.run)
    seen = standing(run)
    state = seen.state
    now = aim(state)
    if now is None:
        if seen.is_lower_bound:
            if options.json:
                print(json.dumps({"problems": [*seen.problems]}, indent=1))
            raise none_left(run, seen, "types")
        other = state.engine and state.engine != "spoton"
        only = f"; only spoton has any, and the campaign is for {state.engine}" if other else ""
        raise CliError(f"{run}: no engine of its campaign has reported types{only}")
    if options.json:
        print(json.dumps({**(types_dict(state) or {}), "problems": [*seen.problems]}, indent=1))
        return DONE
    rows, left = types_of(state), targets_left(state)
    brief = at_terminal() and not options.all
    width = shutil.get_terminal_size().columns if brief else 0
    for line in types_table(rows.values(), width):
        print(line)
    if any(row.differs for row in rows.values()):
        print("(*: instances have different weights; this is the first one's)")
    print()
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


def types_table(rows: Collection[TypeRow], width: int = 0) -> Iterator[str]:
    """A line for each type, under titles; what is banned is marked.

    ``width`` columns: where lines would be longer, names are short and misses are left out, which
    are the picks that did not match. 0: all in full.
    """
    titles = ["type", "probability", "weight", "distance", "picks", "matches", "misses",
              "new arms"]  # fmt: skip
    cells = [titles, *map(_cells, rows)]
    wide = _widths(cells)
    if width and sum(wide) + 2 * len(wide) - 2 > width:
        cells = [[*line[:6], *line[7:]] for line in cells]
        short = short_names(row.name for row in rows)
        wide = _widths(cells)
        room = max(width - sum(wide[1:]) - 2 * len(wide[1:]), MIN_ROOM)
        for line, row in zip(cells[1:], rows, strict=True):
            line[0] = brief_type(visible(short[row.name]), room)
        wide = _widths(cells)
    for name, *figures in cells:
        shown = (f"{cell:>{w}}" for cell, w in zip(figures, wide[1:], strict=True))
        yield "  ".join([f"{name:<{wide[0]}}", *shown])


def _cells(row: TypeRow) -> list[str]:
    weight = f"x{row.weight:g}" if row.weight else "banned"
    return [
        visible(row.name),
        percent(row.probability),
        weight + "*" * row.differs,
        str(row.distance) if row.distance >= 0 else "-",
        f"{row.picks:,}",
        f"{row.matches:,}",
        f"{row.misses:,}",
        f"{row.new_arms:,}",
    ]


def _widths(cells: Iterable[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*cells, strict=True)]


def left_table(rows: Collection[TargetRow], width: int = 0) -> Iterator[str]:
    """A line for each target that is left: where, how often it was reached, its types.

    ``width`` columns: where lines would be longer, they name the nearest types, in short. 0: all
    in full.
    """
    if not rows:
        return
    titles = ["code target left", "", "reached", "types and their distances"]
    cells = [titles]
    for row in rows:
        reached = f"{row.reached:,} of {several(row.asked, 'trial')} asked" if row.asked else "-"
        cells.append([visible(row.location), _standing(row), reached, all_of(row.types)])
    wide = _widths(cells)
    if width and sum(wide) + 6 > width:
        short = short_names(name for row in rows for name, _ in row.types)
        for line, row in zip(cells[1:], rows, strict=True):
            line[0] = place(row.location, int(width * _LOCATION))
            line[2] = f"{row.reached:,} of {row.asked:,}" if row.asked else "-"
        room = max(width - sum(_widths(cells)[:3]) - 6, MIN_ROOM)
        for line, row in zip(cells[1:], rows, strict=True):
            line[3] = nearest(row.types, short, room)
        wide = _widths(cells)
    for location, where, reached, names in cells:
        line_ = f"{location:<{wide[0]}}  {where:<{wide[1]}}  {reached:>{wide[2]}}  {names}"
        yield line_.rstrip()


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

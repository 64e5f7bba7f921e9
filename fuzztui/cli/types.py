"""``fuzztui types``: the types that a spoton engine targets, and the uncovered goals."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence

from fuzztui.cli.json_output import print_json
from fuzztui.cli.mutant_lines import percent
from fuzztui.cli.output import DONE, CliError, at_terminal
from fuzztui.cli.runs import none_left, standing
from fuzztui.cli.target_runs import find_one_target
from fuzztui.features.targeting.fold import (
    GoalRow,
    TargetingSummary,
    TypeRow,
    goal_rows,
    stale,
    targeting_summary,
    types_dict,
)
from fuzztui.features.targeting.fold import type_rows as types_of
from fuzztui.features.targeting.screen.labels import (
    MIN_ROOM,
    all_of,
    brief_type,
    nearest,
    place,
    short_names,
)
from fuzztui.features.targeting.status import how_many_ignored
from fuzztui.kernel.base.text import aligned, several, visible

_LOCATION = 0.38
"""Share of a line for the location of a goal, if the line does not fit."""


def types(options: argparse.Namespace) -> int:
    """Print a table of types, a table of uncovered goals and a summary, or one JSON object."""
    run = find_one_target(options.run)
    seen = standing(run)
    state = seen.state
    now = targeting_summary(state)
    if now is None:
        if seen.is_lower_bound:
            if options.json:
                print_json("types", {"problems": [*seen.problems]})
            raise none_left(run, seen, "types")
        other = state.engine and state.engine != "spoton"
        only = f"; types need engine spoton, not {state.engine}" if other else ""
        raise CliError(f"{run}: no engine of the campaign has reported types{only}")
    if options.json:
        print_json("types", {**(types_dict(state) or {}), "problems": [*seen.problems]})
        return DONE
    rows, left = types_of(state), goal_rows(state)
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
        print(f"(and {now.uncovered - len(left):,} more that engines do not report)")
    if left:
        print()
    print(visible(summary(now)))
    if warning := stale(state):
        print(visible(warning))
    return DONE


def types_table(rows: Collection[TypeRow], width: int = 0) -> Iterator[str]:
    """Yield a title line, and a line for each type.

    ``width``: columns; if lines are longer, names are shortened and misses (picks minus matches)
    are left out. 0: everything in full.
    """
    titles = ["type", "probability", "weight", "distance", "picks", "matches", "misses",
              "+branch"]  # fmt: skip
    cells = [titles, *map(_cells, rows)]
    wide = _widths(cells)
    if width and sum(wide) + 2 * len(wide) - 2 > width:
        cells = [[*line[:6], *line[7:]] for line in cells]
        short = short_names(row.name for row in rows)
        wide = _widths(cells)
        room = max(width - sum(wide[1:]) - 2 * len(wide[1:]), MIN_ROOM)
        for line, row in zip(cells[1:], rows, strict=True):
            line[0] = brief_type(visible(short[row.name]), room)
    yield from aligned(cells, range(1, len(titles)))


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


def left_table(rows: Collection[GoalRow], width: int = 0) -> Iterator[str]:
    """Yield a line for each uncovered goal: location, how often it was reached, its types.

    ``width``: columns; if lines are longer, only the nearest types are listed, with short names.
    0: everything in full.
    """
    if not rows:
        return
    titles = ["uncovered goal", "", "reached", "types and their distances"]
    cells = [titles]
    for row in rows:
        reached = (
            f"{row.reached:,} of {several(row.checked_trials, 'trial')} checked"
            if row.checked_trials
            else "-"
        )
        cells.append([visible(row.location), _standing(row), reached, all_of(row.types)])
    wide = _widths(cells)
    if width and sum(wide) + 6 > width:
        short = short_names(name for row in rows for name, _ in row.types)
        for line, row in zip(cells[1:], rows, strict=True):
            line[0] = place(row.location, int(width * _LOCATION))
            line[2] = f"{row.reached:,} of {row.checked_trials:,}" if row.checked_trials else "-"
        room = max(width - sum(_widths(cells)[:3]) - 6, MIN_ROOM)
        for line, row in zip(cells[1:], rows, strict=True):
            line[3] = nearest(row.types, short, room)
    yield from aligned(cells, (2,))


def _standing(row: GoalRow) -> str:
    if row.ignored:
        return "ignored"
    return "pinned" if row.pinned else "frontier" if row.frontier else ""


def summary(now: TargetingSummary) -> str:
    """Return one line with the share of targeted mutations and the number of uncovered goals."""
    pinned = f"; pinned {now.pinned}" if now.pinned else ""
    return (
        f"{now.share_text}{pinned}; "
        f"{now.uncovered:,} of {several(now.targets, 'goal')} left, "
        f"{now.frontier:,} on the frontier{how_many_ignored(now)}"
    )

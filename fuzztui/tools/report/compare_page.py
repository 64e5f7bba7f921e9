"""The comparison of runs as a page, or as JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from fuzztui.kernel.base.page import (
    Cell,
    ChartLine,
    Code,
    Folded,
    Item,
    Note,
    Page,
    PageChart,
    Part,
    Section,
    Table,
    moment,
)
from fuzztui.kernel.base.text import brief, listed, several
from fuzztui.tools.report.compared import (
    FIGURES,
    ComparedRun,
    FoundBy,
    RankTest,
    RunComparison,
    notes,
    rank_tests,
    spread,
    who_found,
    who_killed,
)
from fuzztui.tools.report.over_time import counted, series_line
from fuzztui.tools.report.run import short_target
from fuzztui.tools.report.two_samples import effect, smallest_p

_FEW: Final = 10
"""Runs in a group below which a note says that they are few."""
_LISTED: Final = 200
"""Causes, or mutants, that are listed."""
_MAX_SETS: Final = 20
"""Combinations of sides that are listed: each has a table of its own."""

_METHOD: Final = (
    "p: two-sided Mann-Whitney U test. A12 (Vargha and Delaney): how often a run of the group that "
    "is named first is above one of the other; 0.5: no difference. Klees et al. (Evaluating Fuzz "
    "Testing, CCS 2018) ask for both, and use 30 runs of 24 hours."
)


def compare_page(of: RunComparison, end: str) -> Page:
    """Return the page; ``end``: what has written it, and when."""
    target = brief(short_target(of.runs[0].state.target) or "a target", 200)
    about = f"{target} · {several(len(of.runs), 'run')} · {_when(of)}"
    sections = [
        Section("Figures", list(_figures(of))),
        Section("Over time", list(_charts(of))),
        *_found_sections(of),
        Section("Runs", [_runs(of)]),
    ]
    title = f"Comparison of {brief(listed(list(of.sides), 4), 200)}"
    return Page(title, about, [s for s in sections if s.parts], end)


def _when(of: RunComparison) -> str:
    """At which campaign time the runs are compared."""
    if not of.at_ends:
        return f"after {moment(of.at_s, of.at_s)} of campaign time"
    first = min(run.end_s for run in of.runs)
    times = " to ".join(dict.fromkeys(moment(t, of.at_s) for t in (first, of.at_s)))
    return f"each at its end ({times} of campaign time): all have used the same budget"


def shown(name: str, value: float | None) -> str:
    """Format a figure."""
    if value is None or math.isnan(value):
        return "-"
    if name == "score":
        return f"{value:.1%}"
    return f"{value:,.0f}" if value == int(value) or value >= 1000 else f"{value:,.1f}"


# ------------------------------------------------------------------- figures


def _figures(of: RunComparison) -> Iterator[Part]:
    yield from (Note(text, warning) for text, warning in notes(of))
    yield _spreads(of) if of.groups else _side_by_side(of)
    if of.groups:
        yield from _tests(of)
    if "killed" in of.figures():
        then = "their ends, after any exact pass" if of.at_ends else "then"
        yield Note(
            f"Kills are those that the campaigns had made by {then}. "
            "'fuzztui score RUN' runs all mutants on a corpus."
        )


def _side_by_side(of: RunComparison) -> Table:
    rows = [
        (FIGURES[name], *(shown(name, of.figure(run, name)) for run in of.runs))
        for name in of.figures()
    ]
    heads = ("", *(brief(run.name, 60) for run in of.runs))
    return Table(heads, rows, frozenset(range(1, len(heads))))


def _spreads(of: RunComparison) -> Table:
    rows = []
    for name in of.figures():
        for number, group in enumerate(of.groups):
            if (s := spread(of.values(name, number))) is None:
                rows.append((FIGURES[name], brief(group, 60), "0", "-", "-", "-"))
                continue
            low, high = shown(name, s.low), shown(name, s.high)
            rows.append(
                (
                    FIGURES[name],
                    brief(group, 60),
                    f"{s.n:,}",
                    shown(name, s.median),
                    f"{shown(name, s.least)} to {shown(name, s.most)}",
                    f"{low} to {high}",
                )
            )
    heads = ("", "group", "n", "median", "least to most", "quartiles")
    return Table(heads, rows, frozenset({2, 3, 4, 5}))


def _tests(of: RunComparison) -> Iterator[Part]:
    found = list(rank_tests(of))
    if not found:
        return
    rows = [
        (FIGURES[t.figure], brief(f"{t.b} against {t.a}", 100), f"{t.m:,} and {t.n:,}",
         p_text(t.p), f"{t.a12:.2f}", _in_words(t))
        for t in found
    ]  # fmt: skip
    yield Table(("", "groups", "n", "p", "A12", "effect"), rows, frozenset({2, 3, 4}))
    yield from _limits(found)
    if len(found) > 1:
        yield Note(f"{len(found)} tests: by chance one in 20 has a p below 0.05.")
    yield Note(_METHOD)


def _limits(tests: Sequence[RankTest]) -> Iterator[Note]:
    """Warn of groups with so few runs that p cannot be small, or that results are uncertain."""
    pairs: dict[tuple[int, int], dict[str, None]] = {}
    for t in tests:  # a figure that some runs lack has sizes of its own
        pairs.setdefault((t.m, t.n), {})[t.b] = None
    fewest = _FEW
    for (m, n), groups in pairs.items():
        least, with_ties = smallest_p(m, n), smallest_p(m, n, ties=True)
        if least <= 0.05:
            fewest = min(fewest, m, n)
            continue
        names = brief(f"{listed(list(groups))} against {tests[0].a}", 200)
        or_less = "" if with_ties == least else f" ({with_ties:.2g} if some values are equal)"
        yield Note(
            f"{names}, {m:,} and {n:,} runs: with so few p cannot be below "
            f"{least:.2g}{or_less}, whatever the fuzzers do.",
            is_warning=True,
        )
    if fewest < _FEW:
        yield Note(f"A group has {several(fewest, 'run')} only.", is_warning=True)


def p_text(p: float) -> str:
    """Format a p."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _in_words(t: RankTest) -> str:
    name = effect(t.a12)
    if t.a12 == 0.5:
        return "none"
    return f"{name}, {'more' if t.a12 > 0.5 else 'less'}"


# ----------------------------------------------------------------- over time


def _charts(of: RunComparison) -> Iterator[PageChart]:
    legend = [(brief(name, 60), n) for n, name in enumerate(of.groups)]
    for name, title in (
        ("edges", "edges"),
        ("killed", "mutants killed"),
        ("findings", "groups of findings"),
        ("execs", "executions"),
    ):
        if name in of.not_compared:
            continue
        lines = [line for run in of.runs if (line := figure_line(of, name, run)) is not None]
        if lines:
            yield PageChart(title, lines, of.at_s, legend=legend)


def figure_line(of: RunComparison, name: str, run: ComparedRun) -> ChartLine | None:
    """The line of a figure in one run, kills of the common mutants only; None without a value."""
    label = brief(run.name, 60)
    match name:
        case "findings":
            times = sorted(run.first_found.values())
            return counted(label, times, run.group) if times else None
        case "killed" if run.mutants and len(of.common_mutants) < len(run.mutants):
            at = run.killed_at
            kept = sorted(at[id_] for id_ in of.common_mutants if id_ in at)
            return counted(label, kept, run.group) if kept else None
    return series_line(run.state, name, label, run.group)


# --------------------------------------------------------------- who had what


def _found_sections(of: RunComparison) -> Iterator[Section]:
    if found := who_found(of):
        yield Section(f"Findings: {several(len(found), 'group')}", list(_who(of, found, "finding")))
    if killed := who_killed(of):
        title = f"Mutants: {len(killed):,} killed by any"
        yield Section(title, list(_who(of, killed, "mutant")))


def _who(of: RunComparison, rows: Sequence[FoundBy], what: str) -> Iterator[Part]:
    yield _counts(of, rows, "found" if what == "finding" else "killed")
    only = [row for row in rows if not row.is_common]
    if not only:
        yield Note(f"Every {what} is in all of them.")
        return
    of_sides: dict[frozenset[int], list[FoundBy]] = {}
    for row in only:
        of_sides.setdefault(row.sides, []).append(row)
    for sides, those in list(of_sides.items())[:_MAX_SETS]:
        names = listed([brief(of.sides[n], 60) for n in sorted(sides)], 6)
        title = f"only in {names}: {len(those):,}"
        table = _table(of, those, what)
        yield Item(title, [table]) if what == "finding" else Folded(title, [table])
    if (left := len(of_sides) - _MAX_SETS) > 0:
        rest = sum(len(those) for those in list(of_sides.values())[_MAX_SETS:])
        where = several(left, "other combination")
        yield Note(f"and {several(rest, what)} more, in {where}: --format json lists all.")


def _counts(of: RunComparison, rows: Sequence[FoundBy], had: str) -> Table:
    first = Counter(row.first for row in rows)
    alone = Counter(next(iter(row.sides)) for row in rows if len(row.sides) == 1)
    lines = [
        (
            brief(name, 60),
            f"{sum(n in row.sides for row in rows):,}",
            f"{alone[n]:,}",
            f"{first[n]:,}",
        )
        for n, name in enumerate(of.sides)
    ]
    return Table(("", had, "nowhere else", "here first"), lines, frozenset({1, 2, 3}))


def _table(of: RunComparison, rows: Sequence[FoundBy], what: str) -> Table:
    def when(row: FoundBy, n: int) -> str:
        if math.isnan(row.times[n]):
            return "-"
        time = moment(row.times[n], of.at_s)
        return f"{time} ({row.runs[n]} of {len(of.of_group(n))})" if of.groups else time

    lines: list[list[Cell]] = [
        [
            Code(brief(row.key, 200)),
            *(when(row, n) for n in range(len(of.sides))),
            Code(brief(row.title, 160)),
        ]
        for row in rows[:_LISTED]
    ]
    heads = (what, *(brief(name, 60) for name in of.sides), "")
    numbers = frozenset(range(1, len(heads) - 1))
    return Table(heads, lines, numbers, max(0, len(rows) - _LISTED))


def _runs(of: RunComparison) -> Table:
    rows: list[list[Cell]] = [
        [
            brief(run.name, 60),
            *([brief(of.groups[run.group], 60)] if of.groups else []),
            brief(run.state.engine, 60),
            f"{run.state.seed}",
            f"{len([i for i in run.state.instances.values() if not i.mutant]):,}",
            moment(run.end_s, run.end_s),
            Code(brief(run.path, 200)),
        ]
        for run in of.runs
    ]
    heads = ["run", "engine", "seed", "instances", "whole time", "directory"]
    heads[1:1] = ["group"] if of.groups else []
    last = len(heads) - 1
    return Table(heads, rows, frozenset({last - 3, last - 2, last - 1}))


# ----------------------------------------------------------------------- JSON


def compare_json(of: RunComparison, problems: Sequence[str]) -> dict[str, Any]:
    """Return the comparison as data; NaN is null."""

    def both(rows: Sequence[FoundBy]) -> list[dict[str, Any]]:
        return [
            {
                "key": row.key,
                "title": row.title,
                "first_s": dict(zip(of.sides, map(_number, row.times), strict=True)),
                "runs": dict(zip(of.sides, row.runs, strict=True)),
            }
            for row in rows
        ]

    names = of.figures()
    return {
        "at_s": None if of.at_ends else of.at_s,
        "target": of.runs[0].state.target,
        "runs": [
            {
                "name": run.name,
                "group": of.groups[run.group] if of.groups else None,
                "path": run.path,
                "engine": run.state.engine,
                "seed": run.state.seed,
                "at_s": run.end_s if of.at_ends else of.at_s,
                "end_s": run.end_s,
                "at_least": bool(run.damage),
                "figures": {name: of.figure(run, name) for name in names},
            }
            for run in of.runs
        ],
        "groups": [
            {
                "name": group,
                "n": len(of.of_group(number)),
                "figures": {
                    name: asdict(s) if (s := spread(of.values(name, number))) else None
                    for name in names
                },
            }
            for number, group in enumerate(of.groups)
        ],
        "tests": [{**asdict(t), "effect": effect(t.a12)} for t in rank_tests(of)],
        "not_compared": dict(of.not_compared),
        "notes": [text for text, _ in notes(of)],
        "findings": both(who_found(of)),
        "mutants": both(who_killed(of)),
        "problems": list(problems),
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value

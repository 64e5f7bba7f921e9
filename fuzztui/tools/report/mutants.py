"""The mutants of a run as parts of a page: the score by function, and what survives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fuzztui.kernel.base.page import Code, Folded, Item, Note, Part, Section, Table
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.mutants import (
    NOT_RUN,
    RAN,
    REACHED,
    UNREACHED,
    WAITS,
    Knowledge,
    knowledge,
    mutants_summary,
    nearest,
    survivors,
)
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.kernel.wire.verdicts import ACCEPTED
from fuzztui.tools.report.run import ReportedRun

MAX_SURVIVORS: Final = 1000
"""Survivors of one group that are listed."""
_FUNCTIONS: Final = 60

_MEANING: Final = {
    RAN: "Inputs ran the changed code and the result was the same: the check is too weak, or the "
    "mutant is equivalent.",
    WAITS: "No verdict yet: an exact pass, or 'fuzztui score', runs them.",
    NOT_RUN: "The campaign ended before they were run on all inputs that may kill them: 'fuzztui "
    "score RUN' settles them.",
    REACHED: "Inputs executed the expression, and it always had the value of the original.",
    UNREACHED: "No input executed the changed code: fuzz longer, or add a seed that does.",
    ACCEPTED: "A user has accepted that they survive.",
}


def mutants_section(run: ReportedRun) -> Section | None:
    """The section about mutants; None for a run without any."""
    state = run.state
    if not state.mutants:
        return None
    if state.stage:
        return Section("Mutants", list(_fuzzed_one_by_one(state)))
    parts: list[Part] = [Note(_headline(run))]
    parts += _by_function(list(state.mutants.values()), known=knowledge(state))
    groups = survivors(state.mutants.values(), knowledge(state))
    for name, those in groups.items():
        meaning = [Note(_MEANING[name])] if name in _MEANING else []
        parts.append(Item(f"{name}: {len(those):,}", [*meaning, *survivor_tables(those)]))
    return Section("Mutants", parts)


def _headline(run: ReportedRun) -> str:
    s = mutants_summary(run.state)
    made = s.total - s.invalid
    # Mutants without a verdict may be killed by inputs that are there already.
    open_ = s.pending or s.not_run
    least = "at least " if s.at_least or run.damage or (open_ and s.exact is not True) else ""
    score = "unknown" if s.score is None else f"{least}{s.score:.1%}"
    text = f"Score {score}: {least}{s.killed:,} of {several(made, 'mutant')} killed"
    words = ("alive", NOT_RUN, UNREACHED, "pending", "skipped", "equivalent", "invalid", "accepted")
    for name in words:
        if n := s.count(name):
            text += f", {n:,} {name}"
    if s.adjusted is not None and s.adjusted != s.score:
        text += f". Without skipped and equivalent ones {least}{s.adjusted:.1%}"
    return f"{text}."


def _by_function(mutants: Sequence[Mutant], *, known: Knowledge) -> Iterator[Part]:
    """A table of functions, those with most survivors first."""
    rows: dict[tuple[str, str], list[Mutant]] = {}
    for m in mutants:
        rows.setdefault((m.file, m.function), []).append(m)
    lines = []
    for (file, function), those in rows.items():
        made = [m for m in those if m.state != "invalid"]
        killed = sum(m.state == "killed" for m in made)
        left = survivors(those, known)
        not_run = len(left.pop(NOT_RUN, ()))  # inputs that are there already may kill them
        open_ = sum(len(some) for name, some in left.items() if name != ACCEPTED)
        lines.append((file, function, len(made), killed, open_, not_run))
    lines.sort(key=lambda line: (-line[4], -line[5], line[0], line[1]))
    left_some = [line for line in lines if line[4] or line[5]]
    if left_some:
        yield _functions(left_some)
    if rest := lines[len(left_some) :]:
        name = several(len(rest), "function")
        yield Folded(f"{name} without survivors", [_functions(rest)])


def _functions(lines: Sequence[tuple[str, str, int, int, int, int]]) -> Table:
    return Table(
        ("function", "file", "mutants", "killed", "score", "survivors", NOT_RUN),
        [
            (
                Code(brief(function or "(module)", 200)),
                Code(brief(file, 200)),
                f"{made:,}",
                f"{killed:,}",
                f"{killed / made:.0%}" if made else "-",
                f"{left:,}",
                f"{not_run:,}",
            )
            for file, function, made, killed, left, not_run in lines[:_FUNCTIONS]
        ],
        frozenset(range(2, 7)),
        max(0, len(lines) - _FUNCTIONS),
    )


def survivor_tables(mutants: Sequence[Mutant]) -> Iterator[Part]:
    """Yield the mutants by function, folded; the functions with most of them first."""
    by: dict[tuple[str, str], list[Mutant]] = {}
    for m in mutants:
        by.setdefault((m.file, m.function), []).append(m)
    room = MAX_SURVIVORS
    for (file, function), those in sorted(by.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        shown = sorted(those, key=lambda m: (m.line, m.id))[:room]
        room -= len(shown)
        if not shown:
            break
        name = f"{brief(function, 200)} in {brief(file, 200)}" if function else brief(file, 200)
        table = Table(
            ("line", "before", "after", "operator", "nearest input", "mutant"),
            [_row(m) for m in shown],
            frozenset({0}),
            len(those) - len(shown),
        )
        yield Folded(f"{name}: {len(those):,}", [table])
    if (left := len(mutants) - MAX_SURVIVORS) > 0:
        yield Note(
            f"{several(left, 'mutant')} more are not listed: 'fuzztui mutants list' has all."
        )


def _row(m: Mutant) -> tuple[str | Code, ...]:
    near = nearest(m)
    return (
        f"{m.line}" if m.line >= 0 else "?",
        Code(brief(m.before.strip(), 300)),
        Code(brief(m.after.strip(), 300)),
        brief(m.operator, 60),
        f"{brief(near[0], 60)} ({near[1]})" if near else "",
        Code(brief(m.id, 300)),
    )


def _fuzzed_one_by_one(state: State) -> Iterator[Part]:
    """The mutants of a fuzz-first campaign: killed, fuzzed without a kill, and no turn yet."""
    killed = [m for m in state.mutants.values() if m.state == "killed"]
    alive = [m for m in state.mutants.values() if m.state == "alive"]
    others = len(state.mutants) - len(killed) - len(alive)
    judged = len(killed) + len(alive)
    score = f"Score {len(killed) / judged:.1%}: " if judged else ""
    yield Note(
        f"{score}{len(killed):,} of {several(judged, 'mutant')} that had a turn killed; {others:,} "
        "more had none, were duplicates, or could not be built."
    )
    if alive:
        yield Item(f"fuzzed, and not killed: {len(alive):,}", list(survivor_tables(alive)))

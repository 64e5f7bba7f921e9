"""What only some engines have, as parts of a page: transfers, goals and types, mutators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from fuzztui.kernel.base.text import brief, listed, several
from fuzztui.kernel.model.fuzzfirst import brought, first_dict
from fuzztui.kernel.model.mutators import arms, mixture_summary
from fuzztui.kernel.model.progress import PHASES
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.targeting import goal_rows, targeting_summary, type_rows
from fuzztui.kernel.wire.finding_kinds import UNDESCRIBED
from fuzztui.kernel.wire.mixture import CLASSES
from fuzztui.tools.report.parts import Code, Folded, Note, Part, Section, Table

_GOALS: Final = 300
_TYPES: Final = 30
_MUTATORS: Final = 80
_BEST: Final = 10
_TRANSFERS: Final = 40
_TRANSFERRED: Final = ("entries", "edges", *UNDESCRIBED)
"""Names of what a mutant's corpus has transferred; others count what was kept or removed."""


def engine_sections(state: State) -> Iterator[Section]:
    """Yield the sections of the engine that the run has used."""
    if first := list(_transfers(state)):
        yield Section("Fuzzing mutants first", first)
    if goals := list(_goals(state)):
        yield Section("Goals and types", goals)
    if mutators := list(_mutators(state)):
        yield Section("Mutators", mutators)


def _transfers(state: State) -> Iterator[Part]:
    facts = first_dict(state)
    if facts is None:
        return
    phases = facts["phases"]
    counts = [f"{phases[name]:,} {name}" for name in PHASES if phases[name]]
    yield Note(f"Of {several(len(state.mutants), 'mutant')}: {', '.join(counts)}.")
    sums = facts["brought"]
    what = [f"{sums[name]:,} {name}" for name in _TRANSFERRED if sums.get(name)]
    yield Note(f"Transferred to the target: {listed(what, 9)}." if what else "Nothing transferred.")
    if found := facts["findings_thanks_to_mutants"]:
        named = listed([brief(key, 100) for key in found], 5)
        yield Note(f"Findings of the target that descend from a mutant's corpus: {named}.")
    each = [(m, brought([m])) for m in state.mutants.values()]
    each = [(m, results) for m, results in each if results.keys() & {"kills", *_TRANSFERRED}]
    each.sort(key=lambda pair: -pair[1].get("edges", 0))
    if each:
        names = ("entries", "edges", "kills")
        table = Table(
            ("mutant", "place", *names),
            [
                (
                    Code(brief(m.id, 200)),
                    f"{brief(m.file, 100)}:{m.line}",
                    *(f"{results.get(name, 0):,}" for name in names),
                )
                for m, results in each[:_TRANSFERS]
            ],
            frozenset({2, 3, 4}),
            max(0, len(each) - _TRANSFERS),
        )
        yield Folded(f"{several(len(each), 'mutant')} with transfers", [table])


def _goals(state: State) -> Iterator[Part]:
    now = targeting_summary(state)
    if now is None:
        return
    covered = max(0, now.targets - now.uncovered)
    text = f"{covered:,} of {several(now.targets, 'goal')} covered, {now.uncovered:,} left"
    text += f", {now.frontier:,} of these on the frontier; {now.targeted:.0%} of mutations targeted"
    yield Note(f"{text}.")
    if now.changed:
        edited = listed([brief(name, 100) for name in now.changed])
        yield Note(f"Edited since the analysis: {edited}.", is_warning=True)
    goals = list(goal_rows(state).values())
    if goals:
        by_file = Counter(goal.location.partition(":")[0] for goal in goals)
        yield Table(
            ("file", "goals left"),
            [(Code(brief(name, 200)), f"{n:,}") for name, n in by_file.most_common(_TYPES)],
            frozenset({1}),
            max(0, len(by_file) - _TYPES),
        )
        rows = [
            (
                Code(brief(g.location, 200)),
                _standing(ignored=g.ignored, pinned=g.pinned, frontier=g.frontier),
                f"{g.reached:,}",
                listed([brief(name, 60) for name, _ in g.types], 3),
            )
            for g in goals[:_GOALS]
        ]
        table = Table(
            ("goal", "", "reached", "types, the nearest first"),
            rows,
            frozenset({2}),
            max(0, len(goals) - _GOALS),
        )
        yield Folded(f"{several(len(goals), 'goal')} that {_are(len(goals))} left", [table])
    types = list(type_rows(state).values())
    if types:
        table = Table(
            ("type", "probability", "weight", "picked", "matched", "branches"),
            [
                (
                    Code(brief(t.name, 100)),
                    f"{t.probability:.1%}",
                    f"{t.weight:g}",
                    f"{t.picks:,}",
                    f"{t.matches:,}",
                    f"{t.new_arms:,}",
                )
                for t in types[:_TYPES]
            ],
            frozenset({1, 2, 3, 4, 5}),
            max(0, len(types) - _TYPES),
        )
        yield Folded(several(len(types), "type"), [table])


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _standing(*, ignored: bool, pinned: bool, frontier: bool) -> str:
    return "ignored" if ignored else "pinned" if pinned else "frontier" if frontier else ""


def _mutators(state: State) -> Iterator[Part]:
    now = mixture_summary(state)
    if now is None:
        return
    parts = (f"{name} {part:.0%}" for name, part in zip(CLASSES, now.mixture, strict=True))
    how = "adaptive" if now.adaptive else "fixed"
    yield Note(f"The mixture at the end: {', '.join(parts)} ({how}).")
    rows = sorted(arms(state).values(), key=lambda a: a.order, reverse=True)
    lines = [
        (
            Code(brief(a.name, 100)),
            a.cls,
            f"{a.tried:,}",
            f"{a.applied:,}",
            f"{a.found:,}",
            f"{a.crashes:,}",
            f"{a.pays:,.1f}" if a.pays >= 0 else "-",
            f"{a.share:.1%}",
        )
        for a in rows[:_MUTATORS]
    ]
    heads = ("mutator", "class", "tried", "applied", "found", "crashes", "finds/M", "weight")
    numbers = frozenset(range(2, 8))
    yield Table(heads, lines[:_BEST], numbers)
    if len(rows) > _BEST:
        rest = Table(heads, lines[_BEST:], numbers, max(0, len(rows) - _MUTATORS))
        yield Folded(several(len(rows) - _BEST, "further mutator"), [rest])

"""The section of a report about goals and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from fuzztui.features.targeting.fold import goal_rows, targeting_summary, type_rows
from fuzztui.kernel.base.page import Code, Folded, Note, Part, Section, Table
from fuzztui.kernel.base.text import brief, listed, several
from fuzztui.kernel.model.state import State

_GOALS: Final = 300
_TYPES: Final = 30


def sections(state: State) -> Iterator[Section]:
    """Yield the section, if an engine has reported types."""
    if parts := list(_goals(state)):
        yield Section("Goals and types", parts)


def _goals(state: State) -> Iterator[Part]:
    now = targeting_summary(state)
    if now is None:
        return
    covered = max(0, now.targets - now.uncovered)
    text = f"{covered:,} of {several(now.targets, 'goal')} covered, {now.uncovered:,} left"
    text += f", {now.frontier:,} of these on the frontier; {now.share_text}"
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

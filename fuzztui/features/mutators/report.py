"""The section of a report about text mutators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fuzztui.features.mutators.fold import arms, mixture_summary
from fuzztui.kernel.base.page import Code, Folded, Note, Part, Section, Table
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.mixture import CLASSES

_MUTATORS: Final = 80
_BEST: Final = 10


def sections(state: State) -> Iterator[Section]:
    """Yield the section, if the campaign has text mutators."""
    if parts := list(_mutators(state)):
        yield Section("Mutators", parts)


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
    heads = (
        "mutator",
        "class",
        "tried",
        "applied",
        "found",
        "crashes",
        "found per million",
        "weight",
    )
    numbers = frozenset(range(2, 8))
    yield Table(heads, lines[:_BEST], numbers)
    if len(rows) > _BEST:
        rest = Table(heads, lines[_BEST:], numbers, max(0, len(rows) - _MUTATORS))
        yield Folded(several(len(rows) - _BEST, "further mutator"), [rest])

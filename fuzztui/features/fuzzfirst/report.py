"""The section of a report about fuzzing mutants first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fuzztui.features.fuzzfirst.fold import brought, first_dict
from fuzztui.kernel.base.page import Code, Folded, Note, Part, Section, Table
from fuzztui.kernel.base.text import brief, listed, several
from fuzztui.kernel.model.progress import PHASES
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.finding_kinds import UNDESCRIBED

_TRANSFERS: Final = 40
_TRANSFERRED: Final = ("entries", "edges", *UNDESCRIBED)
"""Names of what a mutant's corpus has transferred; others count what was kept or removed."""


def sections(state: State) -> Iterator[Section]:
    """Yield the section, if mutants are fuzzed first."""
    if parts := list(_transfers(state)):
        yield Section("Fuzzing mutants first", parts)


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

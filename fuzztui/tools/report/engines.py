"""What only some campaigns have, as parts of a page: transfers, and sections of features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from fuzztui.kernel.base.page import Code, Folded, Note, Page, Part, Section, Table
from fuzztui.kernel.base.text import brief, listed, several
from fuzztui.kernel.model.feature import features, list_of
from fuzztui.kernel.model.fuzzfirst import brought, first_dict
from fuzztui.kernel.model.progress import PHASES
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.finding_kinds import UNDESCRIBED
from fuzztui.tools.report.plain import plain_page

_TRANSFERS: Final = 40
_TRANSFERRED: Final = ("entries", "edges", *UNDESCRIBED)
"""Names of what a mutant's corpus has transferred; others count what was kept or removed."""


def sections_of_features(state: State) -> Iterator[Section]:
    """Yield the sections that features add; of one that fails, the error."""
    if first := list(_transfers(state)):
        yield Section("Fuzzing mutants first", first)
    for feature in features():
        if feature.report:
            failed = partial(_failed_section, feature.name)
            yield from feature.made(feature.report, _as_sections, failed, state)


def _as_sections(made: Iterable[Section]) -> list[Section]:
    """The sections, if they can be written: what a package makes may be anything."""
    found = list_of(Section, made)
    if wrong := [part for one in found for part in one.parts if not isinstance(part, Part)]:
        raise TypeError(f"{wrong[0]!r:.100} is no part of a page")
    plain_page(Page("", "", found, ""))
    return found


def _failed_section(name: str, error: str) -> list[Section]:
    return [Section(brief(name), [Note(error, is_warning=True)])]


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

"""What comparisons of the target have brought: fold, and rows by place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fuzztui.kernel.model.changes import ChangesBuilder, instance
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.saved import entry_or_new
from fuzztui.kernel.model.state import Entry, State
from fuzztui.kernel.model.stats import count
from fuzztui.kernel.wire.events import ComparisonsReported

MAX_TOKENS: Final = 10_000
"""Learnt tokens that are kept."""
MAX_TEXT: Final = 200
"""Characters of a place, an operand or a token that are kept."""
_MAX_ENTRIES: Final = 1000
"""Entries of one event."""
_MAX_OPERATIONS: Final = 100
"""Operations of one event."""
_MAX_ID: Final = 1 << 31


@dataclass(slots=True)
class ComparisonRow:
    """The comparisons of one place, ``module:line``.

    ``entries``: the entries that were made for it, in the order of the log. ``tokens``: the texts
    that the dictionary got from it.
    """

    place: str
    entries: list[Entry] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)


def comparisons_reported(state: State, e: ComparisonsReported, touched: ChangesBuilder) -> None:
    """Note operands of entries, and learnt tokens. The same may be reported again."""
    instance(state, e.instance, touched)
    for number, made_for in list(e.entries.items())[:_MAX_ENTRIES]:
        match made_for:
            case [str(place), str(operand), *_] if _is_id(number):
                entry = entry_or_new(state, e.instance, int(number))
                operand = operand[:MAX_TEXT]
                state.entries[entry.key] = replace(
                    entry, compared_at=place[:MAX_TEXT], operand=operand
                )
                touched.entries.add(entry.key)
    for token, place in e.tokens.items():
        if len(state.learnt) >= MAX_TOKENS:
            break
        if isinstance(place, str):
            state.learnt.setdefault(token[:MAX_TEXT], place[:MAX_TEXT])
    if trials := [(k, n) for k, n in e.trials.items() if type(n) is int][:_MAX_OPERATIONS]:
        state.trials_by[e.instance] = {k[:MAX_TEXT]: max(0, count(n)) for k, n in trials}
        touched.campaign = True


def _is_id(number: str) -> bool:
    return number.isascii() and number.isdecimal() and len(number) < 11 and int(number) < _MAX_ID


def comparison_rows(state: State) -> list[ComparisonRow]:
    """The places, those with most entries first, then those with most tokens."""
    rows: dict[str, ComparisonRow] = {}
    for entry in made_for_comparisons(state):
        rows.setdefault(entry.compared_at, ComparisonRow(entry.compared_at)).entries.append(entry)
    for token, place in list(state.learnt.items()):
        rows.setdefault(place, ComparisonRow(place)).tokens.append(token)
    return sorted(rows.values(), key=lambda r: (-len(r.entries), -len(r.tokens), r.place))


COMPARE: Final = "compare"
"""The operation that puts operands of comparisons into inputs."""


@dataclass(frozen=True, slots=True)
class OperationYield:
    """What one operation (comparisons, a mutator) has brought.

    ``entries``: the queue entries that it has made, imported ones not counted. ``trials``: the
    trials of inputs that it has made; -1: not reported.
    """

    name: str
    entries: int = 0
    trials: int = -1

    @property
    def rate(self) -> float:
        """Entries in 1,000 trials; -1: unknown."""
        return 1000 * self.entries / self.trials if self.trials > 0 else -1.0


def operation_yields(state: State) -> list[OperationYield]:
    """The operations that made entries or trials, those with most entries first."""
    entries: Counter[str] = Counter()
    for entry in list(state.entries.values()):
        if entry.src and not entry.sync and entry.op:
            entries[entry.op.partition(",")[0]] += 1
    trials: Counter[str] = Counter()
    for done in list(state.trials_by.values()):
        trials.update(done)
    names = {*entries, *trials}
    found = [OperationYield(n, entries[n], trials.get(n, -1)) for n in names]
    return sorted(found, key=lambda y: (-y.entries, y.name))


def totals_of(yields: Iterable[OperationYield]) -> tuple[int, int]:
    """The entries and the reported trials of all operations."""
    yields = list(yields)
    return sum(y.entries for y in yields), sum(max(0, y.trials) for y in yields)


def made_for_comparisons(state: State) -> Iterable[Entry]:
    """The entries that were made for a comparison."""
    return (entry for entry in list(state.entries.values()) if entry.compared_at)


def comparisons_dict(state: State) -> dict[str, Any] | None:
    """The counts for ``status --json``; None if nothing was reported."""
    rows = comparison_rows(state)
    if not rows:
        return None
    return {
        "entries": sum(len(row.entries) for row in rows),
        "places": len(rows),
        "tokens": len(state.learnt),
        "operations": [
            {"name": y.name, "entries": y.entries, "trials": y.trials if y.trials >= 0 else None}
            for y in operation_yields(state)
        ],
    }


def figures(state: State) -> dict[str, Any]:
    """Return the key of ``status --json``."""
    return {"comparisons": comparisons_dict(state)}


FOLDS = (
    EventFold(
        ComparisonsReported,
        comparisons_reported,
        rows=lambda e: [*e.tokens, *e.entries],
    ),
)

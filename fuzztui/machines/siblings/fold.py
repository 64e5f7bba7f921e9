"""The siblings of a campaign: their event, its fold, and a row for each. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from fuzztui.kernel.base.bounds import Count
from fuzztui.kernel.base.text import ago, several
from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.state import State, StatePart
from fuzztui.kernel.wire.events import EntrySaved, Event

MAX_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class SiblingState(Event, kind="sibling_state"):
    """What was exchanged with another fuzzer until now; a later event replaces an earlier one.

    ``instance``: its passive instance. ``files``: inputs in its corpus, without exported ones;
    ``imported``: of these the new ones, also of its crashes if the engine runs them. ``crashes``:
    inputs on which its target failed. ``new_t``: campaign time of its last new input, in seconds;
    -1: none. ``behind``: files wait to be read. ``problem``: why something cannot be read or
    written now; else empty.
    """

    instance: str
    files: Count = 0
    imported: Count = 0
    exported: Count = 0
    crashes: Count = 0
    new_t: float = -1.0
    behind: bool = False
    problem: str = ""


@dataclass(slots=True)
class SiblingRows(StatePart):
    """By the sibling's name: its latest event; how many of its inputs each instance has kept."""

    siblings: dict[str, dict[str, Any]] = field(default_factory=dict)
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)


def sibling_state(state: State, e: SiblingState, touched: ChangesBuilder) -> None:
    """Note the latest figures of a sibling."""
    known = state.part(SiblingRows)
    if e.instance in known.siblings or len(known.siblings) < MAX_ROWS:
        known.siblings[e.instance] = asdict(e)
        known.kept.setdefault(e.instance, {})
        touched.campaign = True


def entry_kept(state: State, e: EntrySaved, touched: ChangesBuilder) -> None:
    """Count an entry that was imported from a sibling, and kept; not again after a resume."""
    kept = state.part(SiblingRows).kept.get(e.sync)
    if kept is not None and e.first < 0:
        kept[e.instance] = kept.get(e.instance, 0) + 1


def sibling_rows(state: State) -> Iterator[tuple[SiblingState, int]]:
    """Yield the latest event of each sibling, and how many of its inputs one instance has kept.

    Of several instances that import them, the one that has kept most.
    """
    known = state.part(SiblingRows)
    for name, row in list(known.siblings.items()):
        yield SiblingState(**row), max(known.kept[name].values(), default=0)


def figures(state: State) -> dict[str, Any]:
    """Return the siblings for ``status --json``; nothing if there are none."""
    rows = [
        {**asdict(row), "kept": kept, "new_t": row.new_t if row.new_t >= 0 else None}
        for row, kept in sibling_rows(state)
    ]
    return {"siblings": rows} if rows else {}


def counts(row: SiblingState, kept: int, now: float) -> str:
    """Return what was exchanged with a sibling until the campaign time ``now``, as text."""
    least = "at least " if row.behind else ""
    last = f"; last new {ago(max(0.0, now - row.new_t))} ago" if row.new_t >= 0 else ""
    return (
        f"{least}{several(row.files, 'input')} there, {row.imported:,} imported, "
        f"{kept:,} of them kept; {row.exported:,} exported; "
        f"{least}{several(row.crashes, 'crash', 'crashes')}{last}"
    )


def rows(state: State, run: object) -> Iterator[tuple[str, str]]:
    """Yield a row of ``fuzztui status`` for each sibling, and one for what is wrong with it."""
    for row, kept in sibling_rows(state):
        yield "sibling", f"{row.instance}: {counts(row, kept, state.t)}"
        if row.problem:
            yield "", row.problem


FOLDS = (
    EventFold(SiblingState, sibling_state, lambda _, e: bool(e.problem)),
    EventFold(EntrySaved, entry_kept),
)

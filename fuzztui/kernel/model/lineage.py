"""From which entries an entry or finding descends, and which descend from an entry."""

from __future__ import annotations

from dataclasses import dataclass

from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.saved import entry_of, identity, parent_of
from fuzztui.kernel.model.state import Children, Entry, Finding, Instance, State
from fuzztui.kernel.wire.events import EntrySaved, FindingSaved


@dataclass(frozen=True, slots=True)
class Ancestor:
    """One ancestor. ``key``: ``"instance/id"``; ``entry``: None if the log does not have it."""

    key: str
    entry: Entry | None


def lineage(state: State, row: Entry | Finding, most: int = 1000) -> list[Ancestor]:
    """The ancestors of an entry or finding, nearest first, back to a seed.

    Follows the first parent at each step; an imported entry (``sync``) continues in the
    peer's queue, to which its ``src`` number refers. Ends at a cycle, after ``most`` steps, or at
    an entry from before the log whose number may have been given to another one since.
    """
    steps: list[Ancestor] = []
    seen = {row.key} if isinstance(row, Entry) else set()
    known: dict[str, dict[str, Entry]] = {}
    while (of := parent_of(row)) is not None and len(steps) < most:
        key = f"{of[0]}/{of[1]}"
        if (peer := state.instances.get(of[0])) and (origin := peer.origins.get(str(of[1]))):
            key = origin
        entry, older = state.entries.get(key), False
        if (written := state.parents.get(identity(row))) is not None:
            entry = _named(state, written, known)
        elif older := _older(row, state.instances.get(of[0])):
            entry = _certain(state, row)
        if entry is None and (written is not None or older):
            break
        key = key if entry is None else entry.key
        if key in seen:
            break
        seen.add(key)
        steps.append(Ancestor(key, entry))
        if entry is None:
            break
        row = entry
    return steps


def descendants(state: State, name: str, t: float = -1.0, seq: int = 0) -> list[Entry | Finding]:
    """The entries and findings that descend from the entry ``name`` (its :func:`identity`).

    Only those that were saved after campaign time ``t``, or at that time after record ``seq``;
    their parents may be older. Each entry once, though parents may form a cycle.
    """
    found: list[Entry | Finding] = []
    waiting, seen = [name], {name}
    while waiting:
        for row in children(state, waiting.pop()):
            if isinstance(row, Entry):
                if (below := identity(row)) in seen:
                    continue
                seen.add(below)
                waiting.append(below)
            if row.t > t or (row.t == t and row.seq > seq):
                found.append(row)
    return found


def children(state: State, name: str) -> list[Entry | Finding]:
    """The entries and findings whose first parent is the entry ``name``, in the log's order."""
    index = state.children
    if index is None or not index.whole:
        index = state.children = Children()  # before the rows are copied: the fold adds later ones
        every: list[Entry | Finding] = [*state.entries.values(), *state.findings.values()]
        for one in every:
            _adopt(state, index, one)
        index.whole = True
    rows = [state.entries.get(k) or state.findings.get(k) for k in [*index.keys.get(name, ())]]
    return [row for row in rows if row is not None]


def _adopt(state: State, index: Children, row: Entry | Finding) -> None:
    """Add a saved row to its parent's children, and to its own those that were saved before it."""
    if not row.saved:
        return
    name = identity(row)
    if early := index.keys.pop(row.key, None):
        index.keys.setdefault(name, {}).update(early)
    parent = state.parents.get(name)
    if parent is None and (of := parent_of(row)) is not None:
        parent, entry, peer = f"{of[0]}/{of[1]}", entry_of(state, *of), state.instances.get(of[0])
        if entry is not None:
            parent = identity(entry)
        elif peer is not None:
            parent = peer.origins.get(str(of[1]), parent)
    if parent and parent != name:
        index.keys.setdefault(parent, {})[row.key] = None


def _saved(state: State, e: EntrySaved | FindingSaved, touched: ChangesBuilder) -> None:
    index, key = state.children, f"{e.instance}/{e.id if isinstance(e, EntrySaved) else e.file}"
    row = state.entries.get(key) if isinstance(e, EntrySaved) else state.findings.get(key)
    if index is not None and row is not None:
        _adopt(state, index, row)


FOLDS = (EventFold(EntrySaved, _saved), EventFold(FindingSaved, _saved))


def _named(state: State, name: str, known: dict[str, dict[str, Entry]]) -> Entry | None:
    """The entry with this :func:`identity`; ``known`` caches identities by instance."""
    instance = name.partition("/")[0]
    if instance not in known:
        of_it = (e for e in state.entries.values() if e.saved and e.instance == instance)
        known[instance] = {identity(e): e for e in of_it}
    return known[instance].get(name)


def _older(row: Entry | Finding, queue: Instance | None) -> bool:
    """Whether ``src`` of the row may refer to numbers in ``queue`` from before the log."""
    if queue is None or not queue.unknown_original_seq:
        return False
    # An entry that kept its number when afl-fuzz renumbered the queue has no ``first``.
    old = isinstance(row, Entry) and (
        row.first >= 0 or (row.id < queue.unknown_original_below and not row.sync)
    )
    return old or row.seq < queue.unknown_original_seq


def _certain(state: State, row: Entry | Finding) -> Entry | None:
    """The entry with the number of the row's first parent, if no earlier entry can have had it.

    Numbers count up: a number above those of all entries from before the log was given since then.
    """
    number = row.src[0]
    instance = state.instances.get(row.instance)  # a damaged log may not name it
    below = 0 if instance is None else instance.unknown_original_below
    if (isinstance(row, Entry) and row.sync) or number < below:
        return None
    return state.entries.get(f"{row.instance}/{number}")

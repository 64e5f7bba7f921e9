"""Who was made of whom, over all the times that an afl-fuzz numbers its queue again.

A resumed afl-fuzz gives other numbers to the same inputs, and the ``src`` of what was found
before continues speaking of the old ones. A file keeps its first name, though
(``id:N,time:0,execs:0,orig:FIRSTNAME``): that is what an input is known by here. Just before
numbers change hands, all that speaks of them is written down in first names.
"""

from __future__ import annotations

from fuzztui.model.state import Entry, Finding, State

__all__ = ["entry_of", "identity", "parent_of", "write_down"]


def identity(row: Entry | Finding) -> str:
    """What a row is known by whatever its number: ``"instance/first name"``."""
    if isinstance(row, Finding):
        return row.key
    name = row.file.removeprefix("queue/")
    return f"{row.instance}/{name.partition(',orig:')[2] or name or row.id}"


def parent_of(row: Entry | Finding) -> tuple[str, int] | None:
    """Instance and number of its first parent, or None. An import's is of the peer's queue."""
    if not row.src:
        return None
    return row.sync or row.instance, row.src[0]


def entry_of(state: State, instance: str, number: int) -> Entry | None:
    """Who has that number in a queue, or had it where the queue got it from."""
    entry = state.entries.get(f"{instance}/{number}")
    peer = state.instances.get(instance)
    if entry is None and peer is not None:
        entry = state.entries.get(peer.origins.get(str(number), ""))
    return entry


def write_down(state: State, instance: str) -> None:
    """The queue of ``instance`` is about to be renumbered: keep what its numbers meant."""
    parents = state.parents
    rows: list[Entry | Finding] = [*state.entries.values(), *state.findings.values()]
    for row in rows:
        of = parent_of(row)
        if row.saved and (row.instance == instance or (of and of[0] == instance)):
            me = identity(row)
            if me not in parents:  # else it was found before the last time
                parent = None if of is None else entry_of(state, *of)
                parents[me] = "" if parent is None or not parent.saved else identity(parent)
    state.cost += len(rows) // _ROWS_A_RECORD


_ROWS_A_RECORD = 10
"""So many rows that are gone through cost about as much as an ordinary record."""

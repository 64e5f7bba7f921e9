"""Parents of entries and findings, also after afl-fuzz has renumbered its queue.

A resumed afl-fuzz gives new ids to the same inputs, while the ``src`` of earlier entries still
contains old ids. A file name keeps the original name (``id:N,time:0,execs:0,orig:FIRSTNAME``),
which is the identity of an input here. Before a renumbering takes effect, the parents of all
affected rows are stored as identities.
"""

from __future__ import annotations

from fuzztui.model.state import Entry, Finding, State


def identity(row: Entry | Finding) -> str:
    """Return the name of a row that renumbering keeps: ``"instance/original file name"``."""
    if isinstance(row, Finding):
        return row.key
    name = row.file.removeprefix("queue/")
    return f"{row.instance}/{name.partition(',orig:')[2] or name or row.id}"


def parent_of(row: Entry | Finding) -> tuple[str, int] | None:
    """Return instance and id of the first parent, or None; for an import, in the peer's queue."""
    if not row.src:
        return None
    return row.sync or row.instance, row.src[0]


def entry_of(state: State, instance: str, number: int) -> Entry | None:
    """Return the entry with this id in a queue, or the origin of the seed with this id; or None."""
    entry = state.entries.get(f"{instance}/{number}")
    peer = state.instances.get(instance)
    if entry is None and peer is not None:
        entry = state.entries.get(peer.origins.get(str(number), ""))
    return entry


def write_down(state: State, instance: str) -> None:
    """Store the parents of all rows that use ids of a queue that is about to be renumbered."""
    parents = state.parents
    rows: list[Entry | Finding] = [*state.entries.values(), *state.findings.values()]
    for row in rows:
        of = parent_of(row)
        if row.saved and (row.instance == instance or (of and of[0] == instance)):
            name = identity(row)
            if name not in parents:  # else stored at an earlier renumbering
                parent = None if of is None else entry_of(state, *of)
                parents[name] = "" if parent is None or not parent.saved else identity(parent)
    state.cost += len(rows) // _ROWS_A_RECORD


_ROWS_A_RECORD = 10
"""Rows whose inspection costs about as much as the fold of an ordinary record."""

"""The latest entries and findings of each mutator or type, from their file names. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import Changes, Entry, Finding, State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.details import listed

MAX_LOOKED_AT = 20_000
"""Number of latest entries that are searched after a seek."""

KEPT = 24
"""Maximal number of entries and findings that are kept for one name."""


class LatestSaved:
    """The latest entries and findings, by the name of the mutator or type that is credited.

    ``named_by`` returns the names of mutators or types in an entry's ``op``.
    """

    def __init__(self, named_by: Callable[[str], Iterable[str]]) -> None:
        self._named_by = named_by
        self._keys: dict[str, deque[str]] = {}

    def note(self, state: State, changes: Changes) -> None:
        """Add the changed entries and findings."""
        if changes.reset:
            self._keys = {}
            latest = islice(reversed(list(state.entries)), MAX_LOOKED_AT)
            keys = [*reversed(list(latest)), *list(state.findings)[-MAX_LOOKED_AT:]]
        else:
            keys = sorted(changes.entries) + sorted(changes.findings)
        for key in keys:
            row = _row(state, key)
            for name in self._named_by(row.op) if row is not None else ():
                known = self._keys.setdefault(name, deque(maxlen=KEPT))
                if key not in known:
                    known.append(key)

    def latest(self, state: State, name: str) -> list[Entry | Finding]:
        """Return the entries and findings credited to ``name``, the latest first."""
        rows = [_row(state, key) for key in self._keys.get(name, ())]
        return sorted((r for r in rows if r is not None), key=lambda r: -r.t)


def _row(state: State, key: str) -> Entry | Finding | None:
    return state.entries.get(key) or state.findings.get(key)


FINDS = 12
"""Maximal number of listed entries and findings."""


def latest_lines(finds: Sequence[Entry | Finding]) -> list[Line]:
    """Return the latest entries and findings with a heading; nothing if there are none."""
    return listed("latest entries and findings", map(_latest, finds), len(finds), FINDS)


def _latest(row: Entry | Finding) -> Line:
    return [
        TextSpan(f"{format.clock(row.t):>8}  ", "muted"),
        TextSpan(plain(row.key, 60), row.category if isinstance(row, Finding) else "corpus"),
        *_covers(row),
    ]


def _covers(row: Entry | Finding) -> list[TextSpan]:
    if isinstance(row, Finding) or row.edges < 0:
        return []
    return [TextSpan(f"  {several(row.edges, 'edge')}", "edge")]

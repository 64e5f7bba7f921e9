"""``.synced/``: whose queues an instance imports from, and how far it got with each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from fuzztui.base.files import read_regular
from fuzztui.wire.events import Synced

__all__ = ["Peers"]

SOON_S = 5.0
"""Between two looks until there is somebody to tell of."""

EVERY_S = 60.0
"""And from then on: an event names all peers, of N instances N x N numbers each time."""

MAX_PEERS = 500


class Peers:
    """The peers of the instance ``name`` in the directory ``path``.

    ``rename`` gives the name that the log knows a peer by.
    """

    def __init__(
        self,
        path: str,
        name: str,
        *,
        rename: Callable[[str], str] = str,
        every: float = EVERY_S,
    ) -> None:
        self._path = f"{path}/.synced"
        self._name = name
        self._rename = rename
        self._every = every
        self._due = 0.0
        self._times: dict[str, int] = {}
        self._told: dict[str, int] = {}

    def look(self, *, last: bool = False) -> Synced | None:
        """News, at once the first time and then once a minute at most; None if there are none."""
        now = time.monotonic()
        if now < self._due and not last:
            return None
        found = dict(self._told)
        for peer in self._peers():
            if (next_id := self._next_id(peer)) is not None:
                found[self._rename(peer)] = next_id
        self._due = now + (self._every if found else SOON_S)
        if found == self._told:
            return None
        self._told = found
        return Synced(self._name, dict(found))

    def _peers(self) -> list[str]:
        try:
            names = os.listdir(self._path)  # noqa: PTH208 - names only
        except OSError:
            return []
        # PEER.last is when it was last synchronised with.
        return sorted(n for n in names if not n.endswith(".last"))[:MAX_PEERS]

    def _next_id(self, peer: str) -> int | None:
        path = f"{self._path}/{peer}"
        try:
            mtime = os.lstat(path).st_mtime_ns
            if self._times.get(peer) == mtime:
                return None
            raw = read_regular(path, 4)
        except (OSError, ValueError):
            return None
        if len(raw) < 4:
            return None  # AFL makes the file and then writes to it
        self._times[peer] = mtime
        return int.from_bytes(raw, "little")

"""``.synced/``: the peers from which an instance imports, and the next id of each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.wire.events import Synced

SOON_S = 5.0
"""Seconds between two reads while there is no peer yet."""

EVERY_S = 60.0
"""Seconds between two reads afterwards: an event names all peers, N x N numbers for N instances."""

MAX_PEERS = 500


class Peers:
    """The peers of the instance ``name`` in the directory ``path``.

    ``rename`` returns the name of a peer in the log.
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
        self._reported: dict[str, int] = {}

    def look(self, *, last: bool = False) -> Synced | None:
        """Return the peers if they have changed, else None; after the first time once a minute."""
        now = time.monotonic()
        if now < self._due and not last:
            return None
        found = dict(self._reported)
        for peer in self._peers():
            if (next_id := self._next_id(peer)) is not None:
                found[self._rename(peer)] = next_id
        self._due = now + (self._every if found else SOON_S)
        if found == self._reported:
            return None
        self._reported = found
        return Synced(self._name, dict(found))

    def _peers(self) -> list[str]:
        try:
            names = os.listdir(self._path)  # noqa: PTH208 - names only
        except OSError:
            return []
        # PEER.last is the time of the last sync with the peer.
        return sorted(n for n in names if not n.endswith(".last"))[:MAX_PEERS]

    def _next_id(self, peer: str) -> int | None:
        raw = read_if_regular(f"{self._path}/{peer}", 4) or b""
        # AFL creates the file first and writes to it later.
        return int.from_bytes(raw, "little") if len(raw) == 4 else None

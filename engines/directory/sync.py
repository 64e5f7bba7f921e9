"""Sync: import entries of peers, by AFL's convention.

Each instance reads the ``queue/`` of its peers, and writes to ``.synced/PEER`` the first id that
was not imported yet, as an unsigned 32-bit integer, little endian. Entries that a peer's
``.unsafe`` names are not imported: they killed a worker there.
"""

from __future__ import annotations

import os
import struct
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import Final

from fuzztui.engines.directory.rescue import UNSAFE, Unsafe
from fuzztui.engines.directory.store import QUEUE, Store, entry_ids
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.kernel.base.files import PLACEHOLDER, read_if_regular

NEAR_MISSES: Final = ".near"
"""The peer, hidden from all but :class:`Sync` with ``only``, whose entries come close to something
new: they cover nothing new here, but did in a mutant of the program."""

_EVERY_S: Final = 5.0
"""Seconds between two readings of the peers' queues."""
_U32: Final = struct.Struct("<I")


class Sync:
    """A stage that proposes entries of peers; they are judged as any other candidate."""

    def __init__(self, sync_dir: Path, store: Store, limit: int, only: str = "") -> None:
        """``limit``: bytes to which larger entries are cut. ``only``: the one peer to read; empty:
        all that are not hidden."""
        self._only = only
        self._sync_dir, self._own, self._limit = sync_dir, store.directory, limit
        self._store = store
        self._due = 0.0
        self._waiting: deque[tuple[str, int, Path]] = deque()
        self._seen_change: dict[str, int] = {}
        self._unsafe_read: dict[str, tuple[tuple[int, int], set[int]]] = {}

    def propose(self) -> Candidate | None:
        """The next new entry of a peer, or None. Reads the peers' queues every 5 s."""
        if not self._waiting:
            now = time.monotonic()
            if now < self._due:
                return None
            self._read_peers()
            self._due = time.monotonic() + _EVERY_S
        while self._waiting:
            peer, number, path = self._waiting.popleft()
            # Read again for each entry: the peer's worker may have died of it a second ago.
            unsafe = number in self._unsafe(peer)
            data = None if unsafe else read_if_regular(path, self._limit)
            if data is not None:
                # Recorded before the run: an entry that kills the worker is not imported twice.
                noted = partial(self._note, peer, number + 1)
                return Candidate(data, "sync", number, peer=peer, begun=noted)
            self._note(peer, number + 1)
        return None

    def _read_peers(self) -> None:
        try:
            every = sorted(os.listdir(self._sync_dir))  # noqa: PTH208
        except OSError:
            return
        for peer in [self._only] if self._only else every:
            folder = self._sync_dir / peer / QUEUE
            if peer != self._only and (peer == self._own.name or peer.startswith(".")):
                continue
            try:
                changed = folder.stat().st_mtime_ns
            except OSError:
                continue
            if self._seen_change.get(peer) == changed:
                continue
            self._seen_change[peer] = changed
            next_id = self._next_id(peer)
            entries = entry_ids(folder)
            for number in sorted(n for n in entries if n >= next_id):
                name = entries[number]
                if f"sync:{self._own.name}," in name or name.endswith(PLACEHOLDER):
                    continue  # the peer has imported this entry from here, or it is none
                self._waiting.append((peer, number, folder / name))

    def _next_id(self, peer: str) -> int:
        try:
            raw = (self._own / ".synced" / peer).read_bytes()
            return int(_U32.unpack(raw[:4])[0])
        except (OSError, struct.error):
            return 0

    def _unsafe(self, peer: str) -> set[int]:
        """The ids in the peer's ``.unsafe``, read again when the file has changed."""
        try:
            found = (self._sync_dir / peer / UNSAFE).stat()
        except OSError:
            return set()
        key = (found.st_mtime_ns, found.st_size)
        if self._unsafe_read.get(peer, ((0, 0), set()))[0] != key:
            self._unsafe_read[peer] = key, Unsafe(self._sync_dir / peer).load()
        return self._unsafe_read[peer][1]

    def _note(self, peer: str, number: int) -> None:
        self._store.write(self._own / ".synced" / peer, _U32.pack(number & 0xFFFFFFFF))

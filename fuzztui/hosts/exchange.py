"""Finds that travel: new queue entries of each host's main instance go to all other hosts.

Only mains: everything else on a host has its finds from there. Only what the main has found
itself: what it has imported is where it came from. An entry whose content a host has is not sent
to it. The hub keeps all of them in its own ``out/HOST_main/queue/``. Seeds that are added at the
hub travel in the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fuzztui.campaign.rundir import RunDir
from fuzztui.hosts.entries import entry_id
from fuzztui.hosts.link import HostLink, LinkLost
from fuzztui.hosts.protocol import MAX_BATCH, to_text
from fuzztui.observe.afl_names import ADDED

GATHER_S = 0.2
"""Seconds for which entries are collected before they are sent together."""

HUB_ADDED = "hub_added"
"""The passive instance of a host that contains the seeds that were added at the hub."""

MAX_FILES = 500
"""Files in one message."""


class Exchange:
    """The entries that are on their way between hosts. ``trouble``: called with a message."""

    def __init__(
        self, run_dir: RunDir, mains: Iterable[str], trouble: Callable[[str], None]
    ) -> None:
        self._run_dir = run_dir
        self._mains = [*mains]
        self._sources = [*self._mains, HUB_ADDED]
        self._added = -1
        """The highest id of the seeds that were passed on."""
        self._trouble = trouble
        self._known: dict[str, set[bytes]] = {main: set() for main in self._mains}
        """By main: hashes of the contents that its host has, as far as this hub knows."""
        self._waiting: dict[str, deque[tuple[str, str]]] = {main: deque() for main in self._mains}
        """By main: instance and file name of the entries that its host has to get."""
        self._woken: dict[str, asyncio.Event] = {main: asyncio.Event() for main in self._mains}
        self.sent_bytes = self.sent_files = 0

    def load(self) -> None:
        """Read the contents that an earlier hub has stored. Blocking."""
        for main in self._mains:
            for name in self._entries(main):
                with contextlib.suppress(OSError):
                    self._known[main].add(_digest(self._path(main, name).read_bytes()))
        self._added = max(map(entry_id, self._entries(HUB_ADDED)), default=-1)

    def found(self, main: str, name: str, data: bytes) -> None:
        """Pass an entry on, which the hub has stored already."""
        self._known[main].add(_digest(data))
        self._pass_on(main, name)

    def added(self) -> None:
        """Pass the seeds on that were added since the last call."""
        for name in sorted(self._entries(HUB_ADDED), key=entry_id):
            if entry_id(name) > self._added:
                self._added = entry_id(name)
                self._pass_on(HUB_ADDED, name)

    def _pass_on(self, source: str, name: str) -> None:
        for main in self._mains:
            if main != source:
                self._waiting[main].append((source, name))
                self._woken[main].set()

    async def serve(self, main: str, link: HostLink) -> None:
        """Send entries to the host of ``main`` until the connection is lost (LinkLost)."""
        others = [other for other in self._sources if other != main]
        have = (await link.ask("have", instances=others)).get("ids")
        highest = have if isinstance(have, dict) else {}
        self._waiting[main] = deque(await asyncio.to_thread(self._missing, others, highest))
        while True:
            while self._waiting[main]:
                rows, digests = await asyncio.to_thread(self._next, main)
                if not rows:
                    continue
                answer = await link.ask("put", files=rows)
                if error := answer.get("error"):
                    self._trouble(f"entries of other hosts cannot be stored: {str(error)[:200]}")
                    raise LinkLost(f"entries of other hosts cannot be stored: {str(error)[:200]}")
                # Not before: what was under way when the connection broke is sent again.
                self._known[main] |= digests
                self.sent_files += len(rows)
            self._woken[main].clear()
            await self._woken[main].wait()
            await asyncio.sleep(GATHER_S)

    def _missing(self, others: Iterable[str], highest: dict[str, Any]) -> list[tuple[str, str]]:
        missing = []
        for other in others:
            last = highest.get(other, -1)
            names = sorted(self._entries(other), key=entry_id)
            missing += [(other, n) for n in names if type(last) is int and entry_id(n) > last]
        return missing

    def _next(self, main: str) -> tuple[list[dict[str, str]], set[bytes]]:
        """Take the entries for one message from those that wait, with their hashes. Blocking."""
        rows: list[dict[str, str]] = []
        digests: set[bytes] = set()
        size, waiting = 0, self._waiting[main]
        while waiting and size < MAX_BATCH and len(rows) < MAX_FILES:
            instance, name = waiting.popleft()
            try:
                data = self._path(instance, name).read_bytes()
            except OSError:
                continue  # deleted
            if (digest := _digest(data)) in self._known[main] or digest in digests:
                continue
            digests.add(digest)
            text = to_text(data)
            rows.append({"instance": instance, "name": name, "data": text})
            size += len(text)
            self.sent_bytes += len(data)
        return rows, digests

    def _queue(self, source: str) -> Path:
        return self._run_dir.instance(ADDED if source == HUB_ADDED else source) / "queue"

    def _entries(self, source: str) -> list[str]:
        with contextlib.suppress(OSError):
            names = os.listdir(self._queue(source))  # noqa: PTH208 - names only
            return [name for name in names if entry_id(name) >= 0]
        return []

    def _path(self, source: str, name: str) -> Path:
        return self._queue(source) / name


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()

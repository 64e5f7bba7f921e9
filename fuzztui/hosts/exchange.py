"""Finds that travel: new queue entries of each host's main instance go to all other hosts.

Only mains: everything else on a host has its finds from there. Only what the main has found
itself: what it has imported is where it came from. An entry whose content a host has is not sent
to it. The hub keeps all of them in its own ``out/HOST_main/queue/``. Entries of other directories
in the hub's ``out/`` travel in the same way: seeds that were added there, and those of a fuzzer
that a user has started with that directory as its sync directory.
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
from fuzztui.engines.directory.sync import PLACEHOLDER
from fuzztui.hosts.entries import entry_id
from fuzztui.hosts.link import HostLink, LinkLost
from fuzztui.hosts.protocol import MAX_BATCH, NAME, to_text

GATHER_S = 0.2
"""Seconds for which entries are collected before they are sent together."""

HUB = "hub_"
"""What the names of passive instances begin with, on a host, whose entries come from the hub's own
directories: ``hub_added`` for ``added``."""

MAX_LOCAL = 100
"""Such directories, at most."""

MAX_FILES = 500
"""Files in one message."""


class HostExchange:
    """The entries that are on their way between hosts. ``trouble``: called with a message."""

    def __init__(
        self, run_dir: RunDir, mains: Iterable[str], trouble: Callable[[str], None]
    ) -> None:
        self._run_dir = run_dir
        self._mains = [*mains]
        self._hosts = tuple(f"{main.removesuffix('main')}" for main in self._mains)
        self._local: dict[str, int] = {}
        """By name on hosts: the highest id that was passed on of each directory of the hub."""
        self._trouble = trouble
        self._ready: list[tuple[str, str]] = []
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
        for source in self._found_here():
            self._local[source] = max(map(entry_id, self._entries(source)), default=-1)

    def found(self, main: str, name: str, data: bytes) -> None:
        """Pass an entry on, which the hub has stored already."""
        self._known[main].add(_digest(data))
        self._pass_on(main, name)

    def look(self) -> None:
        """Pass on what is new in the hub's own directories. Blocking."""
        for source in self._found_here():
            last = self._local.setdefault(source, -1)
            for name in sorted(self._entries(source), key=entry_id):
                if entry_id(name) > last:
                    self._local[source] = entry_id(name)
                    self._ready.append((source, name))

    def pass_on_found(self) -> None:
        """Pass on what :meth:`look` has found; in the event loop."""
        ready, self._ready = self._ready, []
        for source, name in ready:
            self._pass_on(source, name)

    def _found_here(self) -> list[str]:
        """Directories in ``out/`` that are no host's, with a queue, by their name on hosts."""
        try:
            names = sorted(os.listdir(self._run_dir.out))  # noqa: PTH208 - names only
        except OSError:
            return []
        mine = (n for n in names if not n.startswith((".", *self._hosts)))
        found = [n for n in mine if (self._run_dir.instance(n) / "queue").is_dir()]
        return [HUB + n for n in found if NAME.fullmatch(HUB + n)][:MAX_LOCAL]

    def _pass_on(self, source: str, name: str) -> None:
        for main in self._mains:
            if main != source:
                self._waiting[main].append((source, name))
                self._woken[main].set()

    async def serve(self, main: str, link: HostLink) -> None:
        """Send entries to the host of ``main`` until the connection is lost (LinkLost)."""
        others = [other for other in (*self._mains, *self._local) if other != main]
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
        return self._run_dir.instance(source.removeprefix(HUB)) / "queue"

    def _entries(self, source: str) -> list[str]:
        with contextlib.suppress(OSError):
            names = os.listdir(self._queue(source))  # noqa: PTH208 - names only
            # What a fuzzer here has imported, it has from a host; placeholders are empty.
            own = (n for n in names if not (source.startswith(HUB) and ",sync:" in n))
            return [name for name in own if entry_id(name) >= 0 and PLACEHOLDER not in name]
        return []

    def _path(self, source: str, name: str) -> Path:
        return self._queue(source) / name


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()

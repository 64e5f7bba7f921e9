"""Finds that travel: new queue entries of each host's main instance go to all other hosts.

Only main instances take part: a main imports what the other instances of its host have found, and
these import from it. Entries that a main has imported from other hosts are not sent on, nor is an
entry to a host that has its content. The hub keeps all of them in ``out/HOST_main/queue/``.
Entries of other directories in the hub's ``out/`` travel in the same way: seeds that were added
there, and those of a fuzzer that a user has started with that directory as its sync directory.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import time
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.files import PLACEHOLDER, read_if_regular
from fuzztui.kernel.model.passive import HUB
from fuzztui.kernel.wire.afl import id_of
from fuzztui.machines.hosts.link import HostLink, LinkLost, MessageSize
from fuzztui.machines.hosts.protocol import MAX_BATCH, MAX_FILE, NAME, to_text
from fuzztui.run.campaign.rundir import RunDir

GATHER_S = 0.2
"""Seconds for which entries are collected before they are sent together."""

MAX_LOCAL = 100
"""Most directories of the hub's own ``out/`` whose entries are sent to hosts."""

MAX_FILES = 500
"""Most entries in one message."""

REPORT_S: Final = 1.0


class HostExchange:
    """The entries that are on their way between hosts. ``trouble``: called with a message."""

    def __init__(
        self, run_dir: RunDir, mains: Iterable[str], trouble: Callable[[str], None]
    ) -> None:
        self._run_dir = run_dir
        self._mains = [*mains]
        self._hosts = tuple(f"{main.removesuffix('main')}" for main in self._mains)
        self._trouble = trouble
        self._troubled: dict[str, str] = {}
        """By main: why its host cannot store entries, as reported."""
        self._names: dict[str, list[tuple[int, str]]] = {main: [] for main in self._mains}
        """By main, or directory of the hub (by its name on hosts): ids and file names of its
        entries, in order. Kept, as a list of each queue for each host that connects takes long."""
        self._bits = {main: 1 << number for number, main in enumerate(self._mains)}
        self._known: dict[bytes, int] = {}
        """By hash of a content: the hosts that have it, as far as this hub knows; a bit each. A
        set for each host would take 200 times the memory with 200 hosts."""
        self._waiting: dict[str, deque[tuple[str, str]]] = {}
        """By main: instance and file name of the entries that its host has to get. Only of hosts
        that are connected: for others the directories are compared when they are."""
        self._woken: dict[str, asyncio.Event] = {main: asyncio.Event() for main in self._mains}

    def load(self, progress: Callable[[str], None]) -> None:
        """Read the contents that an earlier hub has stored. Blocking.

        ``progress``: called with a text each second.
        """
        rows = [(main, name) for main in self._mains for name in self._entries(main)]
        began = due = time.monotonic()
        for done, (main, name) in enumerate(rows):
            self._add(main, name)
            if (data := self._read(main, name)) is not None:
                self._has(main, _digest(data))
            if (now := time.monotonic()) > due + REPORT_S:
                due, left = now, (now - began) * (len(rows) - done) / (done + 1)
                text = f"reading entries of hosts: {done:,} of {len(rows):,}, {left:.0f} s left"
                progress(text)
        for source in self._found_here():
            for name in self._entries(source):
                self._add(source, name)

    def found(self, main: str, name: str, data: bytes) -> None:
        """Pass on an entry of the host of ``main`` that the hub has stored already."""
        if id_of(name) >= 0:
            self._has(main, _digest(data))
            self._add(main, name)
            self._pass_on(main, name)

    def elsewhere(self, main: str) -> int:
        """The number of entries of all others than ``main``: its host may have imported these."""
        return sum(len(names) for source, names in self._names.items() if source != main)

    def look(self) -> list[tuple[str, str]]:
        """Return what is new in the hub's own directories. Blocking."""
        found: list[tuple[str, str]] = []
        for source in self._found_here():
            names = self._names.get(source)
            last = names[-1][0] if names else -1
            new = [name for name in self._entries(source) if id_of(name) > last]
            found += [(source, name) for name in sorted(new, key=id_of)]
        return found

    def pass_on(self, found: Iterable[tuple[str, str]]) -> None:
        """Pass on what :meth:`look` has found; in the event loop."""
        for source, name in found:
            if self._add(source, name):
                self._pass_on(source, name)

    def _found_here(self) -> list[str]:
        """Names, as on hosts, of the directories in ``out/`` with a queue that are no host's."""
        try:
            names = sorted(os.listdir(self._run_dir.out))  # noqa: PTH208 - names only
        except OSError:
            return []
        mine = (n for n in names if not n.startswith((".", *self._hosts)))
        found = [n for n in mine if (self._run_dir.instance(n) / "queue").is_dir()]
        return [HUB + n for n in found if NAME.fullmatch(HUB + n)][:MAX_LOCAL]

    def _add(self, source: str, name: str) -> bool:
        """Store the name of an entry; return False if it was stored before."""
        names, row = self._names.setdefault(source, []), (id_of(name), name)
        at = bisect_left(names, row)
        if names[at : at + 1] == [row]:
            return False
        names.insert(at, row)
        return True

    def _has(self, main: str, digest: bytes) -> None:
        self._known[digest] = self._known.get(digest, 0) | self._bits[main]

    def _pass_on(self, source: str, name: str) -> None:
        row = (source, name)
        for main, waiting in self._waiting.items():
            if main != source:
                waiting.append(row)
                self._woken[main].set()

    async def serve(self, main: str, link: HostLink) -> None:
        """Send entries to the host of ``main`` until the connection is lost (LinkLost).

        Also raises LinkLost if the host cannot store entries: the next call compares again what
        the host lacks.
        """
        # Before the comparison: what is found during it would be lost otherwise.
        waiting = self._waiting[main] = deque()
        try:
            others = [other for other in self._names if other != main]
            have = (await link.ask("have", instances=others)).get("ids")
            missing = self._missing(others, have if isinstance(have, dict) else {})
            waiting.extendleft(reversed(missing))
            await self._send(main, waiting, link)
        finally:
            if self._waiting.get(main) is waiting:
                del self._waiting[main]

    async def _send(self, main: str, waiting: deque[tuple[str, str]], link: HostLink) -> None:
        size = MessageSize(MAX_BATCH)
        while True:
            while waiting:
                rows, digests = await asyncio.to_thread(self._next, main, waiting, size.bytes)
                if not rows:
                    continue
                answer = await size.timed(link.ask("put", files=rows))
                self._check(main, str(answer.get("error") or ""))
                # Not before: what was under way when the connection broke is sent again.
                for digest in digests:
                    self._has(main, digest)
            self._woken[main].clear()
            await self._woken[main].wait()
            await asyncio.sleep(GATHER_S)

    def _check(self, main: str, error: str) -> None:
        """Raise LinkLost if a host could not store entries; the same reason is reported once."""
        reported = self._troubled.pop(main, "")
        if not error:
            return
        self._troubled[main] = error
        host = main.removesuffix("_main")
        text = f"{host}: entries of other hosts cannot be stored: {error[:200]}"
        if error != reported:
            self._trouble(text)
        raise LinkLost(text)

    def _missing(self, others: Iterable[str], highest: dict[str, Any]) -> list[tuple[str, str]]:
        missing = []
        for other in others:
            if type(last := highest.get(other, -1)) is int:
                names = self._names[other]
                new = names[bisect_right(names, last, key=itemgetter(0)) :]
                missing += [(other, name) for _, name in new]
        return missing

    def _next(
        self, main: str, waiting: deque[tuple[str, str]], limit: int
    ) -> tuple[list[dict[str, str]], set[bytes]]:
        """Take the entries for one message from those that wait, with their hashes. Blocking."""
        rows: list[dict[str, str]] = []
        digests: set[bytes] = set()
        size, bit = 0, self._bits[main]
        while waiting and size < limit and len(rows) < MAX_FILES:
            instance, name = waiting.popleft()
            if not (data := self._read(instance, name)):
                continue  # deleted, or too large
            if self._known.get(digest := _digest(data), 0) & bit or digest in digests:
                continue
            digests.add(digest)
            text = to_text(data)
            rows.append({"instance": instance, "name": name, "data": text})
            size += len(text)
        return rows, digests

    def _queue(self, source: str) -> Path:
        return self._run_dir.instance(source.removeprefix(HUB)) / "queue"

    def _entries(self, source: str) -> list[str]:
        with contextlib.suppress(OSError):
            names = os.listdir(self._queue(source))  # noqa: PTH208 - names only
            # Imports of a fuzzer here came from a host; placeholders are empty.
            own = (n for n in names if not (source.startswith(HUB) and ",sync:" in n))
            return [name for name in own if id_of(name) >= 0 and PLACEHOLDER not in name]
        return []

    def _read(self, source: str, name: str) -> bytes | None:
        data = read_if_regular(self._queue(source) / name, MAX_FILE + 1)
        return data if data is not None and len(data) <= MAX_FILE else None


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()

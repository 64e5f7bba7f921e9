"""One sibling: what it has written becomes entries of a passive instance, ours become its files.

The passive instance has the sibling's name, and engines import from it as from any peer: they
decide what they keep. A content that has gone one way never goes back. Files of the other fuzzer
are untrusted: only regular files of 1 byte to 1 MiB are read, no links. Blocking.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.base.publish import publish_new
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.wire.events import FindingSaved
from fuzztui.kernel.wire.finding_kinds import CRASH, CRASHES
from fuzztui.machines.sync.names import digest
from fuzztui.machines.sync.peers import MAX_BYTES
from fuzztui.machines.sync.queues import QueueWriter, imported_until
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.observe.passive import make_passive
from fuzztui.run.observe.queues import Found, QueueReader
from fuzztui.run.observe.scan import GRAIN_S
from fuzztui.tools.export.corpus import FORMATS, name_of

AT_ONCE: Final = 1000
"""New contents of one directory that a pass takes or writes; the others follow in the next passes.
"""

PASS_S: Final = 1.0
"""Seconds in which a pass goes on over known contents, all of which come again after a resume."""

MOST: Final = {"corpus": 200_000, "crashes": 2000}
"""Contents that are taken: each costs memory here and in the engines, each crash is run again.
An engine that runs the crashes itself has both in one queue, so that both have the sum."""

_SLOW: Final = "slow-unit-"
"""What libFuzzer calls inputs that do not fail, but take long."""

_MAX_JOURNAL: Final = 64 << 20


class SiblingExchange:
    """The exchange of a run with one sibling. Raises OSError if its files cannot be made.

    :param sibling: its table of the campaign.
    :param importer: the instance whose entries are exported.
    :param has_triage: whether the supervisor runs findings again (AFL++). If not, the engine runs
        the sibling's crashes itself, when it imports them.
    """

    def __init__(
        self, run: RunDir, sibling: dict[str, Any], importer: str, *, has_triage: bool
    ) -> None:
        self._table, self._name = sibling, str(sibling["name"])
        self._importer = run.instance(importer)
        directory = run.instance(self._name)
        self._journal = directory / ".exported"
        directory.mkdir(mode=0o700, exist_ok=True)
        if any(directory.iterdir()) and not self._journal.exists():
            text = "is no sibling's directory; give the sibling in [[siblings]] another name"
            raise FileExistsError(errno.EEXIST, text, str(directory))
        self._journal.touch(mode=0o600)
        make_passive(directory, sibling["corpus"])
        self._queue = QueueWriter(directory)
        self._saved = QueueWriter(directory, CRASHES) if has_triage else self._queue
        self._queue.fill(imported_until(run.out, self._name))
        lines = (read_if_regular(self._journal, _MAX_JOURNAL) or b"").decode("ascii", "replace")
        self._own = set(lines.split())
        """Hashes of the importer's entries that are in the sibling's corpus."""
        self._exported = len(self._own)
        self._waiting: deque[str] = deque()
        self._queues = {"corpus": self._queue, "crashes": self._saved}
        self._most = MOST if has_triage else dict.fromkeys(MOST, sum(MOST.values()))
        self._readers: dict[str, QueueReader] = {}
        self._real: dict[str, Path] = {}
        """The directories that they read; a link may lead to another one later."""
        self._there: dict[str, set[str]] = {key: set() for key in self._queues}
        """Names of inputs that are in its corpus (without exported ones), and in its crashes."""
        self._settled: dict[str, int] = {}
        """When the directories were changed last before names that are gone were forgotten."""

    @property
    def figures(self) -> dict[str, Any]:
        """The counts of its :class:`~fuzztui.machines.siblings.fold.SiblingState`."""
        files, crashes = map(len, self._there.values())
        behind = any(map(self._is_behind, MOST))
        known = {"imported": len(self._queue.sums), "exported": self._exported}
        return {"files": files, "crashes": crashes, "behind": behind, **known}

    @property
    def taken(self) -> int:
        """How many of its inputs are in the queues of the passive instance."""
        return sum(len(queue.sums) for queue in {*self._queues.values()})

    @property
    def findings(self) -> list[FindingSaved]:
        """Its crashes that the supervisor runs again."""
        saved = () if self._saved is self._queue else self._saved.files.values()
        kind = CRASH.category
        return [FindingSaved(self._name, kind, f"{CRASHES}/{f.name}", f.id) for f in saved]

    def entry(self, file: str) -> None:
        """Note a new entry of the importer: ``file`` relative to its directory."""
        if self._table["export"]:
            self._waiting.append(file)

    def go(self) -> str:
        """Export and import once. Returns what is wrong now; an empty string if nothing is."""
        unwritten = ""
        try:
            if Path(self._table["corpus"]).is_dir():
                self._export()
        except OSError as e:
            unwritten = (
                f"{e.filename or self._name}: {e.strerror or e}; nothing is exported until it can "
                "be written, imports go on (export = false: only import)"
            )
        try:
            self._import()
        except OSError as e:
            self._readers.clear()  # from the start: what was read may not be written
            return visible(f"{e.filename or self._name}: {e.strerror or e}; tried again")
        return visible(next(filter(None, map(self._problem, MOST)), unwritten))

    def _problem(self, key: str) -> str:
        """Why not all is read in one of its directories."""
        path = self._table[key]
        if path and not Path(path).is_dir():
            return f"{path}: there is no such directory now; waiting for it"
        if self._room(key) <= 0:
            return f"{path}: the limit of {self._most[key]:,} inputs is reached; no more are taken"
        return self._readers[key].problem if key in self._readers else ""

    def _is_behind(self, key: str) -> bool:
        """Whether there may be more in one of its directories than was read."""
        if reader := self._readers.get(key):
            return reader.behind or self._room(key) <= 0
        return bool(self._table[key]) and Path(self._table[key]).is_dir()

    def _room(self, key: str) -> int:
        """How many inputs may still be taken."""
        return self._most[key] - len(self._queues[key].sums)

    def _export(self) -> None:
        """Write new entries into its corpus. Raises OSError."""
        enough, until = self._exported + AT_ONCE, time.monotonic() + PASS_S
        while self._waiting and self._exported < enough and time.monotonic() < until:
            data = read_if_regular(self._importer / self._waiting[0], MAX_BYTES + 1)
            content = digest(data or b"")
            if data and len(data) <= MAX_BYTES and content not in self._own:
                file = Path(self._table["corpus"]) / name_of(data, FORMATS[0])
                if not (self._queue.has(content) or os.path.lexists(file)):
                    self._exported += publish_new(file, data, partial(self._note, content))
                self._own.add(content)
            self._waiting.popleft()

    def _note(self, content: str) -> None:
        """Note that a content may be in its corpus, before it is: it never comes back."""
        with self._journal.open("a") as journal:
            journal.write(f"{content}\n")

    def _import(self) -> None:
        """Read what is new in its directories. Raises OSError."""
        for key, queue in self._queues.items():
            there, room = self._there[key], self._room(key)
            for found in self._new(key) if room > 0 else ():
                content = digest(found.data)
                if content in self._own if key == "corpus" else found.name.startswith(_SLOW):
                    continue
                there.add(found.name)
                if not queue.has(content):
                    queue.put(found.data, content, op=found.name)
                    room -= 1
                if not room:
                    break
            queue.flush()
            self._forget(key)

    def _forget(self, key: str) -> None:
        """Forget names that are no longer in one of its directories."""
        path, there = self._table[key], self._there[key]
        with contextlib.suppress(OSError):  # the reader says what is wrong
            changed = Path(path).stat().st_mtime_ns
            if there and changed != self._settled.get(key):
                there &= {*os.listdir(path)}  # noqa: PTH208 - names only
                self._settled[key] = changed if time.time() - changed / 1e9 > GRAIN_S else -1

    def _new(self, key: str) -> Iterator[Found]:
        """Yield what is new in one of its directories, which may come late, or be a link to one."""
        path = Path(self._table[key])
        if not self._table[key] or not path.is_dir():
            self._readers.pop(key, None)
            self._there[key].clear()
            return
        if (real := path.resolve()) != self._real.get(key) or key not in self._readers:
            self._readers[key], self._real[key] = QueueReader(real, MAX_BYTES), real
        reader, queue, until = self._readers[key], self._queues[key], time.monotonic() + PASS_S
        before = queue.next_id
        yield from reader.entries(AT_ONCE)
        while reader.behind and queue.next_id == before and time.monotonic() < until:
            yield from reader.entries(AT_ONCE)

"""One sibling: what it has written becomes entries of a passive instance, ours become its files.

The passive instance has the sibling's name, and engines import from it as from any peer: they
decide what they keep. A content that has gone one way never goes back. Files of the other fuzzer
are untrusted: only regular files of 1 byte to 1 MiB are read, no links. Blocking.
"""

from __future__ import annotations

import errno
import os
import time
from collections import deque
from collections.abc import Iterator
from functools import partial
from itertools import islice
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
        most = MOST if has_triage else dict.fromkeys(MOST, sum(MOST.values()))
        queues = {"corpus": self._queue, "crashes": self._saved}
        self._directories = {k: _Directory(sibling[k], queues[k], most[k]) for k in queues}
        self._reported = 0
        """How many crashes :meth:`new_findings` has returned."""

    @property
    def figures(self) -> dict[str, Any]:
        """The counts of its :class:`~fuzztui.machines.siblings.fold.SiblingState`."""
        counts = {"imported": len(self._queue.sums), "exported": self._exported}
        files, crashes = (len(one.there) for one in self._directories.values())
        counts["behind"] = any(one.behind for one in self._directories.values())
        return {"files": files, "crashes": crashes, **counts}

    @property
    def taken(self) -> int:
        """How many of its inputs are in the queues of the passive instance."""
        return sum(len(queue.sums) for queue in {self._queue, self._saved})

    def new_findings(self) -> list[FindingSaved]:
        """Return its crashes that the supervisor runs again, each once; after a start, all."""
        files = {} if self._saved is self._queue else self._saved.files
        new = list(islice(files.values(), self._reported, None))
        self._reported += len(new)
        kind = CRASH.category
        return [FindingSaved(self._name, kind, f"{CRASHES}/{f.name}", f.id) for f in new]

    def entry(self, file: str) -> None:
        """Note a new entry of the importer: ``file`` relative to its directory."""
        if self._table["export"]:
            self._waiting.append(file)

    def go(self) -> str:
        """Export and import once. Returns what is wrong now; an empty string if nothing is."""
        unwritten = ""
        try:
            if _is_directory(self._table["corpus"]):
                self._export()
        except OSError as e:
            unwritten = (
                f"{e.filename or self._name}: {e.strerror or e}; nothing is exported until it can "
                "be written, imports go on (export = false: only import)"
            )
        try:
            self._import()
        except OSError as e:
            for one in self._directories.values():  # what was read may not be written
                one.reader = None
            return visible(f"{e.filename or self._name}: {e.strerror or e}; tried again")
        problems = (one.problem for one in self._directories.values())
        return visible(next(filter(None, problems), unwritten))

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
        for key, one in self._directories.items():
            room = one.room
            for found in one.new() if room > 0 else ():
                content = digest(found.data)
                if content in self._own if key == "corpus" else found.name.startswith(_SLOW):
                    continue
                one.there.add(found.name)
                if not one.queue.has(content):
                    one.queue.put(found.data, content, op=found.name)
                    room -= 1
                if not room:
                    break
            one.queue.flush()


def _is_directory(path: str) -> bool:
    """Whether it is a directory now, or a link to one; not if its parent cannot be read."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises PermissionError before 3.14


class _Directory:
    """One directory of the sibling, and the queue into which at most ``most`` inputs go.

    ``path``: it may come late, or be a link to one; an empty string: there is none.
    """

    def __init__(self, path: str, queue: QueueWriter, most: int) -> None:
        self._path, self.queue, self._most = path, queue, most
        self.there: set[str] = set()
        """Names of inputs that are in it, without exported ones."""
        self.reader: QueueReader | None = None
        self._real = Path()
        """What the reader reads; a link may lead to another directory later."""

    @property
    def room(self) -> int:
        """How many inputs may still be taken."""
        return self._most - len(self.queue.sums)

    @property
    def behind(self) -> bool:
        """Whether there may be more in it than was read."""
        if self.reader:
            return self.reader.behind or self.room <= 0
        return bool(self._path) and _is_directory(self._path)

    @property
    def problem(self) -> str:
        """Why not all in it is read."""
        if self._path and not _is_directory(self._path):
            is_there = os.path.exists(self._path)  # noqa: PTH110 - as in _is_directory
            what = "this is no" if is_there else "there is no such"
            return f"{self._path}: {what} directory now; waiting for it"
        if self.room <= 0:
            return f"{self._path}: the limit of {self._most:,} inputs is reached; no more are taken"
        return self.reader.problem if self.reader else ""

    def new(self) -> Iterator[Found]:
        """Yield what is new in it."""
        path = Path(self._path)
        if not self._path or not _is_directory(self._path):
            self.reader = None
            self.there.clear()
            return
        if (real := path.resolve()) != self._real or not self.reader:
            self.there.clear()
            self.reader, self._real = QueueReader(real, MAX_BYTES, self.there.discard), real
        reader, before, until = self.reader, self.queue.next_id, time.monotonic() + PASS_S
        yield from reader.entries(AT_ONCE)
        while reader.behind and self.queue.next_id == before and time.monotonic() < until:
            yield from reader.entries(AT_ONCE)

"""One pass: push what this run has found, pull what others have, into passive instances."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from fuzztui.engines.directory.rescue import Unsafe
from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.base.text import brief
from fuzztui.kernel.model.passive import ADDED, HUB, OURS, is_passive
from fuzztui.kernel.model.state import Entry, Finding, State
from fuzztui.kernel.wire.finding_kinds import CRASHES
from fuzztui.machines.sync.names import MAIN, digest
from fuzztui.machines.sync.peers import ABOUT, MAX_BYTES, About, PeerReader, peers_in, read_about
from fuzztui.machines.sync.queues import QueueWriter, imported_until
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.observe.passive import make_passive, source_of

LOCK: Final = "sync.lock"

MAX_MAIN: Final = 50
"""Characters of an instance's name in the names of shared files."""

BUSY_S: Final = 900.0
"""Seconds since the last write of another machine within which a directory belongs to it."""

_OTHER_NAMES: Final = 20


class SyncError(Exception):
    """A message for the user. ``usage``: another option or argument helps."""

    def __init__(self, text: str, *, usage: bool = False) -> None:
        super().__init__(text)
        self.usage = usage


@dataclass(slots=True)
class PassResult:
    """What one pass has done."""

    pushed: int = 0
    crashes: int = 0
    unsafe: int = 0
    """Entries of this run that were marked as unsafe."""
    pulled: dict[str, int] = field(default_factory=dict)
    """New entries by peer; peers without any are left out."""
    peers: int = 0
    skipped: dict[str, dict[str, int]] = field(default_factory=dict)
    """By peer: files that were not taken, by reason."""
    others: dict[str, str] = field(default_factory=dict)
    """Peers that are not imported at all, and why."""
    at_least: bool = False
    """Whether the run's log is damaged, so that entries may be missing from it."""


Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many are done, and how many there are."""


@contextmanager
def only_one(run: RunDir) -> Iterator[None]:
    """Hold the lock of this run's syncs. Raises :class:`SyncError` if another one does."""
    file = run.supervisor / LOCK
    with _locked(file, f"{run.path}: another 'fuzztui sync' of this run is running; end it first"):
        yield


@contextmanager
def _locked(file: Path, busy: str) -> Iterator[None]:
    fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SyncError(busy, usage=True) from None
        except OSError:  # some network file systems have no locks
            pass
        yield
    finally:
        os.close(fd)


class DirectoryExchange:
    """The exchange of one run with one directory; :meth:`sync` once for each pass.

    ``name``: of this run in the directory, without ``_main``.
    """

    def __init__(
        self, run: RunDir, directory: Path, name: str, about: About, progress: Progress
    ) -> None:
        self._run, self._directory, self._tag = run, directory, about.run
        self.name = name + MAIN
        self.mine = directory / self.name
        self._about = about
        self._progress = progress
        self._readers: dict[str, PeerReader] = {}
        self._hashed: dict[str, tuple[tuple[int, int], str]] = {}
        """By path of a file of this run: its size and time, and its hash."""
        self._queues: dict[str, QueueWriter] = {}

    def sync(self, state: State, *, pull: bool = True) -> PassResult:
        """Push and pull once. ``pull``: False to push only. Raises SyncError, OSError."""
        if not self._directory.is_dir():
            raise SyncError(
                f"{self._directory}: there is no such directory now (deleted, or not mounted)"
            )
        result = PassResult()
        with ExitStack() as held:
            self._take_mine(held)
            crashes = QueueWriter(self.mine, CRASHES)
            queue = QueueWriter(self.mine)
            queue.fill(imported_until(self._directory, self.name))
            self._push_entries(state, queue, result)
            self._push_crashes(state, crashes, result)
            if pull:
                self._pull(state, result)
        return result

    def _take_mine(self, held: ExitStack) -> None:
        """Lock this run's directory, unless it belongs to another machine."""
        before = read_about(self.mine)
        if before is not None and before.run != self._tag and before.host != self._about.host:
            age = time.time() - (self.mine / ABOUT).stat().st_mtime
            if abs(age) < BUSY_S:
                raise SyncError(
                    f"{self.mine}: belongs to a run on {brief(before.host, 80)}, which wrote to it "
                    f"{abs(age):.0f} s ago; give this run another --name",
                    usage=True,
                )
        QueueWriter(self.mine)
        busy = f"{self.mine}: another run with this name is written to it; give another --name"
        held.enter_context(_locked(self.mine / ".lock", busy))
        if before == self._about:
            os.utime(self.mine / ABOUT)
        else:
            QueueWriter(self.mine).write(ABOUT, (json.dumps(asdict(self._about)) + "\n").encode())

    # ------------------------------------------------------------------ push

    def _push_entries(self, state: State, queue: QueueWriter, result: PassResult) -> None:
        mains = mains_of(state)
        # What came from here, or from the main of another host, is in the directory already.
        outside = {i.id for i in state.instances.values() if i.passive} | self._marked()
        outside |= {f"{HUB}{name}" for name in outside} | set(mains)
        own = [e for e in list(state.entries.values()) if e.saved and e.sync not in outside]
        there = self._sums_there()
        for main in mains:
            self._push_from(main, [e for e in own if e.instance == main], there, queue, result)

    def _push_from(
        self,
        main: str,
        rows: list[Entry],
        there: set[str],
        queue: QueueWriter,
        result: PassResult,
    ) -> None:
        """Push entries of one instance. ``there``: the hashes of what is in the directory."""
        directory = self._run.instance(main)
        dangerous = Unsafe(directory).load()
        rows.sort(key=lambda row: row.id)
        origin = {row.id: self._origin(main, row) for row in rows}
        known = [n for i in dangerous if (n := queue.origins.get(origin.get(i, ""))) is not None]
        result.unsafe += queue.mark_unsafe(known)
        new = [row for row in rows if origin[row.id] not in queue.origins]
        for done, row in enumerate(new):
            self._progress("pushing entries", done, len(new))
            data = read_if_regular(self._run.input(main, row.file), MAX_BYTES + 1)
            if not data or len(data) > MAX_BYTES:
                continue
            content = digest(data)
            if row.id in dangerous:  # before the entry, so that no instance imports it first
                result.unsafe += queue.mark_unsafe([queue.next_id])
            elif content in there:
                continue
            queue.put(data, content, origin[row.id], row.op)
            there.add(content)
            result.pushed += 1
        queue.flush()

    def _origin(self, main: str, row: Entry) -> str:
        number = row.id if row.first < 0 else row.first
        instance = "" if main == "main" else f"{main[:MAX_MAIN]}-"
        return f"{self._tag}-{instance}{number:06d}"

    def _sums_there(self) -> set[str]:
        """The hashes of what is, or was, in the directory, by the names that runs give."""
        found: set[str] = set()
        for peer in peers_in(self._directory):
            found |= self._reader(peer).sums()
        return found

    def _reader(self, peer: str) -> PeerReader:
        return self._readers.setdefault(peer, PeerReader(self._directory / peer))

    def _push_crashes(self, state: State, crashes: QueueWriter, result: PassResult) -> None:
        rows = [
            row
            for row in list(state.findings.values())
            if row.saved and row.file.partition("/")[0] == CRASHES and self._is_own(state, row)
        ]
        known = set(crashes.sums)
        for done, row in enumerate(rows):
            path = self._run.input(row.instance, row.file)
            if (content := self._hash_of(path)) is None or content in known:
                continue
            known.add(content)
            self._progress("pushing crashes", done, len(rows))
            data = read_if_regular(path, MAX_BYTES)
            if data is not None and digest(data) == content:
                title = f"{row.instance},{row.op}"
                crashes.put(data, content, op=title)
                result.crashes += 1
        crashes.flush()

    @staticmethod
    def _is_own(state: State, row: Finding) -> bool:
        instance = state.instances.get(row.instance)
        return instance is None or not (instance.mutant or instance.passive)

    def _hash_of(self, path: Path) -> str | None:
        """The hash of a file of this run; None if it is missing, empty or too large."""
        try:
            found = path.lstat()
        except OSError:
            return None
        key = (found.st_size, found.st_mtime_ns)
        before = self._hashed.get(str(path))
        if before is not None and before[0] == key:
            return before[1]
        data = read_if_regular(path, MAX_BYTES + 1)
        if not data or len(data) > MAX_BYTES:
            return None
        self._hashed[str(path)] = key, digest(data)
        return self._hashed[str(path)][1]

    # ------------------------------------------------------------------ pull

    def _pull(self, state: State, result: PassResult) -> None:
        peers = peers_in(self._directory)
        known = self._known(state)
        for peer in peers:  # other peers with such an entry may not know yet that it kills workers
            known |= {name.sum for name in self._reader(peer).unsafe() if name.sum}
        result.peers = len(peers) - 1
        for number, peer in enumerate(peers):
            self._progress("pulling from peers", number, len(peers))
            about = read_about(self._directory / peer)
            if about is not None and (why := self._about.differs(about)):
                result.others[peer] = why
                continue
            reader = self._reader(peer)
            pulled = self._pull_from(peer, reader, known, state)
            if pulled:
                result.pulled[peer] = pulled
            if reader.skipped:
                result.skipped[peer] = dict(reader.skipped)

    def _pull_from(self, peer: str, reader: PeerReader, known: set[str], state: State) -> int:
        number = 0
        for data, content in reader.entries(known, self._tag):
            self._queue_of(peer, state).put(data, content)
            known.add(content)
            number += 1
        if number:
            self._queue_of(peer, state).flush()
        unsafe = {name.sum for name in reader.unsafe()}
        for local in self._marked() if unsafe else ():
            queue = QueueWriter(self._run.instance(local))
            queue.mark_unsafe(n for content, n in queue.sums.items() if content in unsafe)
        return number

    def _known(self, state: State) -> set[str]:
        """The hashes of what this run has: its main instances' entries, and the pulled ones."""
        known: set[str] = set()
        for main in mains_of(state):
            known |= self._sums_of(self._run.instance(main) / "queue")
        for passive in self._marked():
            known |= PeerReader(self._run.instance(passive)).sums()
        return known

    def _sums_of(self, queue: Path) -> set[str]:
        known: set[str] = set()
        try:
            names = os.listdir(queue)  # noqa: PTH208 - names only
        except OSError:
            names = []
        for done, name in enumerate(names):
            self._progress("reading this run's queue", done, len(names))
            if not name.startswith(".") and (content := self._hash_of(queue / name)) is not None:
                known.add(content)
        return known

    def _marked(self) -> set[str]:
        """The passive instances on the disk."""
        out = self._run.out
        return {name for name in peers_in(out) if source_of(str(out / name)) is not None}

    def _queue_of(self, peer: str, state: State) -> QueueWriter:
        """The passive instance for a peer, made if there is none."""
        if (found := self._queues.get(peer)) is not None and found.directory.is_dir():
            return found
        source = f"{self._directory}/{peer}"
        own = {i.id for i in state.instances.values() if not is_passive(i)} | OURS | {ADDED}
        for number in range(1, _OTHER_NAMES):
            local = peer if number == 1 else f"{peer}-{number}"
            directory = self._run.instance(local)
            if local in own:
                continue
            if os.path.lexists(directory) and source_of(str(directory)) != source:
                continue  # it is of another shared directory, a hub or a fuzzer
            make_passive(directory, source)
            queue = QueueWriter(directory)
            queue.fill(imported_until(self._run.out, local))
            self._queues[peer] = queue
            return queue
        raise SyncError(f"{self._run.out / peer}: is not a passive instance of {source}")

    # ------------------------------------------------------------------ prune

    def drop(self, sums: set[str]) -> int:
        """Empty the files of this run with these hashes; their names stay. Raises OSError."""
        queue = QueueWriter(self.mine)
        numbers = [n for content, n in queue.sums.items() if content in sums]
        for number in numbers:
            queue.empty(number)
        return len(numbers)


def mains_of(state: State) -> list[str]:
    """The instances whose entries are pushed: they import what the others have found.

    Of a campaign on several machines, the main instance of each host.
    """
    own = [i.id for i in state.instances.values() if not (i.mutant or is_passive(i))]
    return [name for name in own if name == "main" or name.endswith(MAIN)] or own[:1] or ["main"]

"""Report new files in one instance's ``queue/``, ``crashes/`` and ``hangs/`` as events.

A resumed AFL replaces these directories. ``queue/`` then contains the same inputs with other
numbers, and is reported again. ``crashes/`` becomes ``crashes.DATE/``, whose files are not reported
again; files in the new ``crashes/`` are new, even if an old AFL reuses an earlier name.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from fuzztui.kernel.wire.events import EntrySaved, FindingSaved, Message
from fuzztui.kernel.wire.finding_kinds import CRASHES, FOLDERS, UNDESCRIBED
from fuzztui.run.observe.afl_names import parse_name
from fuzztui.run.observe.scan import SHARE, Known, Listing, NewFile

CHECK_S = 0.5
"""Seconds between two checks whether the directories are still the same ones. While a directory is
missing, each pass checks: a fuzzer that starts may find something in its first second."""

FOLDERS_S = 30.0
"""Seconds between two searches for ``crashes.DATE/``; fewer after a resume."""

MAX_FOLDERS = 500

_OLD = re.compile(r"(crashes|hangs)\..+", re.DOTALL)


class Watching(Protocol):
    """The part of :class:`~fuzztui.run.observe.inotify.Watcher` that is used here."""

    def add(self, directory: str) -> str:
        """Watch a directory. Returns why that fails; an empty string if it works."""

    def remove(self, directory: str) -> None:
        """Stop watching a directory."""


class SavedInputs:
    """The saved inputs of instance ``name`` in the directory ``path``.

    :param logged: files of findings that are already in the log (``crashes/NAME``).
    :param queue: names in ``queue/`` that are already in the log.
    :param lowest: the lowest id of the logged entries: files without an id in their name get
        ids below it.
    """

    def __init__(
        self,
        path: str,
        name: str,
        watcher: Watching,
        *,
        logged: Iterable[str] = (),
        queue: Known | None = None,
        lowest: int = 0,
        share: float = SHARE,
    ) -> None:
        self._path = path
        self._name = name
        self._watcher = watcher
        self._logged = set(logged)
        self._moved: dict[str, Counter[str]] = {folder: Counter() for folder in FOLDERS}
        self._counts: Counter[str] = Counter()
        for file in self._logged:
            directory, _, name_in_it = file.partition("/")
            self._moved[_base(directory)][name_in_it.rpartition("/")[2]] += 1
            self._counts[_base(directory)] += 1
        self._lowest = lowest
        self._share = share
        names: Known = set() if queue is None else queue
        self._listings = {"queue": Listing(f"{path}/queue", names, share=share)}
        for folder in FOLDERS:
            self._begin(folder)
        self._lost: dict[tuple[int, int] | None, Known] = {}
        """Reported names in directories that were just renamed or removed, by device and inode."""
        self._check_due = 0.0
        self._folders_due = 0.0
        self._unsettled = 0.0
        self._problems: dict[str, str] = {}
        self._had_queue = False
        self.renewed = False
        """Whether ``queue/`` was replaced since the caller last set this to False."""
        self.unwatched = ""
        """Why a directory can only be polled; an empty string if inotify works."""

    def look(
        self, limit: int, *, last: bool = False, entries: bool = True
    ) -> list[EntrySaved | FindingSaved | Message]:
        """Return what is new, at most ``limit`` files of each directory.

        ``last``: the engine has ended, so everything is reported. ``entries`` False: without
        ``queue/``.
        """
        now = time.monotonic()
        listings = self._listings.values()
        unknown = any(listing.identity is None or listing.replaced for listing in listings)
        if last or unknown or now >= self._check_due:
            self._check_due = now + CHECK_S
            self.check()
        events: list[EntrySaved | FindingSaved | Message] = []
        for directory, listing in self._listings.items():
            if directory == "queue" and not entries:
                continue
            for new in listing.look(limit, last=last):
                events += self._event(directory, new)
            if listing.problem != self._problems.get(directory, ""):
                self._problems[directory] = listing.problem
                if listing.problem:
                    events.append(Message("warning", listing.problem, self._name))
        return events

    def file_completed(self, directory: str, file: str) -> list[EntrySaved | FindingSaved]:
        """Return the events of a file that inotify reports complete.

        ``file`` empty: the directory was renamed or removed.
        """
        listing = self._listings.get(directory)
        if listing is None:
            return []
        if not file:
            self._check_due = 0.0
            listing.invalidate()
            return []
        new = listing.file_completed(file)
        return self._event(directory, new) if new else []

    def know_queue(self, mtime_ns: int) -> None:
        """Note that ``queue/`` is known as it was at this mtime: it need not be listed."""
        self._listings["queue"].settle(mtime_ns)

    def rescan(self) -> None:
        """List all directories again, because inotify may have missed files."""
        for listing in self._listings.values():
            listing.rescan()

    def forget(self) -> None:
        """Stop watching all directories."""
        for listing in self._listings.values():
            self._watcher.remove(listing.path)

    @property
    def behind(self) -> bool:
        """Whether the last :meth:`look` left listed files unreported."""
        return any(listing.behind for listing in self._listings.values())

    @property
    def problems(self) -> list[str]:
        """Why directories cannot be listed, as messages."""
        return [listing.problem for listing in self._listings.values() if listing.problem]

    @property
    def unsettled(self) -> bool:
        """Whether directories are just being replaced, so that the caller must look again soon."""
        return time.monotonic() < self._unsettled

    def count(self, folder: str) -> int:
        """Return the number of files in ``crashes`` or ``hangs``, including earlier starts."""
        return self._counts[folder]

    # ---------------------------------------------------------------- directories

    def check(self) -> None:
        """Find directories that were created, replaced or removed; watch the present ones."""
        changed = self._changed()
        if changed or time.monotonic() >= self._folders_due:
            self._folders_due = time.monotonic() + FOLDERS_S
            if fresh := self._new_folders():
                self._changed()
            # A resume has renamed known directories: their files were reported. Directories that no
            # longer exist were deleted, and their names may be used again.
            for directory in fresh:
                listing = self._listings.get(directory)
                names = self._lost.pop(listing.identity, None) if listing else None
                if isinstance(names, set):
                    self._moved[_base(directory)].update(names)
            self._lost.clear()

    def _changed(self) -> bool:
        before = {d: listing.identity for d, listing in self._listings.items()}
        changed = [d for d, listing in self._listings.items() if not listing.check()]
        for directory in changed:
            listing = self._listings[directory]
            self._watcher.remove(listing.path)
            listing.watched = False
            if directory == "queue":
                self.renewed |= self._had_queue
                # A resume may reuse names of an earlier resume: all files are reported again,
                # except those without a number. (A watched campaign has ids only, see ``renewed``.)
                if self._had_queue and isinstance(listing.known, set):
                    listing.known = {name for name in listing.known if name[:2] != "id"}
                self._had_queue |= listing.identity is not None
            else:
                self._lost[before[directory]] = listing.known
                listing.known = set()
            if listing.identity is not None:
                reason = self._watcher.add(listing.path)
                listing.watched = not reason
                self.unwatched = self.unwatched or reason
            elif _OLD.fullmatch(directory):
                del self._listings[directory]
            else:
                self._unsettled = time.monotonic() + 10.0
        return bool(changed)

    def _new_folders(self) -> list[str]:
        try:
            names = os.listdir(self._path)  # noqa: PTH208 - names only
        except OSError:
            return []
        fresh = sorted(n for n in names if _OLD.fullmatch(n) and n not in self._listings)
        for name in fresh[: MAX_FOLDERS - len(self._listings)]:
            self._begin(name)
        # The oldest first: a logged finding is matched with the oldest file of its name.
        in_order = sorted(self._listings, key=lambda d: (_OLD.fullmatch(d) is None, d))
        self._listings = {directory: self._listings[directory] for directory in in_order}
        return fresh

    def _begin(self, directory: str) -> None:
        path = f"{self._path}/{directory}"
        self._listings[directory] = Listing(path, set(), share=self._share)

    # --------------------------------------------------------------------- events

    def _event(self, directory: str, new: NewFile) -> list[EntrySaved | FindingSaved]:
        if directory == "queue":
            entry = entry_event(self._name, new.name, new.size, self._lowest - 1)
            self._lowest = min(self._lowest, entry.id)
            return [entry]
        moved = self._moved[_base(directory)]
        if moved[new.name] > 0:
            moved[new.name] -= 1
            return []
        # In the log a finding is identified by its file. If an earlier finding has the same file
        # name, "./" is inserted: the path still leads to the file.
        spelled = new.name
        while f"{directory}/{spelled}" in self._logged:
            spelled = f"./{spelled}"
        file = f"{directory}/{spelled}"
        self._logged.add(file)
        self._counts[_base(directory)] += 1
        name = parse_name(new.name)
        return [
            FindingSaved(
                instance=self._name,
                category=UNDESCRIBED[_base(directory)].category,
                file=file,
                id=name.id,
                src=list(name.src),
                op=name.op,
                sig=name.sig,
                time_ms=name.time_ms,
                execs=name.execs,
                size=new.size,
                sync=name.sync,
            )
        ]


def entry_event(instance: str, file: str, size: int, odd_id: int) -> EntrySaved:
    """Make the event of a file in ``queue/``; ``odd_id`` is the id if the name has none."""
    name = parse_name(file)  # also other names are entries (AFL_SHA1_FILENAMES)
    return EntrySaved(
        instance=instance,
        id=odd_id if name.id < 0 else name.id,
        file=f"queue/{file}",
        src=list(name.src),
        op=name.op,
        sync=name.sync,
        time_ms=name.time_ms,
        execs=name.execs,
        size=size,
        cov=name.cov,
        first=name.first,
    )


def origin_of(entry: EntrySaved) -> str:
    """Return the origin of a seed: an entry of another queue ("m7/45"), or "seed:NAME".

    Returns an empty string if the entry is not a seed.
    """
    if name := _LAID_OUT.fullmatch(entry.op):
        return f"{name[1]}/{int(name[2])}"
    return "seed:" + entry.op[5:] if entry.op.startswith("orig:") else ""


_LAID_OUT = re.compile(r"orig:([A-Za-z0-9_-]+)\+([0-9]{1,10})")


def _base(directory: str) -> str:
    base = directory.partition(".")[0]
    return base if base in FOLDERS else CRASHES

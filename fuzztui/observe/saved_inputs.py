"""What appears in one instance's ``queue/``, ``crashes/`` and ``hangs/``, as events.

The directories are AFL's: it makes them, and a resume replaces them. Then ``queue/`` is
made again with other numbers for the same inputs, and is told again; ``crashes/`` lives on
as ``crashes.DATE/``: what is in there was reported, and is not again; what comes into the
new one is new, even where an old AFL gives it a name that it had given before.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from fuzztui.observe.afl_names import parse_name
from fuzztui.observe.scan import SHARE, Find, Known, Listing
from fuzztui.wire.events import EntrySaved, FindingSaved, Message

__all__ = ["CATEGORIES", "SavedInputs", "Watching", "entry_event", "origin_of"]

CATEGORIES = {"crashes": "crash", "hangs": "hang"}

CHECK_S = 0.5
"""Seconds between two looks whether the directories are still the same ones. While one is
missing every look is one: a fuzzer that starts may find something in its first second."""

FOLDERS_S = 30.0
"""Seconds between two searches for ``crashes.DATE/`` at most; a resume brings one forward."""

MAX_FOLDERS = 500

_OLD = re.compile(r"(crashes|hangs)\..+", re.DOTALL)


class Watching(Protocol):
    """The part of a :class:`~fuzztui.observe.inotify.Watcher` that is used here."""

    def add(self, directory: str) -> str:
        """Watch it; "" or why that cannot be."""

    def remove(self, directory: str) -> None:
        """Watch it no more."""


class SavedInputs:
    """The finds of the instance ``name`` in the directory ``path``.

    :param told: files of findings that the log holds already (``crashes/NAME``).
    :param queue: names in ``queue/`` that need no report.
    :param lowest: the lowest id of an entry so far: odd names get ids below it.
    """

    def __init__(
        self,
        path: str,
        name: str,
        watcher: Watching,
        *,
        told: Iterable[str] = (),
        queue: Known | None = None,
        lowest: int = 0,
        share: float = SHARE,
    ) -> None:
        self._path = path
        self._name = name
        self._watcher = watcher
        self._told = set(told)
        self._moved: dict[str, Counter[str]] = {category: Counter() for category in CATEGORIES}
        self._counts: Counter[str] = Counter()
        for file in self._told:
            directory, _, name_in_it = file.partition("/")
            self._moved[_base(directory)][name_in_it.rpartition("/")[2]] += 1
            self._counts[_base(directory)] += 1
        self._lowest = lowest
        self._share = share
        self._known: dict[str, set[str]] = {}
        """Names met in each directory of findings, since it is the one that it is."""
        names: Known = set() if queue is None else queue
        self._listings = {"queue": Listing(f"{path}/queue", names, share=share)}
        for category in CATEGORIES:
            self._begin(category)
        self._lost: dict[tuple[int, int] | None, set[str]] = {}
        """Names in directories that have just lost their name, by their identity."""
        self._check_due = 0.0
        self._folders_due = 0.0
        self._unsettled = 0.0
        self._problems: dict[str, str] = {}
        self._had_queue = False
        self.renewed = False
        """``queue/`` was replaced since somebody set this to False."""
        self.unwatched = ""
        """Why a directory can only be polled, in words."""

    def look(
        self, limit: int, *, last: bool = False, entries: bool = True
    ) -> list[EntrySaved | FindingSaved | Message]:
        """What is new, at most ``limit`` files of each directory.

        ``last``: nobody writes any more, everything is told. ``entries`` False: no word of
        what is in ``queue/``.
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
            for find in listing.look(limit, last=last):
                events += self._event(directory, find)
            if listing.problem != self._problems.get(directory, ""):
                self._problems[directory] = listing.problem
                if listing.problem:
                    events.append(Message("warning", listing.problem, self._name))
        return events

    def tell(self, directory: str, file: str) -> list[EntrySaved | FindingSaved]:
        """The watcher says that ``file`` is complete; "": something became of the directory."""
        listing = self._listings.get(directory)
        if listing is None:
            return []
        if not file:
            self._check_due = 0.0
            listing.doubt()
            return []
        find = listing.tell(file)
        return self._event(directory, find) if find else []

    def know_queue(self, mtime_ns: int) -> None:
        """``queue/`` as it was at that time is known: no need to list it."""
        self._listings["queue"].settle(mtime_ns)

    def rescan(self) -> None:
        """Some files may have been missed."""
        for listing in self._listings.values():
            listing.rescan()

    def forget(self) -> None:
        """Watch nothing any more."""
        for listing in self._listings.values():
            self._watcher.remove(listing.path)

    @property
    def behind(self) -> bool:
        """Whether the last look left something that it could have had."""
        return any(listing.behind for listing in self._listings.values())

    @property
    def problems(self) -> list[str]:
        """Why directories cannot be listed, in words."""
        return [listing.problem for listing in self._listings.values() if listing.problem]

    @property
    def unsettled(self) -> bool:
        """Whether directories are just being replaced: look again soon."""
        return time.monotonic() < self._unsettled

    def count(self, category: str) -> int:
        """Files of that category ("crashes" or "hangs") so far, those of earlier starts too."""
        return self._counts[category]

    # ---------------------------------------------------------------- directories

    def check(self) -> None:
        """Find directories that were made, replaced or removed, and watch what is there."""
        changed = self._changed()
        if changed or time.monotonic() >= self._folders_due:
            self._folders_due = time.monotonic() + FOLDERS_S
            if fresh := self._new_folders():
                self._changed()
            # A resume made them of those that we knew: what is in them was told. What is
            # nowhere any more was deleted, and its name may come again.
            for directory in fresh:
                listing = self._listings.get(directory)
                if listing and (names := self._lost.pop(listing.identity, None)):
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
                # A resume may give names that a resume before the last one gave: all is told
                # again, save what has no number. (A watch knows ids only: see ``renewed``.)
                if self._had_queue and isinstance(listing.known, set):
                    listing.known = {name for name in listing.known if name[:2] != "id"}
                self._had_queue |= listing.identity is not None
            else:
                self._lost[before[directory]] = self._known[directory]
                listing.known = self._known[directory] = set()
            if listing.identity is not None:
                reason = self._watcher.add(listing.path)
                listing.watched = not reason
                self.unwatched = self.unwatched or reason
            elif _OLD.fullmatch(directory):
                del self._listings[directory], self._known[directory]
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
        # The oldest first: what was told is taken for the oldest file of its name.
        in_order = sorted(self._listings, key=lambda d: (_OLD.fullmatch(d) is None, d))
        self._listings = {directory: self._listings[directory] for directory in in_order}
        return fresh

    def _begin(self, directory: str) -> None:
        known = self._known[directory] = set()
        path = f"{self._path}/{directory}"
        self._listings[directory] = Listing(path, known, share=self._share)

    # --------------------------------------------------------------------- events

    def _event(self, directory: str, find: Find) -> list[EntrySaved | FindingSaved]:
        if directory == "queue":
            entry = entry_event(self._name, find.name, find.size, self._lowest - 1)
            self._lowest = min(self._lowest, entry.id)
            return [entry]
        moved = self._moved[_base(directory)]
        if moved[find.name] > 0:
            moved[find.name] -= 1
            return []
        # In the log the file is the finding's name. One that was used up by a finding of
        # before a resume is spelled differently: it still leads to the file.
        spelled = find.name
        while f"{directory}/{spelled}" in self._told:
            spelled = f"./{spelled}"
        file = f"{directory}/{spelled}"
        self._told.add(file)
        self._counts[_base(directory)] += 1
        name = parse_name(find.name)
        return [
            FindingSaved(
                instance=self._name,
                category=CATEGORIES[_base(directory)],
                file=file,
                id=name.id,
                src=list(name.src),
                op=name.op,
                sig=name.sig,
                time_ms=name.time_ms,
                execs=name.execs,
                size=find.size,
                sync=name.sync,
            )
        ]


def entry_event(instance: str, file: str, size: int, odd_id: int) -> EntrySaved:
    """The event of a file in ``queue/``; ``odd_id`` is its id if its name has none."""
    name = parse_name(file)  # of another shape (AFL_SHA1_FILENAMES): an entry anyway
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
    """Of a seed where it is from: an entry of another queue ("m7/45") or "seed:NAME"; or ""."""
    if name := _LAID_OUT.fullmatch(entry.op):
        return f"{name[1]}/{int(name[2])}"
    return "seed:" + entry.op[5:] if entry.op.startswith("orig:") else ""


_LAID_OUT = re.compile(r"orig:([A-Za-z0-9_-]+)\+([0-9]{1,10})")


def _base(directory: str) -> str:
    base = directory.partition(".")[0]
    return base if base in CATEGORIES else "crashes"

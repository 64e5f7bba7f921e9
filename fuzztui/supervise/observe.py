"""Observing AFL-shaped directories: from files that appear to events for the log.

One observer serves all instances, engines of ours and AFL's. It is synchronous and
belongs to one thread at a time: the supervisor calls it in a worker thread, so that a
slow disk never holds up the control socket. What is in the folded state already is
never reported again; that is what makes a restart of the supervisor exact.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from fuzztui.model.state import Entry, Finding, State
from fuzztui.supervise.figures import FiguresSource, FileFigures
from fuzztui.supervise.names import parse_name
from fuzztui.supervise.relay import Offsets, Relay
from fuzztui.supervise.scan import Find, Listing
from fuzztui.supervise.watch import Watcher
from fuzztui.wire.events import EntrySaved, Event, FindingSaved, Message

__all__ = ["Batch", "Observer"]

FINDS_AT_ONCE = 2000
"""Of one directory in one poll: what is more comes with the next."""

WARN_EVERY_S = 10.0

_CATEGORIES = {"crashes": "crash", "hangs": "hang"}


@dataclass(frozen=True, slots=True)
class Batch:
    """What one look brought.

    ``offsets`` are true of the log once ``events`` are in it; ``behind``: more is
    waiting, look again at once.
    """

    events: list[Event]
    offsets: Mapping[str, int]
    behind: bool = False


class Observer:
    """Observes ``out/ID`` of every instance that was added.

    :param state: the campaign so far, folded from its log.
    :param offsets: how far each ``events.jsonl`` is in that log.
    :param done: :func:`~fuzztui.supervise.relay.relayed` of the records after them.
    :param wake: called, from any thread, when a poll would bring something.
    """

    def __init__(
        self,
        out: Path,
        state: State,
        offsets: Offsets,
        done: Mapping[str, deque[str]],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._out = out
        self._known = _known_names(state)
        self._lowest = _lowest_ids(state)
        self._offsets = offsets
        self._done = done
        self._watcher = Watcher(wake)
        self._instances: dict[str, _Instance] = {}
        self._listings: dict[Path, tuple[_Instance, Listing]] = {}

    def add(self, name: str, figures: FiguresSource | None = None) -> list[Message]:
        """Observe an instance whose directory is there. Says so where inotify cannot help.

        ``figures``: where they come from, if not from ``fuzzer_stats`` alone.
        """
        if name in self._instances:
            return []
        path = self._out / name
        instance = _Instance(
            name,
            path,
            {d: Listing(path / d, self._known.pop((name, d), set())) for d in _DIRECTORIES},
            Relay(
                path / "events.jsonl",
                name,
                self._offsets.bytes.get(name, 0),
                self._done.get(name, deque()),
            ),
            figures or FileFigures(path, name),
            self._lowest.get(name, 0),
        )
        self._instances[name] = instance
        reasons = []
        for directory, listing in instance.listings.items():
            (path / directory).mkdir(mode=0o700, exist_ok=True)
            self._listings[path / directory] = (instance, listing)
            reason = self._watcher.add(path / directory)
            listing.watched = not reason
            reasons += [reason] if reason else []
        return [Message("info", f"polling only: {reason}", name) for reason in reasons[:1]]

    def poll(self) -> Batch:
        """Look at everything once, without waiting, and bounded in what it brings."""
        events = self._told()
        for instance in self._instances.values():
            events += instance.look()
        behind = any(listing.behind for _, listing in self._listings.values())
        behind = behind or any(i.relay.behind for i in self._instances.values())
        return self._batch(events, behind)

    def last(self, name: str) -> Batch:
        """Everything that is left of an instance whose process has ended."""
        if name not in self._instances:
            return self._batch([], False)
        return self._batch(self._told() + self._instances[name].look(last=True), False)

    def interrupted(self, name: str) -> None:
        """The instance did not run for a while."""
        if name in self._instances:
            self._instances[name].figures.interrupted()

    def close(self) -> None:
        """Stop watching."""
        self._watcher.close()
        for instance in self._instances.values():
            instance.figures.close()

    def _told(self) -> list[Event]:
        files, lost = self._watcher.take()
        events = []
        for path in files:
            instance, listing = self._listings.get(path.parent, (None, None))
            if instance and listing and (find := listing.tell(path.name)):
                events.append(instance.event(path.parent.name, find))
        if lost:
            for _, listing in self._listings.values():
                listing.rescan()
        return events

    def _batch(self, events: list[Event], behind: bool) -> Batch:
        # Positions of instances that are not observed (any more) stay as they were.
        offsets = {n: i.relay.offset for n, i in self._instances.items()}
        return Batch(events, {**self._offsets.bytes, **offsets}, behind)


_DIRECTORIES = ("queue", *_CATEGORIES)


@dataclass(slots=True)
class _Instance:
    """One directory ``out/ID`` and how far it was seen."""

    name: str
    path: Path
    listings: dict[str, Listing]
    relay: Relay
    figures: FiguresSource
    lowest: int
    """The lowest id of an entry so far: odd names get ids below it."""
    warn_due: float = 0.0

    def look(self, *, last: bool = False) -> list[Event]:
        events: list[Event] = []
        for directory, listing in self.listings.items():
            finds = listing.look(FINDS_AT_ONCE, last=last)
            events += (self.event(directory, find) for find in finds)
        events += self.relay.read(last=last)
        now = time.monotonic()
        if last or now >= self.warn_due:
            warning = self.relay.foreign()
            if warning:
                self.warn_due = now + WARN_EVERY_S
                events.append(warning)
        if stats := self.figures.look(last=last):
            # Files do not lie: AFL counts its crashes from 0 again when it is resumed.
            crashes = max(stats.crashes, len(self.listings["crashes"].known))
            hangs = max(stats.hangs, len(self.listings["hangs"].known))
            events.append(replace(stats, crashes=crashes, hangs=hangs))
        return events

    def event(self, directory: str, find: Find) -> Event:
        name = parse_name(find.name)
        if directory in _CATEGORIES:
            return FindingSaved(
                instance=self.name,
                category=_CATEGORIES[directory],
                file=f"{directory}/{find.name}",
                id=name.id,
                src=list(name.src),
                op=name.op,
                sig=name.sig,
                time_ms=name.time_ms,
                execs=name.execs,
                size=find.size,
            )
        number = name.id
        if number < 0:  # of another shape (AFL_SHA1_FILENAMES): an entry all the same
            number = self.lowest = min(self.lowest, 0) - 1
        return EntrySaved(
            instance=self.name,
            id=number,
            file=f"{directory}/{find.name}",
            src=list(name.src),
            op=name.op,
            sync=name.sync,
            time_ms=name.time_ms,
            execs=name.execs,
            size=find.size,
            cov=name.cov,
        )


def _known_names(state: State) -> dict[tuple[str, str], set[str]]:
    """File names in the state, by instance and directory."""
    known: dict[tuple[str, str], set[str]] = {}
    items: Iterable[Entry | Finding] = chain(state.entries.values(), state.findings.values())
    for item in items:
        if item.saved:  # one that was only described may not be there yet
            directory, _, name = item.file.partition("/")
            known.setdefault((item.instance, directory), set()).add(name)
    return known


def _lowest_ids(state: State) -> dict[str, int]:
    lowest: dict[str, int] = {}
    for entry in state.entries.values():
        lowest[entry.instance] = min(entry.id, lowest.get(entry.instance, 0))
    return lowest

"""Observe directories in AFL's layout: from new files to events for the log.

One observer serves all instances, in-process engines and afl-fuzz. The observer is synchronous and
belongs to one thread at a time: the supervisor calls it in a thread, so that a slow disk never
blocks the control socket. Files that are in the folded state are never reported again; this makes a
restart of the supervisor exact.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from fuzztui.kernel.model.state import Entry, Finding, State
from fuzztui.kernel.wire.events import (
    PRINTED,
    EntriesSeeded,
    EntryDescribed,
    EntrySaved,
    Event,
    FindingDescribed,
    FindingSaved,
    Message,
)
from fuzztui.kernel.wire.finding_kinds import CRASHES, HANGS
from fuzztui.run.observe.inotify import Watcher
from fuzztui.run.observe.mutators import MutatorBlock
from fuzztui.run.observe.peers import Peers
from fuzztui.run.observe.relay import Logged, Offsets, Relay
from fuzztui.run.observe.saved_inputs import SavedInputs, origin_of
from fuzztui.run.observe.stats_reader import FileStats, StatsSource

FINDS_AT_ONCE = 2000
"""Most files of one directory in one poll; the rest follows in the next poll."""

WARN_EVERY_S = 10.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ObservedBatch:
    """The result of one poll.

    ``offsets``: the bytes of each ``events.jsonl`` that are in the log once ``events`` are
    recorded; ``behind``: more is waiting, so poll again at once.
    """

    events: list[Event]
    offsets: Mapping[str, int]
    behind: bool = False


class DirectoryObserver:
    """Observes ``out/ID`` of every instance that was added.

    :param state: the campaign's state, folded from its log.
    :param offsets: the bytes of each ``events.jsonl`` that are in that log.
    :param done: :func:`~fuzztui.run.observe.relay.relayed` of the records after these offsets.
    :param wake: called, from any thread, when a poll would return events.
    """

    def __init__(
        self,
        out: Path,
        state: State,
        offsets: Offsets,
        done: Mapping[str, Logged],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._out = out
        self._known = _known_files(state)
        self._lowest = _lowest_ids(state)
        self._mutators = dict(state.mutators)
        self._offsets = offsets
        self._done = done
        self._watcher = Watcher(wake)
        self._instances: dict[str, _Instance] = {}

    def observes(self, name: str) -> bool:
        """Whether an instance was added, and not removed."""
        return name in self._instances

    def add(
        self, name: str, stats: StatsSource | None = None, *, mutant: Path | None = None
    ) -> list[Message]:
        """Observe an instance, whose directory may still be empty.

        Returns a message if inotify does not work there. ``stats``: the source of statistics; None:
        ``fuzzer_stats``. ``mutant``: the directory of an instance that fuzzes a mutant, else None.
        """
        if name in self._instances:
            return []
        path = mutant or self._out / name
        known = self._known.pop(name, set())
        finds = SavedInputs(
            str(path),
            name,
            self._watcher,
            logged={file for file in known if not file.startswith("queue/")},
            queue={file[len("queue/") :] for file in known if file.startswith("queue/")},
            lowest=self._lowest.get(name, 0),
        )
        self._instances[name] = instance = _Instance(
            name,
            finds,
            Relay(
                path / "events.jsonl",
                name,
                self._offsets.bytes.get(name, 0),
                self._done.get(name, Logged()),
            ),
            stats or FileStats(path, name),
            Peers(str(path), name),
            MutatorBlock(str(path), name, self._mutators.pop(name, None)),
            mutant is not None,
        )
        finds.check()
        return instance.polling_only()

    def poll(self) -> ObservedBatch:
        """Read all instances once, without waiting; the number of events is limited."""
        events = self._completed_files()
        for instance in self._instances.values():
            events += self._look(instance)
        behind = any(i.finds.behind or i.relay.behind for i in self._instances.values())
        return self._batch(events, behind)

    def observe_final(self, name: str) -> ObservedBatch:
        """Return everything left to report of an instance whose process has ended."""
        if name not in self._instances:
            return self._batch([], False)
        return self._batch(
            [*self._completed_files(), *self._look(self._instances[name], last=True)], False
        )

    def interrupted(self, name: str) -> None:
        """Note that the instance did not run for a while."""
        if name in self._instances:
            self._instances[name].stats.interrupted()

    def remove(self, name: str) -> ObservedBatch:
        """Return everything left to report of an instance, and stop observing the instance."""
        last = self.observe_final(name)
        self._offsets = replace(self._offsets, bytes=last.offsets)
        if instance := self._instances.pop(name, None):
            instance.finds.forget()
            instance.stats.close()
        return last

    def close(self) -> None:
        """Stop watching."""
        self._watcher.close()
        for instance in self._instances.values():
            instance.stats.close()

    def _look(self, instance: _Instance, *, last: bool = False) -> Iterator[Event]:
        """Yield what is new in one instance. An error must not lose the events of the others."""
        try:
            yield from instance.look(last=last)
        except Exception as e:
            text = f"cannot be observed: {e!r}"
            if text != instance.error:
                instance.error = text
                _log.error("%s", instance.name, exc_info=e)
                yield Message("error", text, instance.name)

    def _completed_files(self) -> list[Event]:
        files, lost = self._watcher.take()
        events: list[Event] = []
        for directory, file in files:
            path, folder = os.path.split(directory)
            instance = self._instances.get(os.path.basename(path))  # noqa: PTH119
            if instance:
                events += instance.without_findings(instance.finds.file_completed(folder, file))
        if lost:
            for instance in self._instances.values():
                instance.finds.rescan()
        return events

    def _batch(self, events: list[Event], behind: bool) -> ObservedBatch:
        # Offsets of instances that are not observed (any more) stay as they were.
        offsets = {n: i.relay.offset for n, i in self._instances.items()}
        return ObservedBatch(events, {**self._offsets.bytes, **offsets}, behind)


@dataclass(slots=True)
class _Instance:
    """One directory ``out/ID`` and its readers."""

    name: str
    finds: SavedInputs
    relay: Relay
    stats: StatsSource
    peers: Peers
    mutators: MutatorBlock
    mutant: bool
    warn_due: float = 0.0
    reported: bool = False
    error: str = ""

    def look(self, *, last: bool = False) -> Iterator[Event]:
        """Yield what is new; each event only once."""
        yield from self.without_findings(self.finds.look(FINDS_AT_ONCE, last=last))
        yield from self.polling_only()
        yield from self.without_findings(self.relay.read(last=last))
        now = time.monotonic()
        if last or now >= self.warn_due:
            warning = self.relay.skipped_lines()
            if warning:
                self.warn_due = now + WARN_EVERY_S
                yield warning
        if synced := self.peers.look(last=last):
            yield synced
        # After the answers in events.jsonl: the block then has what the answered commands have set.
        if mutators := self.mutators.look(last=last):
            yield mutators
        stats = self.stats.look(last=last)
        yield from self.without_findings(self.stats.notes())
        if stats:
            # A resumed AFL counts crashes from 0 again, so the number of files may be greater.
            crashes = max(stats.crashes, self.finds.count(CRASHES))
            hangs = max(stats.hangs, self.finds.count(HANGS))
            yield replace(stats, crashes=crashes, hangs=hangs)

    def without_findings(self, found: Sequence[Event]) -> list[Event]:
        """In a mutant's turn, leave out seeds, findings and warnings; else return all events.

        An input that crashes a mutant is not a finding; the transfer runs it on the target. Each
        turn starts with the entries of the turns before: one ``EntriesSeeded`` reports them all.
        """
        if not self.mutant:
            return list(found)
        anew, self.finds.renewed = self.finds.renewed, False
        seeds = {str(e.id): o for e in found if isinstance(e, EntrySaved) and (o := origin_of(e))}
        news: list[Event] = [EntriesSeeded(self.name, seeds, anew)] if seeds or anew else []
        for event in found:
            seed = isinstance(event, EntrySaved) and str(event.id) in seeds
            seed |= isinstance(event, EntryDescribed) and event.reasons[:1] == ["seed"]
            printed = isinstance(event, Message) and event.about == PRINTED
            if not (seed or printed or isinstance(event, (FindingSaved, FindingDescribed))):
                news.append(event)
        return news

    def polling_only(self) -> list[Message]:
        """Return a message that inotify does not work here, the first time only."""
        if self.reported or not self.finds.unwatched:
            return []
        self.reported = True
        return [Message("info", f"polling only: {self.finds.unwatched}", self.name)]


def _known_files(state: State) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    items: Iterable[Entry | Finding] = chain(state.entries.values(), state.findings.values())
    for item in items:
        if item.saved:  # a file that was only described may not be complete yet
            known.setdefault(item.instance, set()).add(item.file)
    return known


def _lowest_ids(state: State) -> dict[str, int]:
    lowest: dict[str, int] = {}
    for entry in state.entries.values():
        lowest[entry.instance] = min(entry.id, lowest.get(entry.instance, 0))
    return lowest

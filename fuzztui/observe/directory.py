"""Observing AFL-shaped directories: from files that appear to events for the log.

One observer serves all instances, engines of ours and AFL's. It is synchronous and
belongs to one thread at a time: the supervisor calls it in a worker thread, so that a
slow disk never holds up the control socket. What is in the folded state already is
never reported again; that is what makes a restart of the supervisor exact.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from fuzztui.model.state import Entry, Finding, State
from fuzztui.observe.inotify import Watcher
from fuzztui.observe.mutators import MutatorBlock
from fuzztui.observe.peers import Peers
from fuzztui.observe.relay import Logged, Offsets, Relay
from fuzztui.observe.saved_inputs import SavedInputs, origin_of
from fuzztui.observe.stats_reader import FileStats, StatsSource
from fuzztui.observe.targeting import TypesFile
from fuzztui.wire.events import (
    CommandApplied,
    EntriesSeeded,
    EntryDescribed,
    EntrySaved,
    Event,
    FindingDescribed,
    FindingSaved,
    Message,
)

__all__ = ["DirectoryObserver", "ObservedBatch"]

FINDS_AT_ONCE = 2000
"""Of one directory in one poll: what is more comes with the next."""

WARN_EVERY_S = 10.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ObservedBatch:
    """What one look brought.

    ``offsets`` are true of the log once ``events`` are in it; ``behind``: more is
    waiting, look again at once.
    """

    events: list[Event]
    offsets: Mapping[str, int]
    behind: bool = False


class DirectoryObserver:
    """Observes ``out/ID`` of every instance that was added.

    :param state: the campaign so far, folded from its log.
    :param offsets: how far each ``events.jsonl`` is in that log.
    :param done: :func:`~fuzztui.observe.relay.relayed` of the records after them.
    :param wake: called, from any thread, when a poll would bring something.
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
        self._operators = dict(state.operators)
        self._offsets = offsets
        self._done = done
        self._watcher = Watcher(wake)
        self._instances: dict[str, _Instance] = {}

    def add(
        self, name: str, figures: StatsSource | None = None, *, mutant: Path | None = None
    ) -> list[Message]:
        """Observe an instance, whose directory may still be empty.

        Says so where inotify cannot help. ``figures``: where they come from, if not from
        ``fuzzer_stats`` alone. ``mutant``: the directory of one that fuzzes a mutant.
        """
        if name in self._instances:
            return []
        path = mutant or self._out / name
        known = self._known.pop(name, set())
        finds = SavedInputs(
            str(path),
            name,
            self._watcher,
            told={file for file in known if not file.startswith("queue/")},
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
            figures or FileStats(path, name),
            Peers(str(path), name),
            MutatorBlock(str(path), name, self._operators.pop(name, None)),
            TypesFile(str(path), name),
            mutant is not None,
        )
        finds.check()
        return instance.polling_only()

    def poll(self) -> ObservedBatch:
        """Look at everything once, without waiting, and bounded in what it brings."""
        events = self._told()
        for instance in self._instances.values():
            events += self._look(instance)
        behind = any(i.finds.behind or i.relay.behind for i in self._instances.values())
        return self._batch(events, behind)

    def last(self, name: str) -> ObservedBatch:
        """Everything that is left of an instance whose process has ended."""
        if name not in self._instances:
            return self._batch([], False)
        return self._batch([*self._told(), *self._look(self._instances[name], last=True)], False)

    def interrupted(self, name: str) -> None:
        """The instance did not run for a while."""
        if name in self._instances:
            self._instances[name].figures.interrupted()

    def drop(self, name: str) -> ObservedBatch:
        """Everything that is left of an instance, which is then observed no more."""
        last = self.last(name)
        self._offsets = replace(self._offsets, bytes=last.offsets)
        if instance := self._instances.pop(name, None):
            instance.finds.forget()
            instance.figures.close()
        return last

    def close(self) -> None:
        """Stop watching."""
        self._watcher.close()
        for instance in self._instances.values():
            instance.figures.close()

    def _look(self, instance: _Instance, *, last: bool = False) -> Iterator[Event]:
        """What there is to tell of one instance: its trouble must not lose what others told."""
        try:
            yield from instance.look(last=last)
        except Exception as e:
            words = f"cannot be observed: {e!r}"
            if words != instance.trouble:
                instance.trouble = words
                _log.error("%s", instance.name, exc_info=e)
                yield Message("error", words, instance.name)

    def _told(self) -> list[Event]:
        files, lost = self._watcher.take()
        events: list[Event] = []
        for directory, file in files:
            path, folder = os.path.split(directory)
            instance = self._instances.get(os.path.basename(path))  # noqa: PTH119
            if instance:
                events += instance.sorted_out(instance.finds.tell(folder, file))
        if lost:
            for instance in self._instances.values():
                instance.finds.rescan()
        return events

    def _batch(self, events: list[Event], behind: bool) -> ObservedBatch:
        # Positions of instances that are not observed (any more) stay as they were.
        offsets = {n: i.relay.offset for n, i in self._instances.items()}
        return ObservedBatch(events, {**self._offsets.bytes, **offsets}, behind)


@dataclass(slots=True)
class _Instance:
    """One directory ``out/ID`` and how far it was seen."""

    name: str
    finds: SavedInputs
    relay: Relay
    figures: StatsSource
    peers: Peers
    operators: MutatorBlock
    types: TypesFile
    mutant: bool
    warn_due: float = 0.0
    said: bool = False
    trouble: str = ""

    def look(self, *, last: bool = False) -> Iterator[Event]:
        """News, told one by one: what was told once is never told again."""
        yield from self.sorted_out(self.finds.look(FINDS_AT_ONCE, last=last))
        yield from self.polling_only()
        told = list(self.relay.read(last=last))
        yield from self.sorted_out(told)
        if any(isinstance(event, CommandApplied) for event in told):
            self.types.answered()
        now = time.monotonic()
        if last or now >= self.warn_due:
            warning = self.relay.foreign()
            if warning:
                self.warn_due = now + WARN_EVERY_S
                yield warning
        if synced := self.peers.look(last=last):
            yield synced
        # After the engine's answers: what it has set is in its block, or file, by then.
        if operators := self.operators.look(last=last):
            yield operators
        yield from self.types.look(last=last)
        stats = self.figures.look(last=last)
        yield from self.figures.notes()
        if stats:
            # Files do not lie: AFL counts its crashes from 0 again when it is resumed.
            crashes = max(stats.crashes, self.finds.count("crashes"))
            hangs = max(stats.hangs, self.finds.count("hangs"))
            yield replace(stats, crashes=crashes, hangs=hangs)

    def sorted_out(self, found: Sequence[Event]) -> list[Event]:
        """Of a mutant's finds those that are news.

        What crashes a mutant is no finding: it is run on the target. And mutants that are
        fuzzed one after the other all begin with what the ones before have found.
        """
        if not self.mutant:
            return list(found)
        anew, self.finds.renewed = self.finds.renewed, False
        seeds = {str(e.id): o for e in found if isinstance(e, EntrySaved) and (o := origin_of(e))}
        news: list[Event] = [EntriesSeeded(self.name, seeds, anew)] if seeds or anew else []
        for event in found:
            seed = isinstance(event, EntrySaved) and str(event.id) in seeds
            seed |= isinstance(event, EntryDescribed) and event.reasons[:1] == ["seed"]
            if not seed and not isinstance(event, (FindingSaved, FindingDescribed)):
                news.append(event)
        return news

    def polling_only(self) -> list[Message]:
        """Say once that inotify cannot help."""
        if self.said or not self.finds.unwatched:
            return []
        self.said = True
        return [Message("info", f"polling only: {self.finds.unwatched}", self.name)]


def _known_files(state: State) -> dict[str, set[str]]:
    """Files in the state, by instance."""
    known: dict[str, set[str]] = {}
    items: Iterable[Entry | Finding] = chain(state.entries.values(), state.findings.values())
    for item in items:
        if item.saved:  # one that was only described may not be there yet
            known.setdefault(item.instance, set()).add(item.file)
    return known


def _lowest_ids(state: State) -> dict[str, int]:
    lowest: dict[str, int] = {}
    for entry in state.entries.values():
        lowest[entry.instance] = min(entry.id, lowest.get(entry.instance, 0))
    return lowest

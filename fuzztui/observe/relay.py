"""Carrying an engine's ``events.jsonl`` into the campaign log, each line exactly once.

How far each file was carried is written down (``supervisor/offsets.json``) only after
the log was flushed, so a supervisor that is killed in between carries some lines a
second time: those it recognises, because they are in the log after the sequence
number that the offsets belong to.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fuzztui.base.files import open_regular, read_json, replace_text, status
from fuzztui.base.text import several
from fuzztui.wire.codec import CodecError, decode_event, encode_event
from fuzztui.wire.events import (
    CommandApplied,
    CommandRejected,
    EntryDescribed,
    Event,
    FindingDescribed,
    InstanceHello,
    Message,
    MutantRuns,
    MutantsFound,
    MutantState,
    MutationStats,
    Record,
    RecordsLost,
    Unknown,
)

__all__ = ["Logged", "Offsets", "Relay", "end_torn_line", "relayed"]

CHUNK = 256 * 1024
"""Bytes that are read at once."""

MAX_LINE = 1 << 20
"""A longer line is no event."""

_OF_ENGINES = (
    InstanceHello,
    EntryDescribed,
    FindingDescribed,
    MutantsFound,
    MutantState,
    MutantRuns,
    MutationStats,
    CommandApplied,
    CommandRejected,
    Message,
)


@dataclass(frozen=True, slots=True)
class Offsets:
    """Bytes of each instance's ``events.jsonl`` that the log holds up to record ``seq``."""

    seq: int
    bytes: Mapping[str, int]
    lost: int = 0
    """Records that the log had lost by then (:attr:`fuzztui.model.state.State.lost`)."""

    @classmethod
    def load(cls, path: Path, last_seq: int, lost: int = 0) -> Offsets:
        """Read them back. A file that is gone, foreign or ahead of the log is a fresh start.

        So is one from before the log lost records: their lines are to be carried again.
        """
        match read_json(path):
            # Ahead of the log: the machine crashed and the log's end was never on disk.
            case {"seq": int(seq), "bytes": dict(sizes), **more} if 0 <= seq <= last_seq:
                good = {k: v for k, v in sizes.items() if type(v) is int and v >= 0}
                if more.get("lost", 0) == lost:
                    return cls(seq, good, lost)
        return cls(0, {}, lost)

    def save(self, path: Path) -> None:
        """Write them down. Raises OSError."""
        replace_text(
            path, json.dumps({"seq": self.seq, "bytes": dict(self.bytes), "lost": self.lost})
        )


@dataclass(slots=True)
class Logged:
    """What the log holds already of the lines that one engine wrote after its offset."""

    lines: Counter[str] = field(default_factory=Counter)
    """How often it holds each line that was not yet read in the file."""
    subjects: Counter[tuple[str, Hashable]] = field(default_factory=Counter)
    """How many of these lines are about each subject: those lines are newer than what is read."""
    lost: bool = False
    """Whether the log lost records: then any lines may be missing, else only the last ones."""

    def add(self, event: Event) -> None:
        """The log holds this event."""
        self.lines[encode_event(event)] += 1
        self.subjects.update((event.kind, subject) for subject in _subjects(event))

    def missing(self, event: Event) -> Event | None:
        """What of the next event in the file is to be recorded: what the log does not hold.

        Nor is an event on a subject on which the log holds a newer one: recorded only now,
        behind the newer one, the old one would be believed.
        """
        line = encode_event(event)
        subjects = _subjects(event)
        if line in self.lines:
            _take(self.lines, [line])
            _take(self.subjects, [(event.kind, subject) for subject in subjects])
            return None
        if not self.lost:
            self.clear()  # the log holds the first lines and no others
            return event
        left = {subject for subject in subjects if (event.kind, subject) not in self.subjects}
        if len(left) == len(subjects):
            return event
        return _only(event, left) if left else None

    def clear(self) -> None:
        """What is written from now on is in no log."""
        self.lines.clear()
        self.subjects.clear()


def _take(counts: Counter[Any], keys: Iterable[Hashable]) -> None:
    for key in keys:
        counts[key] -= 1
        if counts[key] <= 0:
            del counts[key]


def _subjects(event: Event) -> set[Hashable]:
    """About what an event says what holds from then on, in place of an earlier event's."""
    match event:
        case MutantState() | EntryDescribed():
            return {event.id}
        case FindingDescribed():
            return {event.file}
        case MutantRuns():
            return {*event.runs}
        case MutantsFound():
            return {_id(item) for item in event.mutants}
        case InstanceHello() | MutationStats():
            return {""}
    return set()


def _only(event: Event, subjects: Set[Hashable]) -> Event:
    """The part of a list that is about these subjects."""
    if isinstance(event, MutantRuns):
        return replace(event, runs={k: v for k, v in event.runs.items() if k in subjects})
    if isinstance(event, MutantsFound):
        return replace(event, mutants=[m for m in event.mutants if _id(m) in subjects])
    return event


def _id(item: object) -> str:
    """Of one mutant in a list; what is no mutant has none."""
    key = item.get("id") if isinstance(item, dict) else None
    return key if isinstance(key, str) else ""


def relayed(records: Iterable[Record]) -> dict[str, Logged]:
    """Of the records after the offsets' ``seq``: those an engine may have written."""
    logged: defaultdict[str, Logged] = defaultdict(Logged)
    lost = False
    for record in records:
        event = record.event
        lost |= isinstance(event, RecordsLost)
        if isinstance(event, _OF_ENGINES):
            logged[event.instance].add(event)
        elif isinstance(event, Unknown) and isinstance(event.data.get("instance"), str):
            logged[event.data["instance"]].add(event)
    for known in logged.values():
        known.lost = lost
    return logged


class Relay:
    """One instance's ``events.jsonl``, read from where the last supervisor got to.

    :param done: what the log holds already of the lines after ``offset``; used up.
    """

    def __init__(self, path: Path, instance: str, offset: int, done: Logged) -> None:
        self._path = path
        self._instance = instance
        self._done = done
        self.offset = offset
        self.behind = False
        """Whether the last :meth:`read` left something that it could have had."""
        self._foreign = 0
        self._first = ""

    def read(self, *, last: bool = False) -> list[Event]:
        """The next events, up to about :data:`CHUNK` bytes of them, or all if ``last``."""
        events: list[Event] = []
        while True:
            raw = self._next()
            self.behind = raw is not None and not last and self._more()
            if raw is None:
                return events
            for line in raw.split(b"\n"):
                event = self._decode(line) if line.strip() else None
                if event is not None and (missing := self._done.missing(event)):
                    events.append(missing)
            if not last:
                return events

    def foreign(self) -> Message | None:
        """A warning about the lines since the last call that were no events of an engine's."""
        if not self._foreign:
            return None
        are = "is" if self._foreign == 1 else "are"
        lines = several(self._foreign, "line")
        text = f"events.jsonl: skipped {lines} that {are} no event: {self._first}"
        self._foreign = 0
        return Message("warning", text, self._instance)

    def _next(self) -> bytes | None:
        """Whole lines from the offset on, which is moved past them; None if there are none."""
        found = status(self._path)
        if found is None:
            return None
        if found.st_size == self.offset:
            self._done.clear()  # what is left of it is the supervisor's own
            return None
        try:
            fd = open_regular(self._path)
        except OSError:
            return None
        try:
            if os.fstat(fd).st_size < self.offset:
                self._strange("the file became shorter")
                self.offset = 0
            raw = os.pread(fd, CHUNK, self.offset)
            while raw and b"\n" not in raw and len(raw) <= MAX_LINE:
                more = os.pread(fd, CHUNK, self.offset + len(raw))
                if not more:
                    return None  # torn: the rest is still to come
                raw += more
        finally:
            os.close(fd)
        end = raw.rfind(b"\n") + 1
        if not raw:
            return None
        if not end:  # endless: its parts are no events either
            end = len(raw)
        self.offset += end
        return raw[:end]

    def _more(self) -> bool:
        """Whether there is about another chunk to read (what is less may be a torn line)."""
        found = status(self._path)
        return found is not None and found.st_size - self.offset >= CHUNK // 2

    def _decode(self, line: bytes) -> Event | None:
        try:
            event = decode_event(line)
            # The directory, not the line, says which instance it is.
            if isinstance(event, _OF_ENGINES):
                event = replace(event, instance=self._instance)
            elif isinstance(event, Unknown):
                event = replace(event, data={**event.data, "instance": self._instance})
            else:
                raise CodecError(f"an engine does not write {event.kind!r}")
            encode_event(event)  # NaN cannot be logged
        except ValueError as e:
            self._strange(str(e))
            return None
        return event

    def _strange(self, why: str) -> None:
        if not self._foreign:
            self._first = why[:200]
        self._foreign += 1


def end_torn_line(path: Path) -> None:
    """Give a line that its writer died in an end, so that the next writer's is its own.

    For when no writer lives. Raises OSError only when the disk is full.
    """
    try:
        fd = open_regular(path, os.O_RDWR | os.O_APPEND)
    except OSError:
        return
    try:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            os.write(fd, b"\n")
    finally:
        os.close(fd)

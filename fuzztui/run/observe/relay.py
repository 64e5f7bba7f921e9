"""Copy an engine's ``events.jsonl`` into the campaign log, each line exactly once.

The offset of each file (``supervisor/offsets.json``) is written only after the log was flushed. If
the supervisor is killed in between, the next one reads some lines again. It recognises these lines,
because they are in the log after the sequence number that belongs to the offsets.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import closing_fd, open_regular, read_json, status
from fuzztui.kernel.base.text import several
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import MAX_EVENT, CodecError, decode_event, encode_event
from fuzztui.kernel.wire.events import Event, Record

CHUNK = 256 * 1024
"""Bytes that are read at once."""


@dataclass(frozen=True, slots=True)
class Offsets:
    """Bytes of each instance's ``events.jsonl`` that are in the log up to record ``seq``."""

    seq: int
    bytes: Mapping[str, int]
    lost: int = 0
    """Records lost from the log until then (:attr:`fuzztui.kernel.model.state.State.lost`)."""

    @classmethod
    def load(cls, path: Path, last_seq: int, lost: int = 0) -> Offsets:
        """Read the offsets. If the file is missing, invalid or ahead of the log, all are 0.

        Also if the log has lost records since: their lines must be copied again.
        """
        match read_json(path):
            # Ahead of the log: the machine crashed before the end of the log was on disk.
            case {"seq": int(seq), "bytes": dict(sizes), **more} if 0 <= seq <= last_seq:
                good = {k: v for k, v in sizes.items() if type(v) is int and v >= 0}
                if more.get("lost", 0) == lost:
                    return cls(seq, good, lost)
        return cls(0, {}, lost)

    def save(self, path: Path) -> None:
        """Write the offsets. Raises OSError."""
        replace_text(
            path, json.dumps({"seq": self.seq, "bytes": dict(self.bytes), "lost": self.lost})
        )


@dataclass(slots=True)
class Logged:
    """The lines that one engine wrote after its offset and that are already in the log."""

    lines: Counter[str] = field(default_factory=Counter)
    """Number of times each line is in the log and was not yet read in the file."""
    subjects: Counter[tuple[str, Hashable]] = field(default_factory=Counter)
    """Number of these lines about each subject: they are newer than the line being read."""
    lost: bool = False
    """Whether the log lost records: any line may then be missing, otherwise only the last ones."""

    def add(self, event: Event) -> None:
        """Note that this event is in the log."""
        self.lines[encode_event(event)] += 1
        self.subjects.update((event.kind, subject) for subject in _subjects(event))

    def missing(self, event: Event) -> Event | None:
        """Return the part of the next event in the file that is not in the log; None if all is.

        An event is also left out if the log has a newer one about the same subject: recorded now,
        after the newer one, the old event would replace it.
        """
        line = encode_event(event)
        subjects = _subjects(event)
        if line in self.lines:
            _take(self.lines, [line])
            _take(self.subjects, [(event.kind, subject) for subject in subjects])
            return None
        if not self.lost:
            self.clear()  # the log contains a prefix of the lines, which ends here
            return event
        left = {subject for subject in subjects if (event.kind, subject) not in self.subjects}
        if len(left) == len(subjects):
            return event
        return _only(event, left) if left else None

    def clear(self) -> None:
        """Note that no later line is in the log."""
        self.lines.clear()
        self.subjects.clear()


_LIST = ""
"""The subject "the whole list of goals": an event that replaces the list must not come late."""


def _take(counts: Counter[Any], keys: Iterable[Hashable]) -> None:
    for key in keys:
        counts[key] -= 1
        if counts[key] <= 0:
            del counts[key]


def _subjects(event: Event) -> set[Hashable]:
    """The subjects for which an event replaces what earlier events reported."""
    match event:
        case ev.MutantState() | ev.EntryDescribed():
            return {event.id}
        case ev.FindingDescribed():
            return {event.file}
        case ev.SourceFile():
            return {event.path}
        case ev.MutantRuns():
            return {*event.runs}
        case ev.MutantsFound():
            return {_id(item) for item in event.mutants}
        case ev.GoalsUncovered():
            return {_LIST, *event.left, *event.gone}
        case ev.InstanceHello() | ev.MutationStats() | ev.TargetingStats():
            return {""}
    return set()


def _only(event: Event, subjects: Set[Hashable]) -> Event:
    """Return an event with only the items that are about ``subjects``, if it is a list."""
    if isinstance(event, ev.MutantRuns):
        return replace(event, runs={k: v for k, v in event.runs.items() if k in subjects})
    if isinstance(event, ev.MutantsFound):
        return replace(event, mutants=[m for m in event.mutants if _id(m) in subjects])
    if isinstance(event, ev.GoalsUncovered):
        return replace(
            event,
            left={at: row for at, row in event.left.items() if at in subjects},
            gone=[at for at in event.gone if at in subjects],
            anew=event.anew and _LIST in subjects,
        )
    return event


def _id(item: object) -> str:
    """The id of one mutant in a list; an empty string if the item is not a mutant."""
    key = item.get("id") if isinstance(item, dict) else None
    return key if isinstance(key, str) else ""


def relayed(records: Iterable[Record]) -> dict[str, Logged]:
    """Return what the log has of each engine after the offsets, by instance.

    ``records``: those after the offsets' ``seq``.
    """
    logged: defaultdict[str, Logged] = defaultdict(Logged)
    lost = False
    for record in records:
        event = record.event
        lost |= isinstance(event, ev.RecordsLost)
        if event.by_engines:
            logged[getattr(event, "instance", "")].add(event)
        elif isinstance(event, ev.Unknown) and isinstance(event.data.get("instance"), str):
            logged[event.data["instance"]].add(event)
    for known in logged.values():
        known.lost = lost
    return logged


class Relay:
    """One instance's ``events.jsonl``, read from ``offset``, where the last supervisor stopped.

    :param done: the lines after ``offset`` that are already in the log; consumed by reading.
    """

    def __init__(self, path: Path, instance: str, offset: int, done: Logged) -> None:
        self._path = path
        self._instance = instance
        self._done = done
        self.offset = offset
        self.behind = False
        """Whether the last :meth:`read` left complete lines unread."""
        self._skipped = 0
        self._first = ""

    def read(self, *, last: bool = False) -> list[Event]:
        """Return the next events, from about :data:`CHUNK` bytes; all events if ``last``."""
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

    def skipped_lines(self) -> ev.Message | None:
        """Return a warning about lines since the last call that were no events; None if none."""
        if not self._skipped:
            return None
        are = "is" if self._skipped == 1 else "are"
        lines = several(self._skipped, "line")
        text = f"events.jsonl: skipped {lines} that {are} no event: {self._first}"
        self._skipped = 0
        return ev.Message("warning", text, self._instance)

    def _next(self) -> bytes | None:
        """Read complete lines at the offset and advance it; None if there are none."""
        found = status(self._path)
        if found is None:
            return None
        if found.st_size == self.offset:
            self._done.clear()  # the rest was recorded by the supervisor itself
            return None
        try:
            fd = open_regular(self._path)
        except OSError:
            return None
        with closing_fd(fd):
            if os.fstat(fd).st_size < self.offset:
                self._skip("the file became shorter")
                self.offset = 0
            raw = os.pread(fd, CHUNK, self.offset)
            while raw and b"\n" not in raw and len(raw) <= MAX_EVENT:
                more = os.pread(fd, CHUNK, self.offset + len(raw))
                if not more:
                    return None  # the writer has not finished this line yet
                raw += more
        end = raw.rfind(b"\n") + 1
        if not raw:
            return None
        if not end:  # longer than MAX_EVENT: skipped in parts
            end = len(raw)
        self.offset += end
        return raw[:end]

    def _more(self) -> bool:
        """Whether about another chunk can be read (less may be an unfinished line)."""
        found = status(self._path)
        return found is not None and found.st_size - self.offset >= CHUNK // 2

    def _decode(self, line: bytes) -> Event | None:
        try:
            event = decode_event(line)
            own: dict[str, Any] = {"instance": self._instance}
            # The directory, not the line, determines the instance.
            if event.by_engines:
                event = replace(event, **own)
            elif isinstance(event, ev.Unknown):
                event = replace(event, data=event.data | own)
            else:
                raise CodecError(f"an engine does not write {event.kind!r}")
            encode_event(event)  # NaN cannot be logged
        except ValueError as e:
            self._skip(str(e))
            return None
        return event

    def _skip(self, why: str) -> None:
        if not self._skipped:
            self._first = why[:200]
        self._skipped += 1


def end_torn_line(path: Path) -> None:
    """End an unfinished last line, whose writer has died, so that the next line is separate.

    Call only while no engine writes. Raises OSError only if the disk is full.
    """
    try:
        fd = open_regular(path, os.O_RDWR | os.O_APPEND)
    except OSError:
        return
    with closing_fd(fd):
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            os.write(fd, b"\n")

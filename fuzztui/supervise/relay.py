"""Carrying an engine's ``events.jsonl`` into the campaign log, each line exactly once.

How far each file was carried is written down (``supervisor/offsets.json``) only after
the log was flushed, so a supervisor that is killed in between carries some lines a
second time: those it recognises, because they are in the log after the sequence
number that the offsets belong to.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fuzztui.supervise.files import open_regular, read_json, replace_text, status
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
    Unknown,
)
from fuzztui.wire.text import several

__all__ = ["Offsets", "Relay", "end_torn_line", "relayed"]

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

    @classmethod
    def load(cls, path: Path, last_seq: int) -> Offsets:
        """Read them back. A file that is gone, foreign or ahead of the log is a fresh start."""
        match read_json(path):
            # Ahead of the log: the machine crashed and the log's end was never on disk.
            case {"seq": int(seq), "bytes": dict(sizes)} if 0 <= seq <= last_seq:
                good = {k: v for k, v in sizes.items() if type(v) is int and v >= 0}
                return cls(seq, good)
        return cls(0, {})

    def save(self, path: Path) -> None:
        """Write them down. Raises OSError."""
        replace_text(path, json.dumps({"seq": self.seq, "bytes": dict(self.bytes)}))


def relayed(records: Iterable[Record]) -> dict[str, deque[str]]:
    """Of the records after the offsets' ``seq``: those an engine may have written."""
    lines: dict[str, deque[str]] = {}
    for record in records:
        event = record.event
        if isinstance(event, _OF_ENGINES):
            lines.setdefault(event.instance, deque()).append(encode_event(event))
        elif isinstance(event, Unknown) and isinstance(event.data.get("instance"), str):
            lines.setdefault(event.data["instance"], deque()).append(encode_event(event))
    return lines


class Relay:
    """One instance's ``events.jsonl``, read from where the last supervisor got to.

    :param done: what the log holds already of the lines after ``offset``.
    """

    def __init__(self, path: Path, instance: str, offset: int, done: deque[str]) -> None:
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
                if event is not None and not self._in_log(event):
                    events.append(event)
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
        if found is None or found.st_size == self.offset:
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

    def _in_log(self, event: Event) -> bool:
        """Whether the log holds it already. The log holds a prefix of the lines, in order."""
        if not self._done:
            return False
        line = encode_event(event)
        if line not in self._done:
            self._done.clear()
            return False
        while self._done.popleft() != line:
            pass  # of the supervisor's own
        return True


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

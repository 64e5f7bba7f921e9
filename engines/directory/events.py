"""``events.jsonl``: what the AFL-shaped directory cannot say."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzztui.wire.codec import CodecError, decode_event, encode_event
from fuzztui.wire.events import (
    CommandApplied,
    CommandRejected,
    EntryDescribed,
    Event,
    FindingDescribed,
    Message,
    MutantRuns,
    MutantsFound,
    MutantState,
)

__all__ = ["EventLog", "ReportedEvents", "read_told"]

_PENDING_LIMIT = 10_000


class EventLog:
    """Appends events, one line and one ``write()`` each, opening the file by name each time.

    No descriptor is held (targets close what is open), and two processes may append.
    While the disk is full events wait in memory; the oldest messages go first if
    there are too many.
    """

    def __init__(self, file: Path, instance: str) -> None:
        self._file, self.instance = file, instance
        self._pending: deque[bytes] = deque(maxlen=_PENDING_LIMIT)
        self._torn = False

    def write(self, event: Event) -> None:
        """Append; never raises OSError."""
        self._pending.append(encode_event(event).encode() + b"\n")
        self.flush()

    def write_all(self, events: Iterable[Event]) -> None:
        """Append many at once: those of one command are one write. Never raises OSError.

        After a torn write the whole lot is written again, so they must bear being told twice.
        """
        lines = b"".join(encode_event(event).encode() + b"\n" for event in events)
        if lines:
            self._pending.append(lines)
            self.flush()

    def say(self, level: str, text: str) -> None:
        """A message for users: ``level`` is info, warning or error."""
        self.write(Message(level, text, self.instance))

    def flush(self) -> bool:
        """Try again to write what could not be written. Is all of it written now?"""
        try:
            while self._pending:
                self._append(self._pending[0])
                self._pending.popleft()
        except OSError:
            return False
        return True

    def _append(self, line: bytes) -> None:
        if self._torn:
            line = b"\n" + line  # ends the part of a line that did get written
        fd = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            written = os.write(fd, line)
        finally:
            os.close(fd)
        self._torn = 0 < written < len(line)
        if written < len(line):
            raise OSError("short write")


@dataclass(slots=True)
class ReportedEvents:
    """What was already told in ``events.jsonl``, for whoever continues from it."""

    answered: set[str] = field(default_factory=set)
    """Ids of commands that were applied or rejected."""
    findings: dict[str, FindingDescribed] = field(default_factory=dict)
    """The last description of each signature."""
    entries: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Why each described queue entry was kept."""
    mutants: dict[str, MutantState] = field(default_factory=dict)
    """The last word on each mutant that there was one on."""
    killed: dict[str, MutantState] = field(default_factory=dict)
    """The kills that were not taken back."""
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    """How each mutant was last described."""
    runs: dict[str, list[int]] = field(default_factory=dict)
    """How often each was reached, infected, run."""


def read_told(file: Path) -> ReportedEvents:
    """Scan the event file; torn and foreign lines are passed over."""
    told = ReportedEvents()
    try:
        with file.open("rb") as lines:
            for line in lines:
                try:
                    _note(told, decode_event(line))
                except CodecError:
                    continue
    except OSError:
        pass
    return told


def _note(told: ReportedEvents, event: Event) -> None:
    match event:
        case CommandApplied() | CommandRejected():
            told.answered.add(event.id)
        case FindingDescribed():
            told.findings[event.signature] = event
        case EntryDescribed():
            told.entries[event.id] = tuple(map(str, event.reasons))
        case MutantsFound():
            told.found.update({str(m.get("id")): m for m in event.mutants if isinstance(m, dict)})
        case MutantRuns():
            told.runs.update({k: v for k, v in event.runs.items() if isinstance(v, list)})
        case MutantState():
            told.mutants[event.id] = event
            if event.state == "killed":
                told.killed[event.id] = event
            elif event.state in ("pending", "alive"):
                told.killed.pop(event.id, None)

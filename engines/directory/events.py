"""``events.jsonl``: what the engine reports besides AFL's files."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzztui.kernel.base import ranges
from fuzztui.kernel.wire.codec import CodecError, decode_event, encode_event
from fuzztui.kernel.wire.events import (
    VARYING,
    CommandApplied,
    CommandRejected,
    ComparisonsReported,
    EntryDescribed,
    Event,
    FindingDescribed,
    GoalsUncovered,
    LinesCovered,
    Message,
    MutantRuns,
    MutantsFound,
    MutantState,
    PropertiesFound,
    PropertyFigures,
    SourceFile,
    TargetingStats,
)

_PENDING_LIMIT = 10_000
"""Events that wait in memory while the file cannot be written."""


class EventLog:
    """Appends events, each as one line with one ``write()``.

    The file is opened by name each time, because targets close descriptors, and because two
    processes append. While the disk is full, events wait in memory; beyond 10,000 events the
    oldest are dropped.
    """

    def __init__(self, file: Path, instance: str) -> None:
        self._file, self.instance = file, instance
        self._pending: deque[bytes] = deque(maxlen=_PENDING_LIMIT)
        self._torn = False

    def write(self, event: Event) -> None:
        """Append an event; never raises OSError."""
        self._pending.append(encode_event(event).encode() + b"\n")
        self.flush()

    def write_all(self, events: Iterable[Event]) -> None:
        """Append many events with one ``write()``. Never raises OSError.

        After a torn write all of them are written again, so readers must accept repeated events.
        """
        lines = b"".join(encode_event(event).encode() + b"\n" for event in events)
        if lines:
            self._pending.append(lines)
            self.flush()

    def message(self, level: str, text: str, about: str = "") -> None:
        """Report a message for users. ``level``: ``info``, ``warning`` or ``error``."""
        self.write(Message(level, text, self.instance, about))

    def flush(self) -> bool:
        """Write the waiting events. Returns whether none is left."""
        try:
            while self._pending:
                self._append(self._pending[0])
                self._pending.popleft()
        except OSError:
            return False
        return True

    def _append(self, line: bytes) -> None:
        if self._torn:
            line = b"\n" + line  # ends the torn line
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
    """The events in ``events.jsonl`` that a new worker continues from."""

    answered: set[str] = field(default_factory=set)
    """Ids of commands that were applied or rejected."""
    findings: dict[str, FindingDescribed] = field(default_factory=dict)
    """The last description of each finding, by file: rules may change its signature."""
    entries: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Why each queue entry was kept, by id."""
    calls: dict[int, int] = field(default_factory=dict)
    """The calls in an execution of each queue entry, by id."""
    tokens: list[str] = field(default_factory=list)
    """Tokens that comparisons brought."""
    trials: dict[str, int] = field(default_factory=dict)
    """Trials by the operation that made their inputs."""
    mutants: dict[str, MutantState] = field(default_factory=dict)
    """The last state of each mutant, by id."""
    killed: dict[str, MutantState] = field(default_factory=dict)
    """The kill of each killed mutant, unless the mutant was reset later."""
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The last description of each mutant."""
    runs: dict[str, list[int]] = field(default_factory=dict)
    """How often each mutant was reached, infected and run."""
    near: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The entry that came nearest to killing a survivor, and how near, by id of the mutant."""
    properties: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The last figures of each property, by name."""
    property_reasons: dict[str, Any] = field(default_factory=dict)
    """Why each property of a suite was not run, as last reported, by name."""
    varying: bool = False
    """Whether a message has proposed the fixed clock."""
    targeting: TargetingStats | None = None
    """The last statistics of types; None: none were reported."""
    goals: dict[str, dict[str, Any]] | None = None
    """The uncovered goals by location, as last reported; None: none were reported."""
    source_files: dict[str, str] = field(default_factory=dict)
    """The hash of each source file, by path, as last reported."""
    lines: dict[str, set[int]] = field(default_factory=dict)
    """The covered statements of these files."""
    branches: dict[str, set[int]] = field(default_factory=dict)
    """The covered branches of these files, as their indexes."""


def read_reported(file: Path) -> ReportedEvents:
    """Read the events of earlier workers; torn and unknown lines are skipped."""
    reported = ReportedEvents()
    try:
        with file.open("rb") as lines:
            for line in lines:
                try:
                    _note(reported, decode_event(line))
                except CodecError:
                    continue
    except OSError:
        pass
    return reported


def _note(reported: ReportedEvents, event: Event) -> None:
    match event:
        case CommandApplied() | CommandRejected():
            reported.answered.add(event.id)
        case Message():
            reported.varying |= event.about == VARYING
        case FindingDescribed():
            reported.findings[event.file] = event
        case PropertiesFound():
            reported.property_reasons |= event.reasons
        case PropertyFigures():
            reported.properties |= {n: f for n, f in event.figures.items() if isinstance(f, dict)}
        case EntryDescribed():
            reported.entries[event.id] = tuple(map(str, event.reasons))
            reported.calls[event.id] = event.calls
        case ComparisonsReported():
            reported.tokens += event.tokens
            reported.trials.update({k: n for k, n in event.trials.items() if type(n) is int})
        case MutantsFound():
            reported.found.update(
                {str(m.get("id")): m for m in event.mutants if isinstance(m, dict)}
            )
        case MutantRuns():
            reported.runs.update({k: v for k, v in event.runs.items() if isinstance(v, list)})
            for id_, near in event.near.items():
                match near:
                    case [str(entry), str(how)]:
                        reported.near[id_] = entry, how
        case TargetingStats():
            reported.targeting = event
        case GoalsUncovered():
            goals = {} if event.anew or reported.goals is None else reported.goals
            for location in event.gone:
                goals.pop(location, None)
            goals.update({at: row for at, row in event.left.items() if isinstance(row, dict)})
            reported.goals = goals
        case SourceFile():
            if reported.source_files.get(event.path) != event.sha:
                reported.source_files[event.path] = event.sha
                reported.lines.pop(event.path, None)
                reported.branches.pop(event.path, None)
        case LinesCovered():
            _add_ranges(reported.lines, event.lines)
            _add_ranges(reported.branches, event.branches)
        case MutantState():
            reported.mutants[event.id] = event
            if event.state == "killed":
                reported.killed[event.id] = event
            elif event.state in ("pending", "alive"):
                reported.killed.pop(event.id, None)


def _add_ranges(to: dict[str, set[int]], more: dict[str, Any]) -> None:
    for path, text in more.items():
        if isinstance(text, str):
            to.setdefault(path, set()).update(ranges.decode(text))

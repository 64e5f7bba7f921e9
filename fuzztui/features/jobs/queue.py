"""The queue of a bag of jobs: which of them wait, run, and have ended; ends are kept on disk.

The journal is a file of JSON lines that is only appended to, so that a kill leaves at most a torn
last line. Each end that counts (a result, or a cancellation) is one line. A bag that is opened
again continues: what has a line keeps it, and everything else waits in the order of the bag, so
that what ran comes first. Definitions of jobs are the caller's, and not in the journal. Journals of
former versions also have lines about attempts and failures; these are passed over.
"""

from __future__ import annotations

import enum
import fcntl
import json
import os
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.bounds import loads

VERSION: Final = 1
MAX_RESULT: Final = 64 << 20
"""Bytes of the result of one job."""


class JobState(enum.StrEnum):
    """The states of a job; the last three are ends, of which only the first has a result."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDS: Final = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


class QueueError(Exception):
    """The journal cannot be used; the text is for the user."""


@dataclass(slots=True)
class QueuedJob:
    """One job's state. ``attempt``: number of the newest attempt; 0: it was never started."""

    id: str
    state: JobState = JobState.WAITING
    attempt: int = 0
    lost: int = 0
    """Number of attempts whose worker was lost."""
    where: str = ""
    result: dict[str, Any] | None = field(default=None, repr=False)
    why: str = ""
    """Why the job failed or was cancelled."""


class JobQueue:
    """All jobs of a bag, in the order in which they are started. Not thread-safe."""

    def __init__(self, journal: Path, bag: str, ids: Sequence[str]) -> None:
        """Open a journal, or begin one. Raises :class:`QueueError` and OSError.

        ``bag``: a digest of all that results depend on; the journal of another bag is replaced.
        ``ids``: all jobs, in their usual order.
        """
        self.jobs = {id_: QueuedJob(id_) for id_ in ids}
        if len(self.jobs) != len(ids):
            raise QueueError(f"{journal}: two jobs have the same id")
        self._waiting = deque(ids)
        self.counts = dict.fromkeys(JobState, 0) | {JobState.WAITING: len(ids)}
        fd = os.open(journal, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._file = os.fdopen(fd, "r+b", buffering=0)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise QueueError(
                f"{journal}: another process works on these jobs; wait for its end"
            ) from None
        self.resumed = self._read(bag)

    @property
    def ended(self) -> bool:
        """Whether no job waits or runs."""
        return not self.counts[JobState.WAITING] and not self.counts[JobState.RUNNING]

    def waiting(self) -> list[str]:
        """The ids of waiting jobs, in the order in which they will be started."""
        return list(self._waiting)

    # ------------------------------------------------------------------ states

    def take(self) -> QueuedJob | None:
        """Start a new attempt of the next job. None if none waits."""
        if not self._waiting:
            return None
        job = self.jobs[self._waiting.popleft()]
        self._apply(job, JobState.RUNNING)
        job.attempt += 1
        job.where = ""
        return job

    def done(self, id_: str, attempt: int, result: dict[str, Any]) -> bool:
        """Record a result. Returns False, and changes nothing, if the job has already ended.

        Any attempt may bring it: of two that ran at the same time, the first one counts.
        """
        return self._end(id_, JobState.DONE, {"attempt": attempt, "result": result})

    def failed(self, id_: str, attempt: int, why: str) -> bool:
        """Record a failure of the newest attempt. Returns whether that changed anything."""
        if self.jobs[id_].attempt != attempt:
            return False
        return self._end(id_, JobState.FAILED, {"attempt": attempt, "why": why})

    def lost(self, id_: str, attempt: int, why: str, *, counts: bool) -> bool:
        """The newest attempt is lost with its worker: the job waits again, before all others.

        ``counts``: whether the loss may be the job's fault. Returns whether that changed anything.
        """
        job = self.jobs[id_]
        if job.state != JobState.RUNNING or job.attempt != attempt:
            return False
        job.lost += counts
        job.why = why
        self._apply(job, JobState.WAITING)
        self._waiting.appendleft(id_)
        return True

    def cancel(self, id_: str, why: str = "cancelled") -> bool:
        """End a job without a result. Returns whether it had not ended yet."""
        return self._end(id_, JobState.CANCELLED, {"why": why})

    def close(self, *, sync: bool = True) -> None:
        """Close the journal, and wait until it is on the disk."""
        if sync:
            os.fsync(self._file.fileno())
        self._file.close()

    # ----------------------------------------------------------------- journal

    def _end(self, id_: str, state: JobState, more: dict[str, Any]) -> bool:
        job = self.jobs[id_]
        if job.state in ENDS:
            return False
        if state != JobState.FAILED:  # a bag that is opened again tries failed jobs again
            # First on the disk: a full disk must not leave a result that is only in memory.
            self._write({"job": id_, "state": state, **more})
        if job.state == JobState.WAITING:
            self._waiting.remove(id_)
        self._apply(job, state)
        job.result, job.why = more.get("result"), more.get("why", "")
        return True

    def _apply(self, job: QueuedJob, state: JobState) -> None:
        self.counts[job.state] -= 1
        self.counts[state] += 1
        job.state = state

    def _write(self, line: dict[str, Any]) -> None:
        """Append a line, to the kernel: a kill of this process loses nothing. Raises OSError."""
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        at = self._file.tell()
        try:
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) :]
        except OSError:
            self._file.truncate(at)  # a full disk: the next line must begin at a line's start
            self._file.seek(at)
            raise

    def _read(self, bag: str) -> int:
        """Read the journal, or replace one of another bag. Returns the number of ended jobs."""
        end, is_same = 0, False
        for n, raw in enumerate(self._file_lines()):
            end += len(raw)
            try:
                line = loads(raw)
            except ValueError:
                continue  # torn: the disk was full, or a writer was killed there
            if n == 0:
                is_same = line == {"bag": bag, "version": VERSION}
                if not is_same:
                    break
            self._take_up(line)
        if not is_same:
            self._file.truncate(0)
            self._file.seek(0)
            self._write({"bag": bag, "version": VERSION})
            return 0
        self._file.truncate(end)
        self._file.seek(end)
        return sum(self.counts[state] for state in ENDS)

    def _file_lines(self) -> Iterable[bytes]:
        """All complete lines."""
        with open(self._file.fileno(), "rb", closefd=False) as file:
            while (raw := file.readline(2 * MAX_RESULT)).endswith(b"\n"):
                yield raw

    def _take_up(self, line: Any) -> None:
        match line:
            case {"job": str(id_), "state": "done", "result": dict()}:
                state = JobState.DONE
            case {"job": str(id_), "state": "cancelled"}:
                state = JobState.CANCELLED
            case _:
                return
        job = self.jobs.get(id_)
        if job is not None and job.state not in ENDS:
            self._waiting.remove(id_)
            self._apply(job, state)
            job.result, job.why = line.get("result"), str(line.get("why", ""))

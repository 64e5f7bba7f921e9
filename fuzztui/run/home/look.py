"""Make the summary of one run, reading a bounded amount of its log at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.lock import running, trouble
from fuzztui.kernel.session import LiveClock, Session
from fuzztui.run.home.summary import MAX_TEXT, UNREADABLE, RunSummary, summary_of

CHECK_S: Final = 2.0
"""Maximum seconds for verifying a log that was read to its end: enough for 1.5 GB."""

Files = tuple[tuple[str, int, int], ...]


class RunLook:
    """One run that is looked at again and again. Not safe for use by two threads at once.

    The log stays open while the run has a supervisor, or records are left to read.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self.pid: int | None = None
        """The process id of the living supervisor; -1: not readable, None: there is none."""
        self.trouble = ""
        """Why the supervisor cannot write its log; an empty string if it can. Untrusted."""
        self.summary = RunSummary("")
        self.done = False
        """Whether the log was read to its end at the last look."""
        self._session: Session | None = None
        self._seen: Files | None = None
        """The log's files when it was read to its end without a supervisor."""

    @property
    def state(self) -> State | None:
        """The folded state, while the log is open."""
        return None if self._session is None else self._session.state

    @property
    def files(self) -> Files:
        """The log's files from which :attr:`summary` was made; empty while the log may grow."""
        return self._seen or ()

    @property
    def progress(self) -> tuple[int, int]:
        """The number of the last record that was read, and that of the log's last one."""
        session = self._session
        return (0, 0) if session is None else (session.state.seq, session.end_seq)

    def take(self, summary: RunSummary) -> None:
        """Use the summary of an earlier look until the log changes."""
        self.summary, self.done, self._seen = summary, True, fingerprint(self.run)

    def look(self, seconds: float) -> bool:
        """Update the summary, with ``seconds`` for reading. Returns whether all was read.

        Never raises LogError or OSError: that a log cannot be read is a summary too.
        """
        try:
            self.pid = running(self.run)
            self.trouble = trouble(self.run) if self.pid is not None else ""
            if self._session is None:
                if self.pid is None and fingerprint(self.run) == self._seen:
                    return True
                self._session = Session(self.run, LiveClock())
                self._session.draft()
            self.done = self._read(self._session, seconds)
        except (LogError, OSError) as e:
            self.close()
            self.summary = RunSummary(UNREADABLE, reason_of(e, self.run))
            self._seen, self.done = None, True  # the next look tries again
        return self.done

    def _read(self, session: Session, seconds: float) -> bool:
        files = fingerprint(self.run) if self.pid is None else None
        end = time.monotonic() + seconds
        session.poll()
        while session.behind and time.monotonic() < end:
            session.poll()
        done = not session.behind
        if done and files is not None:
            session.check(CHECK_S)
        self.summary = summary_of(
            session.state,
            supervised=self.pid is not None,
            damage=session.problems,
            unread=0 if done else max(0, session.end_seq - session.state.seq),
        )
        self._seen = files if done else None
        if done and files is not None:
            self.close()
        return done

    def close(self) -> None:
        """Close the log; checkpoints that were made of a long one are kept."""
        session, self._session = self._session, None
        if session is not None:
            session.save_draft()


def reason_of(error: LogError | OSError, run: Path) -> str:
    """Return why a log cannot be read; paths in the run are relative to it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error).replace(f"{run}/", "")
    return text[:MAX_TEXT] or type(error).__name__


def fingerprint(run: Path) -> Files:
    """Return name, size and mtime of each of the log's files; one differs after each new record."""
    return tuple(sorted(_files(run / "log")))


def _files(log: Path) -> Iterator[tuple[str, int, int]]:
    try:
        with os.scandir(log) as entries:
            for entry in entries:
                if ".jsonl" in entry.name:
                    status = entry.stat(follow_symlinks=False)
                    yield entry.name, status.st_size, status.st_mtime_ns
    except OSError:
        return

"""The files of the instance directory: AFL's names, and writing that waits for a full disk.

A file is written next to its folder and then renamed into it, so readers of ``queue/`` see whole
files only. While the disk is full, the engine waits and reports this.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fuzztui.engines.directory.events import EventLog
from fuzztui.engines.inputs.candidate import NO_ENTRY, Candidate
from fuzztui.kernel.base.atomic import PART, replace_bytes
from fuzztui.kernel.wire.afl import id_of
from fuzztui.kernel.wire.finding_kinds import CRASHES, FOLDERS

QUEUE: Final = "queue"

_RETRY_S: Final = 1.0
_LIMITS: Final = (errno.EFBIG, errno.EMFILE)
"""Errors from resource limits that the target may have lowered."""
_README: Final = """\
Each file here is an input on which the target failed: its bytes, or the choices
of the campaign's generator. "fuzztui repro" runs an input again and shows the outcome.
events.jsonl, next to this folder, describes each finding.
"""


def candidate_tail(candidate: Candidate, time_ms: int, execs: int, *, new: bool = False) -> str:
    """The part of AFL's file name after the id: ``src:..,time:..,execs:..,op:..[,+cov]``."""
    if candidate.peer:
        parts = [f"sync:{candidate.peer}", f"src:{candidate.src:06d}"]
    else:
        parts = []
        if candidate.src != NO_ENTRY:
            second = f"+{candidate.src2:06d}" if candidate.src2 != NO_ENTRY else ""
            parts.append(f"src:{candidate.src:06d}{second}")
        parts += [f"time:{time_ms}", f"execs:{execs}"]
        if candidate.origin:
            parts.append("orig:" + re.sub(r"[^A-Za-z0-9._+-]", "_", candidate.origin)[:100])
        else:
            parts.append(f"op:{candidate.op}")
    if new:
        parts.append("+cov")
    return ",".join(parts)


def entry_ids(folder: Path) -> dict[int, str]:
    """File names of a queue, crashes or hangs folder, by id; empty if there is no folder."""
    found: dict[int, str] = {}
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names, not 100,000 Path objects
    except OSError:
        return found
    for name in names:
        if (number := id_of(name, digits=6)) >= 0:
            found[number] = name
    return found


class Store:
    """Writes files of one instance directory."""

    def __init__(self, directory: Path, log: EventLog, wait: Callable[[float], None]) -> None:
        """``wait(seconds)`` is called while the disk is full, and may raise ``Stopping``.

        ``wait(0)`` is called first if a resource limit was exceeded, and may raise ``Limited``.
        """
        self.directory = directory
        self._log, self._wait = log, wait
        self._next_entry = -1

    def create(self) -> None:
        """Make the folders. Raises OSError."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (QUEUE, *FOLDERS, ".synced"):
            (self.directory / folder).mkdir(mode=0o700, exist_ok=True)

    def next_id(self, folder: str) -> int:
        """The id of the next file in this folder."""
        if folder != QUEUE:  # few files, and the monitor adds some too
            return max(entry_ids(self.directory / folder), default=-1) + 1
        if self._next_entry < 0:
            self._next_entry = max(entry_ids(self.directory / folder), default=-1) + 1
        return self._next_entry

    def put(self, folder: str, name: str, data: bytes) -> None:
        """Add a file with the id :meth:`next_id`. Waits and raises as :meth:`write`."""
        self.write(self.directory / folder / name, data)
        if folder == QUEUE and self._next_entry >= 0:
            self._next_entry += 1
        if folder == CRASHES and not (self.directory / folder / "README.txt").exists():
            with contextlib.suppress(OSError):
                self.replace(self.directory / folder / "README.txt", _README.encode())

    def write(self, path: Path, data: bytes) -> None:
        """Replace a file as a whole; waits while the disk is full. Raises ``Stopping``."""
        reported = again = False
        while True:
            try:
                self.replace(path, data)
            except OSError as e:
                if e.errno in _LIMITS and not again:
                    again = True
                    self._wait(0.0)  # restores limits that the target has lowered
                    continue
                if not reported and self._restore_folder(path.parent):
                    continue
                if not reported:
                    why = e.strerror or str(e)
                    self._log.message(
                        "error", f"cannot write {path}: {why}; waiting until writing works again"
                    )
                    reported = True
                self._wait(_RETRY_S)
            else:
                break
        if reported:
            self._log.message("info", f"wrote {path.name}; continuing")

    def _restore_folder(self, folder: Path) -> bool:
        """Create a deleted folder. Returns False if the folder exists or cannot be created."""
        try:
            folder.mkdir(mode=0o700)
        except OSError:
            return False
        self._log.message("warning", f"{folder} was deleted with its files; created an empty one")
        return True

    def replace(self, path: Path, data: bytes) -> None:
        """Replace a file as a whole, without waiting. Raises OSError."""
        replace_bytes(path, data, self.directory)

    def tidy(self) -> None:
        """Remove partial files of a killed process."""
        for part in self.directory.glob(f"{PART}*"):
            with contextlib.suppress(OSError):
                part.unlink()

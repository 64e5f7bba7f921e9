"""Which process is which: pids are used again, so a pid alone proves nothing.

A process is known by pid, start time and boot. What escaped its tree (a fork server
calls ``setsid``, an orphan is handed to another parent) is found by the marker that
every process of a run has in its environment.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["MARK_INSTANCE", "MARK_RUN", "ProcessId", "boot_id", "descendants", "kill_marked"]

MARK_RUN = "FUZZTUI_RUN"
"""Environment variable: absolute path of the run that a process belongs to."""

MARK_INSTANCE = "FUZZTUI_INSTANCE"
"""Environment variable: the instance that a process belongs to."""

_PROC = Path("/proc")
_DEAD = ("Z", "X", "x")
_STOPPED = "T"
_ROUNDS = 50


@functools.cache
def boot_id() -> str:
    """Changes with every boot of the machine."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process for all time; ``start`` in clock ticks since ``boot``."""

    pid: int
    start: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """The living process with this pid now."""
        found = _look(pid)
        return cls(pid, found[1], boot_id()) if found else None

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> ProcessId | None:
        """What :meth:`to_json` made; None for anything else."""
        match data:
            case {"pid": int(pid), "start": int(start), "boot": str(boot)} if pid > 0:
                return cls(pid, start, boot)
        return None

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {"pid": self.pid, "start": self.start, "boot": self.boot}

    def alive(self) -> bool:
        """Whether that very process still runs (a zombie does not)."""
        return ProcessId.of(self.pid) == self

    def state(self) -> str:
        """One of ``R S D T t ...`` (proc(5)); "" once it is dead."""
        found = _look(self.pid)
        return found[2] if found and found[1] == self.start else ""

    def stopped(self) -> bool:
        """Whether a signal (SIGSTOP, SIGTSTP) keeps it from running. A debugger does not count."""
        return self.state() == _STOPPED

    def signal(self, number: int) -> None:
        """Send a signal to that very process, or to nobody."""
        try:
            fd = os.pidfd_open(self.pid)
        except OSError:
            return
        try:
            # The descriptor pins the pid: what is checked now is what is hit.
            if self.alive():
                signal.pidfd_send_signal(fd, number)
        except OSError:
            pass
        finally:
            os.close(fd)


def _look(pid: int) -> tuple[int, int, str] | None:
    """Parent, start time and state of a living process."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the command's name may hold anything
    if len(fields) < 20 or fields[0] in _DEAD:
        return None
    return int(fields[1]), int(fields[19]), fields[0]


def _pids() -> Iterator[int]:
    return (int(path.name) for path in _PROC.iterdir() if path.name.isdigit())


def descendants(pid: int) -> list[ProcessId]:
    """The living processes below ``pid`` now."""
    children: dict[int, list[ProcessId]] = {}
    for other in _pids():
        if found := _look(other):
            children.setdefault(found[0], []).append(ProcessId(other, found[1], boot_id()))
    below, todo = [], [pid]
    while todo:
        fresh = children.get(todo.pop(), [])
        below += fresh
        todo += (child.pid for child in fresh)
    return below


def marked(run: Path, instance: str | None = None) -> list[ProcessId]:
    """The living processes of a run, or of one instance of it, but for this one."""
    wanted = {os.fsencode(f"{MARK_RUN}={run}")}
    if instance is not None:
        wanted.add(os.fsencode(f"{MARK_INSTANCE}={instance}"))
    found = []
    for pid in _pids():
        with contextlib.suppress(OSError):
            environment = (_PROC / str(pid) / "environ").read_bytes()
            if pid != os.getpid() and wanted <= set(environment.split(b"\0")):
                process = ProcessId.of(pid)
                found += [process] if process else []
    return found


def kill_marked(run: Path, instance: str | None = None) -> int:
    """SIGKILL everything marked until nothing is left; returns how many there were.

    Blocks for as long as the kernel takes to end them, a second at most.
    """
    seen: set[ProcessId] = set()
    for _ in range(_ROUNDS):
        left = marked(run, instance)
        if not left:
            break
        seen.update(left)
        for process in left:
            process.signal(signal.SIGKILL)
        time.sleep(0.02)
    return len(seen)

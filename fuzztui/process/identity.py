"""Which process is which: pids are used again, so a pid alone proves nothing.

A process is known by pid, start time and boot. What escaped its tree (a fork server
calls ``setsid``, an orphan is handed to another parent) is found by the marker that
every process of a run has in its environment.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = [
    "MARK_INSTANCE", "MARK_RUN", "ProcessId", "boot_id", "boot_time", "check_proc", "descendants",
    "kill_marked",
]  # fmt: skip

MARK_RUN = "FUZZTUI_RUN"
"""Environment variable: absolute path of the run that a process belongs to."""

MARK_INSTANCE = "FUZZTUI_INSTANCE"
"""Environment variable: the instance that a process belongs to."""

_PROC = Path("/proc")
_DEAD = ("Z", "X", "x")
_STOPPED, _TRACED = "T", "t"
_ROUNDS = 50


@functools.cache
def boot_id() -> str:
    """Changes with every boot of the machine."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def boot_time() -> int:
    """When the machine was booted, by its wall clock as of now; 0 if the kernel does not say.

    In seconds since the epoch. It changes when the wall clock is set.
    """
    try:
        lines = (_PROC / "stat").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("btime "))
    except (OSError, ValueError, IndexError, StopIteration):
        return 0


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process for all time; ``start`` in clock ticks since ``boot``."""

    pid: int
    start: int
    boot: str
    boot_time: int = field(default=0, compare=False)
    """:func:`boot_time` when :meth:`to_json` made this; 0: unknown (runs of earlier versions)."""

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """The living process with this pid now."""
        found = _look(pid)
        return cls(pid, found[1], boot_id()) if found else None

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> ProcessId | None:
        """What :meth:`to_json` made; None for anything else."""
        match data:
            case {"pid": int(pid), "start": int(start), "boot": str(boot), **more} if pid > 0:
                wall = more.get("boot_time")
                return cls(pid, start, boot, wall if isinstance(wall, int) else 0)
        return None

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        wall = self.boot_time or boot_time()
        return {"pid": self.pid, "start": self.start, "boot": self.boot, "boot_time": wall}

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

    def held_by(self) -> int:
        """The process that traces this one and has stopped it, as a debugger does; 0: none."""
        if self.state() != _TRACED:
            return 0
        try:
            text = (_PROC / str(self.pid) / "status").read_text(errors="replace")
        except OSError:
            return 0
        tracer = re.search(r"^TracerPid:\s+([0-9]+)$", text, re.MULTILINE)
        return int(tracer[1]) if tracer else 0

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


def check_proc() -> None:
    """Raise OSError without /proc: no process could be found, or ended."""
    if not (_PROC / "self").exists():
        what = "is not mounted, and no process can be watched without it; mount -t proc proc /proc"
        raise OSError(errno.ENOENT, what, str(_PROC))


def _pids() -> Iterator[int]:
    check_proc()
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

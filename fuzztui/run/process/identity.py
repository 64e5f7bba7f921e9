"""Identify processes reliably, because process ids are reused.

A process is identified by pid, start time and boot. Processes outside the process tree of an engine
(a fork server calls ``setsid``, an orphan gets another parent) are found by the marker that every
process of a run has in its environment.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MARK_RUN = "FUZZTUI_RUN"
"""Environment variable: absolute path of the run that a process belongs to."""

MARK_INSTANCE = "FUZZTUI_INSTANCE"
"""Environment variable: the instance that a process belongs to."""

_PROC = Path("/proc")
_DEAD = ("Z", "X", "x")
_STOPPED, _TRACED = "T", "t"
_ROUNDS = 50
_LOOKS, _LOOK_S = 3, 0.003
_KERNEL_THREAD = 0x00200000
"""``PF_KTHREAD`` in a process's flags (proc(5), ``stat``; ``include/linux/sched.h``)."""


@functools.cache
def boot_id() -> str:
    """Return the kernel's id of the present boot."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def boot_time() -> int:
    """Return the time of the boot in seconds since the epoch; 0: unknown.

    The value changes when the wall clock is set.
    """
    try:
        lines = (_PROC / "stat").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("btime "))
    except (OSError, ValueError, IndexError, StopIteration):
        return 0


@dataclass(frozen=True, slots=True)
class ProcessId:
    """The identity of one process; ``start``: clock ticks since ``boot``."""

    pid: int
    start: int
    boot: str
    boot_time: int = field(default=0, compare=False)
    """:func:`boot_time` when :meth:`to_json` was called; 0: unknown (runs of earlier versions)."""

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """Return the process that has this pid now; None if none is alive."""
        found = _look(pid)
        return cls(pid, found[1], boot_id()) if found else None

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> ProcessId | None:
        """Read the result of :meth:`to_json`. Returns None for anything else."""
        match data:
            case {"pid": int(pid), "start": int(start), "boot": str(boot), **more} if pid > 0:
                wall = more.get("boot_time")
                return cls(pid, start, boot, wall if isinstance(wall, int) else 0)
        return None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        wall = self.boot_time or boot_time()
        return {"pid": self.pid, "start": self.start, "boot": self.boot, "boot_time": wall}

    def alive(self) -> bool:
        """Whether exactly this process still runs (a zombie does not)."""
        return ProcessId.of(self.pid) == self

    def state(self) -> str:
        """Return one of ``R S D T t ...`` (proc(5)); an empty string if the process is dead."""
        found = _look(self.pid)
        return found[2] if found and found[1] == self.start else ""

    def stopped(self) -> bool:
        """Whether a signal (SIGSTOP, SIGTSTP) has stopped the process; debuggers do not count."""
        return self.state() == _STOPPED

    def held_by(self) -> int:
        """Return the pid of the debugger that has stopped this process; 0: none."""
        if self.state() != _TRACED:
            return 0
        try:
            text = (_PROC / str(self.pid) / "status").read_text(errors="replace")
        except OSError:
            return 0
        tracer = re.search(r"^TracerPid:\s+([0-9]+)$", text, re.MULTILINE)
        return int(tracer[1]) if tracer else 0

    def signal(self, number: int) -> None:
        """Send a signal to exactly this process; do nothing if it is dead."""
        try:
            fd = os.pidfd_open(self.pid)
        except OSError:
            return
        try:
            # The descriptor pins the pid: the checked process gets the signal.
            if self.alive():
                signal.pidfd_send_signal(fd, number)
        except OSError:
            pass
        finally:
            os.close(fd)


def _stat(pid: int) -> list[str]:
    """The fields of a living process after its name (proc(5), ``stat``); empty if there is none."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return []
    fields = text.rpartition(")")[2].split()  # the command's name may contain anything
    return [] if len(fields) < 20 or fields[0] in _DEAD else fields


def _look(pid: int) -> tuple[int, int, str] | None:
    """Parent, start time and state of a living process."""
    fields = _stat(pid)
    return (int(fields[1]), int(fields[19]), fields[0]) if fields else None


def check_proc() -> None:
    """Raise OSError without /proc, which is needed to find and kill processes."""
    if not (_PROC / "self").exists():
        what = "not mounted, but needed to watch processes; run mount -t proc proc /proc"
        raise OSError(errno.ENOENT, what, str(_PROC))


def _pids() -> Iterator[int]:
    check_proc()
    return (int(path.name) for path in _PROC.iterdir() if path.name.isdigit())


def descendants(pid: int) -> list[ProcessId]:
    """Return the living descendants of ``pid``."""
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
    """Return the living processes of a run, or of one of its instances, except this process.

    Blocks for some milliseconds if a process is just being started: until the kernel has filled
    in a new program's environment, the environment reads as empty.
    """
    wanted = {os.fsencode(f"{MARK_RUN}={run}")}
    if instance is not None:
        wanted.add(os.fsencode(f"{MARK_INSTANCE}={instance}"))
    found, empty = _with_marks(wanted, _pids())
    for _ in range(_LOOKS):
        if not (empty := [pid for pid in empty if _is_program(pid)]):
            break
        time.sleep(_LOOK_S)
        late, empty = _with_marks(wanted, empty)
        found += late
    return found


def _with_marks(wanted: set[bytes], pids: Iterable[int]) -> tuple[list[ProcessId], list[int]]:
    """The processes that have all marks, and the pids whose environment is empty."""
    found, empty = [], []
    for pid in pids:
        with contextlib.suppress(OSError):
            environment = (_PROC / str(pid) / "environ").read_bytes()
            if not environment:
                empty.append(pid)
            elif pid != os.getpid() and wanted <= set(environment.split(b"\0")):
                process = ProcessId.of(pid)
                found += [process] if process else []
    return found, empty


def _is_program(pid: int) -> bool:
    """Whether a living process is not one of the kernel's own threads."""
    fields = _stat(pid)
    return bool(fields) and not int(fields[6]) & _KERNEL_THREAD


def kill_marked(run: Path, instance: str | None = None) -> int:
    """Kill all marked processes until none is left. Returns their number.

    Blocks until the kernel has ended the processes, one second at most.
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

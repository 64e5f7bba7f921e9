"""The processes of one campaign: found by a mark in their environment, named by their role."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "FUZZTUI_CHAOS"
"""Environment variable of every process that a series starts; its value names the series."""

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A living process; ``started`` in clock ticks since the boot."""

    pid: int
    parent: int
    started: int
    role: str
    state: str
    command: str

    def signal(self, number: int) -> bool:
        """Send a signal to this very process; False if it is gone."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            now = _stat(self.pid)  # the descriptor pins the pid
            if now is None or now[1] != self.started:
                return False
            signal.pidfd_send_signal(descriptor, number)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True


def find(mark: str, private: bool = False) -> list[Process]:
    """The processes with this mark, oldest first.

    ``private``: this process has an IPC namespace of its own, so that whatever else is in the
    namespace belongs to the campaign too, also if it has lost its environment.
    """
    wanted = f"{MARK}={mark}".encode()
    namespace = _namespace(os.getpid()) if private else None
    raw: dict[int, tuple[int, int, str, list[str]]] = {}
    for path in PROC.iterdir():
        if not path.name.isdigit() or (pid := int(path.name)) == os.getpid():
            continue
        with suppress(OSError):
            marked = wanted in (path / "environ").read_bytes().split(b"\0")
            if marked or (namespace is not None and _namespace(pid) == namespace):
                words = (path / "cmdline").read_bytes().decode(errors="replace").split("\0")
                if (now := _stat(pid)) and words != [""]:
                    raw[pid] = (*now, words)
    roles = {pid: _role(words) for pid, (_, _, _, words) in raw.items()}
    found = []
    for pid, (parent, started, state, words) in raw.items():
        role, above = roles[pid], roles.get(parent, "")
        if not role or (role == above == "worker"):  # a forked worker has its words
            role = _child_role(above)
        found.append(Process(pid, parent, started, role, state, " ".join(words).strip()[:300]))
    return sorted(found, key=lambda p: (p.started, p.pid))


def kill_all(mark: str, private: bool = False) -> None:
    """SIGKILL every process of the campaign until none is left."""
    while found := find(mark, private):
        signal_all(found, signal.SIGKILL)


def signal_all(processes: Iterable[Process], number: int) -> int:
    """Send a signal to each; returns how many were still there."""
    return sum(process.signal(number) for process in processes)


def _stat(pid: int) -> tuple[int, int, str] | None:
    """Parent, start time and state; None for a zombie and for no process."""
    try:
        fields = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZXx" else (int(fields[1]), int(fields[19]), fields[0])


def _namespace(pid: int) -> str | None:
    try:
        return os.readlink(PROC / str(pid) / "ns" / "ipc")  # noqa: PTH115 (no file's name)
    except OSError:
        return None


def _role(words: list[str]) -> str:
    """What a process is by its command line; an empty string if only its parent decides that."""
    if Path(words[0]).name == "afl-fuzz":
        return "afl-fuzz"
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    if module == "fuzztui.run.supervise":
        return "supervisor"
    if module == "fuzztui.engines":
        if "--worker" in words:
            return "worker"
        return "monitor" if len([w for w in words if w]) <= 5 else "helper"
    if module.startswith("fuzztui."):
        return "helper"
    if any(Path(word).name == "fuzztui" for word in words[:2]):
        return "screen" if "attach" in words else "command"
    return ""


def _child_role(parent: str) -> str:
    """What a process without a name of its own is, by its parent's role."""
    return {"worker": "isolated", "afl-fuzz": "forkserver", "helper": "helper"}.get(parent, "other")

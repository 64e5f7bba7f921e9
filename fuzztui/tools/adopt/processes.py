"""Living afl-fuzz processes of a sync directory, and whether they may be stopped from here.

A process belongs to the directory if it runs afl-fuzz with this ``-o``. Pids in files of AFL's are
not used: they may be those of other programs now.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.run.process.identity import MARK_RUN, ProcessId, boot_time
from fuzztui.tools.adopt.command import (
    FUZZER,
    FuzzerCommand,
    kept_variables,
    name_of,
    parse_command,
    value_of,
)

END_S: Final = 120.0
"""Seconds that afl-fuzz may need to end its input and write its files."""
_POLL_S: Final = 0.1

_PROC = Path("/proc")
_DELETED = " (deleted)"
_NAMESPACES = ("mnt", "pid")


@dataclass(frozen=True, slots=True)
class LiveFuzzer:
    """A living afl-fuzz of the directory."""

    name: str
    process: ProcessId
    command: FuzzerCommand | None
    problem: str
    """Why it cannot be adopted; empty if it can."""

    @property
    def began(self) -> float:
        """The Unix time of its start."""
        return boot_time() + self.process.start / os.sysconf("SC_CLK_TCK")


def living(directory: Path) -> dict[str, LiveFuzzer]:
    """Return the afl-fuzz processes that work in a sync directory, by the names of instances."""
    found = {
        pid: argv for pid in _pids() if _is_for(argv := _words(pid, "cmdline"), pid, directory)
    }
    fuzzers = (
        # A fork of afl-fuzz has its command line until it has become the program.
        _look(pid, argv)
        for pid, argv in found.items()
        if _parent(pid) not in found
    )
    return {fuzzer.name: fuzzer for fuzzer in fuzzers if fuzzer is not None}


def end(fuzzers: Iterable[LiveFuzzer], progress: Callable[[str], None]) -> list[LiveFuzzer]:
    """Stop processes by SIGTERM, and wait. Returns those that still run after ``END_S`` seconds."""
    left = list(fuzzers)
    for fuzzer in left:
        fuzzer.process.signal(signal.SIGTERM)
        fuzzer.process.signal(signal.SIGCONT)  # a stopped process does not handle SIGTERM
    until = time.monotonic() + END_S
    while left and time.monotonic() < until:
        time.sleep(_POLL_S)
        for fuzzer in [one for one in left if not one.process.alive()]:
            left.remove(fuzzer)
            progress(f"{fuzzer.name} has ended; {len(left)} to go")
    return left


def _pids() -> Iterator[int]:
    return (int(path.name) for path in _PROC.iterdir() if path.name.isdigit())


def _words(pid: int, file: str) -> list[str]:
    with contextlib.suppress(OSError):
        data = (_PROC / str(pid) / file).read_bytes()
        return data.removesuffix(b"\0").decode(errors="surrogateescape").split("\0")
    return []


def _is_for(argv: list[str], pid: int, directory: Path) -> bool:
    """Whether a process is an afl-fuzz whose ``-o`` is the directory, also in a container."""
    if not argv or not os.path.basename(argv[0]).startswith(FUZZER):  # noqa: PTH119
        return False
    out = value_of(argv, "-o")
    root = _PROC / str(pid) / ("root" if out.startswith("/") else "cwd")
    try:
        return bool(out) and (root / out.lstrip("/")).samefile(directory)
    except OSError:  # of another user
        return out.startswith("/") and os.path.realpath(out) == os.path.realpath(directory)


def _parent(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
        return int(text.rpartition(")")[2].split()[1])
    return 0


def _look(pid: int, argv: list[str]) -> LiveFuzzer | None:
    process = ProcessId.of(pid)
    if process is None or _words(pid, "cmdline") != argv:  # ended; the pid may be another one's
        return None
    environment = _words(pid, "environ")
    command, problem = None, _foreign(pid, environment)
    if not problem:
        try:
            program = os.readlink(_PROC / str(pid) / "exe").removesuffix(_DELETED)  # noqa: PTH115
            cwd = Path(os.readlink(_PROC / str(pid) / "cwd"))  # noqa: PTH115
            command = parse_command(argv, kept_variables(environment), cwd, Path(program))
        except (OSError, ValueError) as e:
            problem = str(e)
    return LiveFuzzer(name_of(argv), process, command, problem)


def _foreign(pid: int, environment: list[str]) -> str:
    """Why a process is not one that this user may stop from here; empty if it is."""
    runs = (text.partition("=")[2] for text in environment if text.startswith(f"{MARK_RUN}="))
    if run := next(runs, ""):
        return f"its process {pid} belongs to the run {run} of fuzztui: fuzztui attach {run}"
    try:
        owner = (_PROC / str(pid)).stat().st_uid
        if owner != os.geteuid():
            return f"its process {pid} is that of {_user(owner)}: adopt the fleet as this user"
        if any(_namespace(pid, kind) != _namespace(os.getpid(), kind) for kind in _NAMESPACES):
            return (
                f"its process {pid} runs in a container: stop it there, or run fuzztui adopt there"
            )
    except OSError as e:
        return f"its process {pid} cannot be looked at: {e.strerror or e}"
    return ""


def _namespace(pid: int, kind: str) -> str:
    return os.readlink(_PROC / str(pid) / "ns" / kind)  # noqa: PTH115


def _user(uid: int) -> str:
    try:
        return f"the user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"the user {uid}"

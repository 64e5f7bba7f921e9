"""Resource limits: restore those that a target has lowered, detect that memory is used up, and
keep descriptors within the limit of open files under numbers that targets do not use.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import time
from pathlib import Path
from resource import (
    RLIM_INFINITY,
    RLIMIT_AS,
    RLIMIT_CPU,
    RLIMIT_DATA,
    RLIMIT_FSIZE,
    RLIMIT_NOFILE,
    RLIMIT_NPROC,
    RLIMIT_STACK,
    RUSAGE_CHILDREN,
    getpagesize,
    getrlimit,  # bound before a target replaces them
    getrusage,
    prlimit,
    setrlimit,
)
from typing import Final

from fuzztui.engines.base.errors import CannotStart

_NEEDED: Final = {
    RLIMIT_FSIZE: ("RLIMIT_FSIZE", "files can no longer be written"),
    RLIMIT_NOFILE: ("RLIMIT_NOFILE", "files can no longer be opened"),
}
"""Limits without which an engine cannot save anything."""
_MEANS: Final = {
    RLIMIT_AS: "memory can no longer be allocated",
    RLIMIT_DATA: "memory can no longer be allocated",
    RLIMIT_NPROC: "processes and threads can no longer be started",
}
_STATM: Final = {RLIMIT_AS: 0, RLIMIT_DATA: 5}
"""Fields of /proc/self/statm with the usage of each memory limit."""
_OTHERS: Final = {
    RLIMIT_AS: "RLIMIT_AS",
    RLIMIT_CPU: "RLIMIT_CPU",
    RLIMIT_DATA: "RLIMIT_DATA",
    RLIMIT_NPROC: "RLIMIT_NPROC",
    RLIMIT_STACK: "RLIMIT_STACK",
}
_MIN_FILES: Final = 32
"""Limit of open files below which nothing can be saved."""
_NO_THREAD: Final = "can't start new thread"
_MIN_MEMORY: Final = 16 << 20
"""Bytes that must be left, or later inputs fail for lack of memory."""


def cpu_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Limits:
    """The limits at the time of construction, or of the last :meth:`settle`."""

    def __init__(self) -> None:
        self._before = {number: getrlimit(number) for number in (*_NEEDED, *_OTHERS)}

    def settle(self) -> int:
        """Accept limits that the import of a target has set, unless an engine needs more.

        Returns as :meth:`restore`.
        """
        lost = [number for number in _STATM if self._is_short(number)]
        self._before |= {number: getrlimit(number) for number in _OTHERS}
        return lost[0] if lost else self.restore()

    def restore(self) -> int:
        """Raise soft limits that were lowered, as far as the hard limits allow (about 1 us).

        Returns the number of a needed limit whose hard limit is too low now; -1 if there is none.
        A memory limit that leaves ``_MIN_MEMORY`` is accepted: programs restrict themselves so.
        """
        lost = -1
        for number, before in self._before.items():
            now = getrlimit(number)
            if now == before:
                continue
            soft, hard = before[0], now[1]
            reachable = soft if _size(soft) <= _size(hard) else hard
            if _size(now[0]) < _size(reachable):
                with contextlib.suppress(OSError, ValueError):
                    setrlimit(number, (reachable, hard))
            if self._is_short(number):
                lost = number
            elif number in _STATM:
                self._before[number] = getrlimit(number)
        return lost

    def _is_short(self, number: int) -> bool:
        before, hard = self._before[number], getrlimit(number)[1]
        return hard != before[1] and _size(hard) < min(_size(before[0]), _least(number))

    def explains(self, error: BaseException | None) -> int:
        """The number of a hard limit that was lowered and may have raised ``error``; -1: none.

        Only RLIMIT_NPROC is examined, for errors of starting a process or thread.
        """
        fits = type(error) is BlockingIOError  # not a class of the target's: no code of it runs
        if type(error) is RuntimeError:
            fits = any(type(text) is str and text == _NO_THREAD for text in error.args)
        lowered = _size(getrlimit(RLIMIT_NPROC)[1]) < _size(self._before[RLIMIT_NPROC][0])
        return RLIMIT_NPROC if fits and lowered else -1


def _least(number: int) -> float:
    """The smallest hard limit with which the engine and later inputs work."""
    if number == RLIMIT_FSIZE:
        return math.inf
    if number == RLIMIT_NOFILE:
        return _MIN_FILES
    if number in _STATM:
        used = Path("/proc/self/statm").read_text().split()
        return int(used[_STATM[number]]) * getpagesize() + _MIN_MEMORY
    return 0


def lowered_text(number: int, limit: int) -> str:
    """The effect of a lowered limit, as text that follows "the target"."""
    name, means = _NEEDED.get(number) or (_OTHERS[number], _MEANS[number])
    return f"lowered {name} to {limit}: {means}"


def lowered_signature(text: str) -> str:
    """The signature for a :func:`lowered_text`: the text without the limit's value."""
    return text.partition(" to ")[0]


def lowered_by(pid: int) -> str:
    """Hard limits of a child that are below those of this process.

    Returns text that follows how the child ended (", after its target lowered RLIMIT_CPU to 1");
    empty if there are none. The child may have ended, but must not be reaped yet.
    """
    found = []
    for number, name in _OTHERS.items():
        try:
            hard = prlimit(pid, number)[1]
        except OSError:
            return ""
        if _size(hard) < _size(getrlimit(number)[1]):
            found.append(f"{name} to {hard}")
    return f", after its target lowered {' and '.join(found)}" if found else ""


def _size(limit: int) -> float:
    return math.inf if limit == RLIM_INFINITY else limit


_LEFT: Final = 1 / 8
"""Share of the limit below which the free address space counts as used up."""


def memory_used_up() -> bool:
    """Whether less than 1/8 of the limited address space is left; False without a limit."""
    limit, _ = getrlimit(RLIMIT_AS)
    if limit == RLIM_INFINITY:
        return False
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return limit - pages * getpagesize() < limit * _LEFT


_HIGH_FD: Final = 200
"""Targets often close or replace low descriptors."""
_ENGINE_FILES: Final = 48
"""Open files that an engine and its children need (40 are enough for engine "mu2")."""
_ENOUGH_FILES: Final = 256
"""Soft limit of open files that is not raised any further."""
_RAISED_FILES: Final = 1024
_FREE_FILES: Final = 16
"""Descriptors above the chosen number that stay free for more copies."""


def allow_descriptors() -> None:
    """Raise a low soft limit of open files to the hard limit. Raises :class:`CannotStart`."""
    soft, hard = getrlimit(RLIMIT_NOFILE)
    if soft != RLIM_INFINITY and soft < _ENOUGH_FILES and soft != hard:
        soft = _RAISED_FILES if hard == RLIM_INFINITY else min(hard, _RAISED_FILES)
        setrlimit(RLIMIT_NOFILE, (soft, hard))
    if 0 <= soft < _ENGINE_FILES:
        raise CannotStart(
            f"ulimit -n: {soft} open files are too few, an engine needs {_ENGINE_FILES}:"
            " raise the limit in the shell that starts fuzztui (ulimit -n 1024)"
        )


def high_copy(fd: int) -> int:
    """Duplicate a descriptor, close-on-exec, under a high number; ``fd`` stays open.

    The number is below 200 if the limit of open files is lower. Raises OSError.
    """
    soft, _ = getrlimit(RLIMIT_NOFILE)
    number = _HIGH_FD
    if soft != RLIM_INFINITY:
        number = max(3, min(number, soft - _FREE_FILES))
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, number)

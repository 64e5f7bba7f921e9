"""Resource limits of this process that a target lowers: restore what can be restored."""

from __future__ import annotations

import contextlib
import math
from resource import (
    RLIM_INFINITY,
    RLIMIT_AS,
    RLIMIT_CPU,
    RLIMIT_DATA,
    RLIMIT_FSIZE,
    RLIMIT_NOFILE,
    RLIMIT_NPROC,
    RLIMIT_STACK,
    getrlimit,  # bound before a target replaces them
    prlimit,
    setrlimit,
)
from typing import Final

__all__ = ["Limits", "lowered_by", "lowered_signature", "lowered_text"]

_NEEDED: Final = {
    RLIMIT_FSIZE: ("RLIMIT_FSIZE", "files can no longer be written"),
    RLIMIT_NOFILE: ("RLIMIT_NOFILE", "files can no longer be opened"),
}
"""Limits without which an engine cannot save anything."""
_OTHERS: Final = {
    RLIMIT_AS: "RLIMIT_AS",
    RLIMIT_CPU: "RLIMIT_CPU",
    RLIMIT_DATA: "RLIMIT_DATA",
    RLIMIT_NPROC: "RLIMIT_NPROC",
    RLIMIT_STACK: "RLIMIT_STACK",
}
_MIN_FILES: Final = 32
"""Open files, of all of the process, without which nothing can be saved."""


class Limits:
    """The limits as they were when this was made (or at :meth:`settle`)."""

    def __init__(self) -> None:
        self._before = {number: getrlimit(number) for number in (*_NEEDED, *_OTHERS)}

    def settle(self) -> int:
        """Accept what the import of a target has set, but for what an engine needs.

        Returns as :meth:`restore`.
        """
        self._before |= {number: getrlimit(number) for number in _OTHERS}
        return self.restore()

    def restore(self) -> int:
        """Raise soft limits that were lowered, as far as the hard limits allow (about 1 us).

        Returns the number of a needed limit whose hard limit is too low now; -1 if there is none.
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
            if number == RLIMIT_FSIZE:
                short = _size(hard) < _size(soft)
            else:
                short = number == RLIMIT_NOFILE and _size(hard) < min(_MIN_FILES, _size(soft))
            if short:
                lost = number
        return lost


def lowered_text(number: int, limit: int) -> str:
    """What a lowered limit means, with the target as the subject."""
    name, means = _NEEDED.get(number, (f"resource limit {number}", "it cannot be restored"))
    return f"lowered {name} to {limit}: {means}"


def lowered_signature(text: str) -> str:
    """Groups the findings that :func:`lowered_text` describes, whatever the limit is now."""
    return text.partition(" to ")[0]


def lowered_by(pid: int) -> str:
    """Hard limits of a child that are below those of this process.

    A text that follows how the child ended (", after its target lowered RLIMIT_CPU to 1"); empty
    if there are none. The child may have ended, but must not have been waited for.
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

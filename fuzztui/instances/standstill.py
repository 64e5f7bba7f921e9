"""An instance that does no work: it uses no CPU time, or a signal has stopped its process.

Decides when the process is continued, and when it is killed so that it is started again.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path

from fuzztui.base.files import check_writable
from fuzztui.process.identity import ProcessId, descendants
from fuzztui.wire.events import Event, Message

__all__ = ["HALTED", "HALT_LOOKS", "STANDSTILLS", "Standstill"]

HALTED = "stopped by a signal (SIGSTOP)"
"""Why an instance is paused that nobody paused here."""

STILL_S = 300.0
"""Seconds in which a stalled instance uses no CPU time, after which it is started again."""

MEASURE_S = 10.0
"""Seconds between two measures that count: more were a suspended machine."""

IDLE_CPU = 0.05
"""Cores: a worker monitor that only waits uses less."""

STANDSTILLS = 3
"""So many times in a row it is started again for that, if nothing is executed in between."""

HALT_LOOKS, BAD_HALT_LOOKS = 600, 30
"""Looks (one a second) at a stopped engine, after which it is continued: the sender of the signal
is unknown. Fewer if its worker still runs, or if it was continued before: then its target stopped
it, and not a user."""

CONTINUES = 4
"""So many times in a row it is continued, if nothing is executed in between: then it is started
again."""


class Standstill:
    """The standstills of one instance, from its first process to its last.

    :param timeout_s: the target's time limit.
    :param says_hello: whether it is an engine of ours, whose workers are below its process.
    """

    def __init__(
        self,
        name: str,
        directory: Path,
        record: Callable[[Event], object],
        *,
        timeout_s: float,
        says_hello: bool,
    ) -> None:
        self._name, self._directory, self._record = name, directory, record
        self._timeout_s, self._says_hello = timeout_s, says_hello
        self.why = ""
        """Why the process was killed here; "" if it was not."""
        self.times = 0
        """So many times in a row it was killed, and nothing was executed in between."""
        self.looks = 0
        """So many looks in a row have found it stopped by a signal."""
        self._continued = 0
        self._in_vain = 0
        """So many times in a row it was continued, and nothing was executed in between."""
        self._still_s, self._measured_at = 0.0, 0.0

    def begun(self) -> None:
        """A process was started."""
        self.looks = self._continued = self._in_vain = 0

    def executed(self) -> None:
        """It has executed something."""
        self.times = self._in_vain = 0

    def ended(self) -> str:
        """The process has ended; returns why it was killed here, "" if it was not."""
        why, self.why = self.why, ""
        return why

    def measured(self, process: ProcessId | None, cpu: float, progress_at: float) -> None:
        """Kill ``process`` if it has stalled without CPU time. ``cpu``: cores that it uses now.

        ``process``: None if it has not stalled. Counts only time between two measures: neither a
        pause, nor a machine that was suspended, nor a log that cannot be written (then nothing is
        measured), nor a debugger's breakpoint. ``progress_at``: when it last made progress.
        """
        now = time.monotonic()
        step, self._measured_at = min(now - self._measured_at, MEASURE_S), now
        if process is None or cpu > IDLE_CPU:
            self._still_s = 0.0
            return
        self._still_s += step
        if self._still_s < max(STILL_S, 3 * self._timeout_s) or self.why:
            return
        self._still_s = 0.0
        below = descendants(process.pid)
        if _is_debugged(process, below):
            return
        try:
            check_writable(self._directory)
        except OSError:
            return  # that is what the engine waits for
        why = f"{now - progress_at:.0f} s without an execution, and it used no CPU time"
        if stopped := [p.pid for p in below if p.stopped()]:
            why += (
                f"; process {stopped[0]} below it is stopped by a signal: did its target do that?"
            )
        self._kill(process, why)

    def halted(self, process: ProcessId) -> None:
        """Continue an engine that was stopped for too long, not by fuzztui. Call at each look.

        Kill one that was continued in vain, unless a debugger holds it.
        """
        if self.looks not in (HALT_LOOKS, BAD_HALT_LOOKS):
            return
        below = descendants(process.pid)
        if self._in_vain >= CONTINUES and not _is_debugged(process, below):
            if not self.why:
                why = "its target seems to stop it (SIGSTOP): it was continued"
                self._kill(process, f"{why} {self._in_vain} times, and executed nothing")
            return
        bad = bool(self._continued)
        if self._says_hello:  # afl-fuzz's fork server is in a session of its own
            bad |= any(not p.stopped() for p in below)
        if self.looks == BAD_HALT_LOOKS and not bad:
            return
        self._continued += 1
        self._in_vain += 1
        times = f" (time {self._continued})" if self._continued > 1 else ""
        self._record(
            Message(
                "warning",
                f"{HALTED} for about {self.looks} s, not by fuzztui: it is continued{times}."
                " Did its target stop it? To pause it, use the command pause",
                self._name,
            )
        )
        self.looks = 0  # it may be stopped again before the next look, as often as that happens
        for each in (*below, process):
            each.signal(signal.SIGCONT)

    def _kill(self, process: ProcessId, why: str) -> None:
        """It is started again then, but not without end."""
        self.why = why
        self.times += 1
        process.signal(signal.SIGKILL)  # what is below it is swept


def _is_debugged(process: ProcessId, below: Collection[ProcessId]) -> bool:
    """Whether a debugger holds the process or one of those ``below``.

    A target that traces its own children is no debugger.
    """
    every = [process, *below]
    own = {each.pid for each in every}
    return any(each.held_by() not in (0, *own) for each in every)

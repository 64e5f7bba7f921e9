"""Detect an instance that does no work: it uses no CPU time, or a signal stopped its process.

Decides when the process is continued, and when it is killed in order to be started again.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path

from fuzztui.kernel.base.files import check_writable
from fuzztui.kernel.wire.events import Event, Message
from fuzztui.run.process.identity import ProcessId, descendants

HALTED = "stopped by a signal (SIGSTOP)"
"""The logged reason of a pause that no user of fuzztui requested."""

STILL_S = 300.0
"""Seconds without CPU time after which a stalled instance is started again."""

MEASURE_S = 10.0
"""Most seconds between two measurements that count: a longer gap is a suspended machine."""

IDLE_CPU = 0.05
"""Cores; a worker monitor that only waits uses less."""

STANDSTILLS = 3
"""Restarts after a standstill, without an execution in between, before an instance fails."""

HALT_LOOKS, BAD_HALT_LOOKS = 600, 30
"""Checks (one per second) that find an engine stopped, after which fuzztui continues the engine,
because the sender of the signal is unknown. The smaller number holds if the engine's worker still
runs, or if the engine was continued before: then the target has stopped it, not a user."""

CONTINUES = 4
"""Continuations without an execution in between, after which a stopped engine is restarted."""


class Standstill:
    """The standstills of one instance, from its first process to its last.

    :param timeout_s: the target's time limit, in seconds.
    :param says_hello: whether the engine is in-process; its workers are below its process.
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
        """Why this class killed the process; an empty string if it did not."""
        self.times = 0
        """Number of kills since the last execution."""
        self.looks = 0
        """Number of consecutive checks that found the process stopped by a signal."""
        self._continued = 0
        self._in_vain = 0
        """Number of continuations since the last execution."""
        self._still_s, self._measured_at = 0.0, 0.0

    def begun(self) -> None:
        """Note that a process was started."""
        self.looks = self._continued = self._in_vain = 0

    def executed(self) -> None:
        """Note that the engine executed something."""
        self.times = self._in_vain = 0

    def ended(self) -> str:
        """Note the end of the process. Returns :attr:`why` and resets it."""
        why, self.why = self.why, ""
        return why

    def measured(self, process: ProcessId | None, cpu: float, progress_at: float) -> None:
        """Kill ``process`` if it has stalled without CPU time. ``cpu``: cores in use now.

        ``process``: None if the instance is not stalled. Pauses, a suspended machine, a log that
        cannot be written (then nothing is measured) and a debugger's breakpoint do not count.
        ``progress_at``: time of the last progress, as of ``time.monotonic()``.
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
            return  # the engine waits until it can write
        why = f"no execution and no CPU time for {now - progress_at:.0f} s"
        if stopped := [p.pid for p in below if p.stopped()]:
            why += f"; its child process {stopped[0]} is stopped by a signal, maybe by the target"
        self._kill(process, why)

    def halted(self, process: ProcessId) -> None:
        """Continue an engine that another process's signal stopped ``HALT_LOOKS`` checks ago.

        Kills the engine after ``CONTINUES`` continuations without an execution, unless a debugger
        holds it. Call at each check.
        """
        if self.looks not in (HALT_LOOKS, BAD_HALT_LOOKS):
            return
        below = descendants(process.pid)
        if self._in_vain >= CONTINUES and not _is_debugged(process, below):
            if not self.why:
                why = f"continued {self._in_vain} times without an execution in between"
                self._kill(process, f"{why}; its target seems to stop it (SIGSTOP)")
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
                f"{HALTED} for about {self.looks} s, not by fuzztui: fuzztui continues it{times}."
                " Maybe its target stopped it. To pause it, use the command pause",
                self._name,
            )
        )
        self.looks = 0  # the engine may be stopped again before the next check
        for each in (*below, process):
            each.signal(signal.SIGCONT)

    def _kill(self, process: ProcessId, why: str) -> None:
        """Kill the engine; the life restarts it, at most ``STANDSTILLS`` times."""
        self.why = why
        self.times += 1
        process.signal(signal.SIGKILL)  # the life kills its descendants


def _is_debugged(process: ProcessId, below: Collection[ProcessId]) -> bool:
    """Whether a debugger holds the process or one of its descendants, ``below``.

    A target that traces its own children is not a debugger.
    """
    every = [process, *below]
    own = {each.pid for each in every}
    return any(each.held_by() not in (0, *own) for each in every)

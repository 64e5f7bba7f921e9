"""Running something in a forked child that may die or hang, and hearing what it has to tell.

The child is a copy of this process: what is loaded is there, what it changes is gone
with it. What it tells arrives at once, so whatever ends it, nothing that was told is lost.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import random
import resource
import select
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, NoReturn

from fuzztui.engines.execute.pipe import Pipe

__all__ = ["Death", "StopWatch", "Tell", "has_ended", "how_it_ended", "in_child", "stopped_by"]

Tell = Callable[[Any], None]
"""Send a JSON-able value to the parent; raises ValueError or TypeError if it is none."""

_POLL_S: Final = 0.05
_STOPPED_S: Final = 1.0
"""Seconds that a child may be stopped by a signal while its parent runs: longer is a hang."""
_LOOK_S: Final = 0.25
"""Seconds that count at most between two looks at a child."""
_PR_SET_PDEATHSIG: Final = 1
_WORDS: Final = 300

# Before a target replaces them.
_exit, _getpid = os._exit, os.getpid


@dataclass(frozen=True, slots=True)
class Death:
    """How a child ended; always the last that is heard of it.

    ``how``: *exited* (its work returned), *raised* (its work raised an exception), *died*
    (a signal, or an exit from within the work, whatever the status), *hung* (it told nothing
    for too long and was killed). ``words`` follow a subject: "was killed by SIGSEGV".
    ``status``: as of ``Popen.returncode``. SIGKILL may have come from outside (out of memory).
    ``stopped``: name of the signal that had stopped a child that *hung*, empty if it ran.
    """

    how: Literal["exited", "raised", "died", "hung"]
    words: str
    status: int = 0
    stopped: str = ""


def in_child(
    work: Callable[[Tell], None],
    *,
    silence_s: float,
    memory_bytes: int = 0,
    meanwhile: Callable[[], None] = lambda: None,
    patient: bool = True,
) -> Iterator[Any | Death]:
    """Call ``work(tell)`` in a forked child; yields each value told, then one :class:`Death`.

    The child is started by the first ``next()``. It is in a process group of its own, which
    is killed when it has ended, when it hangs, when the iterator is closed, and when this
    process dies. ``silence_s`` counts only time in which the parent listened. Timers are
    not inherited: work that needs its guard arms it (``Executor.in_child``).
    ``memory_bytes`` lowers the limit of the child's address space (0: as it is).
    ``meanwhile`` is called at least every 50 ms while this waits; what it raises ends the
    child. Not ``patient``: None is yielded, at once, whenever there is nothing to hear, so
    that the caller can do something else before the next ``next()``. Raises OSError if
    there is no process to be had.
    """
    pipe = Pipe()
    try:
        # The module's generator, which targets use, would seed itself again in the child.
        chance = random.getstate()
        parent = _getpid()
        prctl = _prctl()
        pid = os.fork()
        if pid == 0:
            _be_child(work, pipe, partial(_settle_in, parent, chance, memory_bytes, prctl))
        child = _Child(pid)
        try:
            yield from _listen(child, pipe, silence_s, meanwhile, patient=patient)
        finally:
            child.end()
    finally:
        pipe.close()


def how_it_ended(status: int) -> str:
    """``Popen.returncode`` in words that follow a subject: "was killed by SIGSEGV"."""
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def has_ended(pid: int) -> bool:
    """Whether this child of the calling process has ended; it is not reaped."""
    try:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # a target has SIGCHLD ignored
        return True
    # Stops of a child that had itself traced are reported, too: Popen.poll takes those for ends.
    return found is not None and found.si_code not in (os.CLD_TRAPPED, os.CLD_STOPPED)


def stopped_by(pid: int) -> str:
    """Name of the signal that stopped this child of the calling process; empty if it runs.

    A debugger that someone has attached keeps its stops to itself: the child counts as running.
    """
    try:
        found = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
    except OSError:
        return ""
    if found is None:
        return ""
    traced = ", traced" if found.si_code == os.CLD_TRAPPED else ""
    try:
        return signal.Signals(found.si_status).name + traced
    except ValueError:
        return f"signal {found.si_status}{traced}"


class StopWatch:
    """Notices that a child of the calling process stays stopped while the caller runs.

    A pause from outside stops both, and a suspended machine too: of the time between two looks,
    a quarter of a second counts.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._looked, self._stopped_s = time.monotonic(), 0.0
        self.name = ""
        """Of the signal that had stopped it at the last look; empty if it ran."""

    def look(self) -> str:
        """Name of the signal if the child has been stopped for 1 s, else an empty string.

        Call it at least four times a second.
        """
        now = time.monotonic()
        step, self._looked = min(now - self._looked, _LOOK_S), now
        self.name = stopped_by(self._pid)
        self._stopped_s = self._stopped_s + step if self.name else 0.0
        return self.name if self._stopped_s > _STOPPED_S else ""


# ---------------------------------------------------------------------------- the parent


def _listen(
    child: _Child,
    pipe: Pipe,
    silence_s: float,
    meanwhile: Callable[[], None],
    *,
    patient: bool,
) -> Iterator[Any | Death]:
    poll = select.poll()
    poll.register(pipe.reading, select.POLLIN)
    if child.fd >= 0:
        poll.register(child.fd, select.POLLIN)
    last: str | None = None
    silent_s, looked = 0.0, time.monotonic()
    stops = StopWatch(child.pid)
    while True:
        poll.poll(_POLL_S * 1000 if patient else 0)
        ended = child.has_ended()
        heard = False
        for word, value in pipe.heard():
            heard = True
            if word == "say":
                yield value
            else:
                last = str(value)
        now = time.monotonic()
        if ended or last is not None:
            yield _death(child.end(), last)
            return
        # A machine that slept or a parent that was busy is no silence of the child's.
        silent_s = 0.0 if heard else silent_s + min(now - looked, 4 * _POLL_S)
        stopped = stops.look()
        if stopped or silent_s > silence_s:
            stopped = stopped or stopped_by(child.pid)
            child.end()
            words = f"did not say anything for {silence_s:g} s"
            if stopped:
                words = f"stopped its own process ({stopped})"
            yield Death("hung", words, -signal.SIGKILL, stopped)
            return
        meanwhile()
        looked = time.monotonic()
        if not patient and not heard:
            yield None


def _death(status: int, last: str | None) -> Death:
    if last is None:
        return Death("died", how_it_ended(status), status)
    return Death("raised", f"raised {last}", 1) if last else Death("exited", how_it_ended(0))


class _Child:
    """The process, as its parent sees it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: int | None = None
        self.fd = -1
        """Readable when it has ended, where the kernel has that."""
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # the child does so too: whoever comes first
        with contextlib.suppress(OSError, AttributeError):
            self.fd = os.pidfd_open(pid)

    def has_ended(self) -> bool:
        """It is not reaped yet, so its number is its own still."""
        return has_ended(self.pid)

    def end(self) -> int:
        """Kill it and all that it started; returns its status (0 if that is unknown)."""
        if self._status is not None:
            return self._status
        gone = self.has_ended()
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(self.pid, signal.SIGKILL)
        try:
            _, raw = os.waitpid(self.pid, 0)
            self._status = os.waitstatus_to_exitcode(raw)
        except ChildProcessError:
            self._status = 0 if gone else -signal.SIGKILL
        if self.fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self.fd)
        return self._status


# ----------------------------------------------------------------------------- the child


def _be_child(work: Callable[[Tell], None], pipe: Pipe, settle_in: Callable[[], None]) -> NoReturn:
    """Never returns, and nothing of the caller's is run on the way out."""
    status = 1
    me = _getpid()
    try:
        pipe.settle_in()
        settle_in()
        status = _do(work, pipe, me)
    finally:
        _exit(status)


def _settle_in(
    parent: int,
    chance: tuple[Any, ...],
    memory_bytes: int,
    prctl: Callable[[int, int], int] | None,
) -> None:
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        _exit(1)  # it died before that
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    faulthandler.disable()  # it would write into the file that tells of the parent's death
    random.setstate(chance)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [n for n in (memory_bytes, soft, hard) if n != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))


def _do(work: Callable[[Tell], None], pipe: Pipe, me: int) -> int:
    def tell(value: object) -> None:
        if _getpid() == me:  # a target that forked may come back twice
            pipe.say("say", value)

    raised = ""
    try:
        work(tell)
    except BaseException as e:
        raised = _in_words(e)
    if _getpid() == me:
        pipe.say("end", raised)
    return 1 if raised else 0


def _in_words(error: BaseException) -> str:
    name = type(error).__qualname__
    try:
        return f"{name}: {' '.join(str(error).split())}"[:_WORDS]
    except BaseException:
        return name


def _prctl() -> Callable[[int, int], int] | None:
    """Looked up before the fork: little is safe after it."""
    try:
        found: Callable[[int, int], int] = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    return found

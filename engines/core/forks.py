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

from fuzztui.engines.core.pipe import Pipe

__all__ = ["Death", "Tell", "how_it_ended", "in_child"]

Tell = Callable[[Any], None]
"""Send a JSON-able value to the parent; raises ValueError or TypeError if it is none."""

_POLL_S: Final = 0.05
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
    """

    how: Literal["exited", "raised", "died", "hung"]
    words: str
    status: int = 0


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
        # The module's generator, which targets use, would seed itself anew in the child.
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
        if silent_s > silence_s:
            child.end()
            yield Death("hung", f"did not say anything for {silence_s:g} s", -signal.SIGKILL)
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
        self._pid = pid
        self._status: int | None = None
        self.fd = -1
        """Readable when it has ended, where the kernel has that."""
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # the child does so too: whoever comes first
        with contextlib.suppress(OSError, AttributeError):
            self.fd = os.pidfd_open(pid)

    def has_ended(self) -> bool:
        """It is not reaped yet, so its number is its own still."""
        try:
            return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # a target has SIGCHLD ignored
            return True

    def end(self) -> int:
        """Kill it and all that it started; returns its status (0 if that is unknown)."""
        if self._status is not None:
            return self._status
        gone = self.has_ended()
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(self._pid, signal.SIGKILL)
        try:
            _, raw = os.waitpid(self._pid, 0)
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

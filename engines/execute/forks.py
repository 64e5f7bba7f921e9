"""Run a function in a forked child that may die or hang, and receive its messages.

The child is a copy of this process: loaded modules are available, and its changes are lost when
it ends. Messages arrive at once, so messages sent before a death are not lost. A :class:`ChildHost`
runs one child after another under one policy.
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
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.execute.pipe import Pipe

Tell = Callable[[Any], None]
"""Send a value to the parent; raises ValueError or TypeError if it is not JSON data."""

_POLL_S: Final = 0.05
BUSY: Final = 0.75
"""Over its time limit, a process hangs if it has used the CPU for this share of the limit. One that
used less (it waits, or the machine is busy) gets ``timeout_wall`` times the limit."""
_QUIET_S: Final = 0.2
"""Seconds without a message after which the CPU time of a child is watched."""
_STOPPED_S: Final = 1.0
"""Seconds for which a child may be stopped by a signal; a longer stop counts as a hang."""
_MAX_STEP_S: Final = 0.25
"""Most seconds that count between two polls of a child."""
_PR_SET_PDEATHSIG: Final = 1
_SLACK_S: Final = 2.0
"""Seconds of silence that a child has beyond its trials' time limits."""
_MAX_DEATHS: Final = 3
_MAX_MESSAGE: Final = 300
"""Characters of an exception's message that are kept."""

# Before a target replaces them.
_exit, _getpid = os._exit, os.getpid


@dataclass(frozen=True, slots=True)
class Death:
    """How a child ended; always its last message.

    ``how``: *exited* (the work returned), *raised* (the work raised an exception), *died* (by a
    signal, or by an exit within the work, with any status), *hung* (sent no message for too long
    and was killed). ``words``: text that follows a subject: "was killed by SIGSEGV". ``status``:
    as ``Popen.returncode``; SIGKILL may have come from outside (out of memory). ``stopped``: the
    signal that had stopped a child that *hung*; empty if the child ran.
    """

    how: Literal["exited", "raised", "died", "hung"]
    words: str
    status: int = 0
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class ChildHost:
    """The policy for children that run the target: deadline, memory, what an error means."""

    doing: str
    """Names the work in the error that is raised if the work itself raises, which is a defect of
    fuzztui; empty: the caller handles such a :class:`Death`."""
    silence_s: float
    """Seconds without a message after which a child hangs; only time in which this process polls
    counts."""
    memory_bytes: int = 0
    """Address space limit of a child; 0: unchanged."""
    meanwhile: Callable[[], None] = lambda: None
    """Called at least every 50 ms while waiting; an exception from it ends the child."""
    patient: bool = True
    """Whether :meth:`child` waits for a message. If not, it yields None whenever there is none, so
    that the caller can do other work."""
    wall: float = 1.0
    """Multiple of :attr:`silence_s` after which a silent child that uses little CPU time hangs."""
    before: Callable[[], object] = bool
    """Called in this process before a child is forked."""

    @classmethod
    def of(
        cls, target: TargetSpec, doing: str, *, limits: int = 2, patient: bool = True
    ) -> ChildHost:
        """The policy for children that run ``target``.

        ``limits``: a child hangs that sends no message for this many time limits of a trial + 2 s.
        """
        silence_s = _SLACK_S + limits * target.timeout_s
        return cls(doing, silence_s, target.memory_bytes, patient=patient, wall=target.timeout_wall)

    def child(self, work: Callable[[Tell], None]) -> Generator[Any, None, None]:
        """Call ``work(tell)`` in a forked child. Yields each value sent, then one :class:`Death`.

        The first ``next()`` starts the child, in its own process group. The group is killed when
        the child has ended or hangs, when the iterator is closed, and when this process dies.
        Timers are not inherited: work that needs its guard arms it (``Executor.in_child``). Raises
        OSError if no process can be started, and :class:`CannotStart` for a defect of fuzztui.
        """
        self.before()
        pipe = Pipe()
        try:
            # ``random`` would seed its generator again in the child; targets use it.
            chance = random.getstate()
            parent = _getpid()
            prctl = _prctl()
            pid = os.fork()
            if pid == 0:
                enter = partial(_enter_child, parent, chance, self.memory_bytes, prctl)
                _be_child(work, pipe, enter)
            child = _Child(pid)
            try:
                yield from self._messages(child, pipe)
            finally:
                child.end()
        finally:
            pipe.close()

    def _messages(self, child: _Child, pipe: Pipe) -> Iterator[Any | Death]:
        poll = select.poll()
        poll.register(pipe.reading, select.POLLIN)
        if child.fd >= 0:
            poll.register(child.fd, select.POLLIN)
        last: str | None = None
        silent_s, polled_at, used_s = 0.0, time.monotonic(), -1.0
        limit_s, stops = self.silence_s, StopWatch(child.pid)
        while True:
            poll.poll(_POLL_S * 1000 if self.patient else 0)
            ended = has_ended(child.pid)
            heard = False
            for word, value in pipe.received():
                heard = True
                if word == "say":
                    yield value
                else:
                    last = str(value)
            now = time.monotonic()
            if ended or last is not None:
                yield self._death(child.end(), last)
                return
            # Time in which the machine was suspended or the parent was busy does not count.
            silent_s = 0.0 if heard else silent_s + min(now - polled_at, 4 * _POLL_S)
            if heard:
                used_s = -1.0
            elif used_s < 0 and silent_s > _QUIET_S:
                used_s = cpu_s(child.pid)
            late = silent_s > limit_s and (
                silent_s > self.wall * limit_s or cpu_s(child.pid) - used_s >= BUSY * limit_s
            )
            stopped = stops.look()
            if stopped or late:
                stopped = stopped or stopped_by(child.pid)
                child.end()
                words = f"sent no message for {limit_s:g} s"
                if stopped:
                    words = f"stopped its own process ({stopped})"
                yield Death("hung", words, -signal.SIGKILL, stopped)
                return
            self.meanwhile()
            polled_at = time.monotonic()
            if not self.patient and not heard:
                yield None

    def _death(self, status: int, last: str | None) -> Death:
        """``last``: the child's last message; None: it sent none, and empty: its work returned."""
        if last is None:
            return Death("died", how_it_ended(status), status)
        if not last:
            return Death("exited", how_it_ended(0))
        death = Death("raised", f"raised {last}", 1)
        if self.doing:
            raise self.defect(death)
        return death

    def ask(self, work: Callable[[Tell], None]) -> Any:
        """The only message of one child; None if the child ended without it."""
        answers = [m for m in self.child(work) if m is not None and not isinstance(m, Death)]
        return answers[0] if answers else None

    def series(
        self,
        more: Callable[[], bool],
        work: Callable[[Tell], None],
        answer: Callable[[Any], bool],
        ended: Callable[[Death], None],
    ) -> Iterator[None]:
        """Run ``work`` in one child after the other, as long as ``more()`` is true before a child.

        ``answer`` is called with each message; if it returns False, the child is killed. ``ended``
        is called with the death of a child that ended otherwise, and decides where the next child
        begins. Yields if there is no message, unless :attr:`patient`: then it waits.
        """
        while more():
            with contextlib.closing(self.child(work)) as messages:
                for message in messages:
                    if message is None:
                        yield
                    elif isinstance(message, Death):
                        ended(message)
                    elif not answer(message):
                        break

    def each(self, count: int, work: Callable[[int, Tell], None]) -> list[tuple[int, Any]]:
        """Have children do ``count`` pieces of work; return each message with its piece's number.

        ``work`` is called with the number of the first piece to do, and does all from there on.
        After each piece it sends a message whose ``next`` is the number of the next piece. If a
        piece kills its child, another child begins after this piece. The remaining pieces are not
        done if ``work`` returns, or after ``_MAX_DEATHS`` children.
        """
        at = deaths = 0
        found: list[tuple[int, Any]] = []

        def answer(message: dict[str, Any]) -> bool:
            nonlocal at
            found.append((at, message))
            at = int(message["next"])
            return True

        def ended(death: Death) -> None:
            nonlocal at, deaths
            deaths += 1
            at = at + 1 if death.how != "exited" else count

        for _ in self.series(
            lambda: at < count and deaths < _MAX_DEATHS, lambda send: work(at, send), answer, ended
        ):
            pass
        return found

    def defect(self, death: Death) -> CannotStart:
        """The error for a death that only a defect of fuzztui explains."""
        return CannotStart(f"{self.doing} failed, please report this: the child {death.words}")


def how_it_ended(status: int) -> str:
    """``Popen.returncode`` as text that follows a subject: "was killed by SIGSEGV"."""
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def has_ended(pid: int) -> bool:
    """Whether this child of the calling process has ended. Does not reap the child."""
    try:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # the target made SIGCHLD ignored
        return True
    # waitid also reports stops of a traced child, which Popen.poll takes for its end.
    return found is not None and found.si_code not in (os.CLD_TRAPPED, os.CLD_STOPPED)


def stopped_by(pid: int) -> str:
    """Name of the signal that stopped this child of the calling process; empty if it runs.

    Stops by an attached debugger are not reported: the child then counts as running.
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


def cpu_s(pid: int) -> float:
    """CPU seconds of a process and its threads; those of this moment if there is no ``/proc``."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return time.monotonic()


class StopWatch:
    """Detects that a child of the calling process stays stopped while the caller runs.

    A pause or a suspended machine stops both processes, so at most 0.25 s count between two polls.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._polled_at, self._stopped_s = time.monotonic(), 0.0
        self.name = ""
        """Name of the signal that had stopped the child at the last poll; empty if it ran."""

    def look(self) -> str:
        """Name of the signal if the child has been stopped for 1 s, else an empty string.

        Must be called at least four times per second.
        """
        now = time.monotonic()
        step, self._polled_at = min(now - self._polled_at, _MAX_STEP_S), now
        self.name = stopped_by(self._pid)
        self._stopped_s = self._stopped_s + step if self.name else 0.0
        return self.name if self._stopped_s > _STOPPED_S else ""


# ---------------------------------------------------------------------------- the parent


class ProcessEnd:
    """Waits for the end of a child of this process without polling it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.fd = -1
        """A pidfd, readable when the child has ended; -1 if the kernel has none."""
        with contextlib.suppress(OSError, AttributeError):
            self.fd = os.pidfd_open(pid)

    def wait(self, seconds: float) -> bool:
        """Whether the child has ended; waits at most ``seconds`` for this."""
        poll = select.poll()
        if self.fd >= 0:
            poll.register(self.fd, select.POLLIN)
        poll.poll(seconds * 1000)
        return has_ended(self.pid)

    def close(self) -> None:
        """Release the descriptor."""
        if self.fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self.fd)


class _Child(ProcessEnd):
    """The child process, in its parent."""

    def __init__(self, pid: int) -> None:
        self._status: int | None = None
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # the child does the same: the first call counts
        super().__init__(pid)

    def end(self) -> int:
        """Kill the child and its process group. Returns its status, 0 if unknown."""
        if self._status is not None:
            return self._status
        gone = has_ended(self.pid)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(self.pid, signal.SIGKILL)
        try:
            _, raw = os.waitpid(self.pid, 0)
            self._status = os.waitstatus_to_exitcode(raw)
        except ChildProcessError:
            self._status = 0 if gone else -signal.SIGKILL
        self.close()
        return self._status


# ----------------------------------------------------------------------------- the child


def _be_child(work: Callable[[Tell], None], pipe: Pipe, prepare: Callable[[], None]) -> NoReturn:
    """Run the work, then exit at once, without the caller's ``finally`` and exit handlers."""
    status = 1
    me = _getpid()
    try:
        pipe.enter_child()
        prepare()
        status = _do(work, pipe, me)
    finally:
        _exit(status)


def _enter_child(
    parent: int,
    chance: tuple[Any, ...],
    memory_bytes: int,
    prctl: Callable[[int, int], int] | None,
) -> None:
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        _exit(1)  # the parent died before prctl was called
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    faulthandler.disable()  # it would write to the parent's trace file
    random.setstate(chance)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [n for n in (memory_bytes, soft, hard) if n != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))


def _do(work: Callable[[Tell], None], pipe: Pipe, me: int) -> int:
    def tell(value: object) -> None:
        if _getpid() == me:  # a target that forked may return twice
            pipe.send("say", value)

    raised = ""
    try:
        work(tell)
    except BaseException as e:
        raised = _message_of(e)
    if _getpid() == me:
        pipe.send("end", raised)
    return 1 if raised else 0


def _message_of(error: BaseException) -> str:
    name = type(error).__qualname__
    try:
        return f"{name}: {' '.join(str(error).split())}"[:_MAX_MESSAGE]
    except BaseException:
        return name


def _prctl() -> Callable[[int, int], int] | None:
    """Look up ``prctl`` before the fork, because few operations are safe after it."""
    try:
        found: Callable[[int, int], int] = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    return found

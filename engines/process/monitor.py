"""The parent process: small, imports no target code, outlives every worker.

It holds the lock on the instance directory, starts the worker, watches its journal,
kills it when a trial hangs where Python cannot be interrupted, turns a dead worker
into a crash file, writes the statistics, and starts the next worker, which continues
from the directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from resource import RLIMIT_NPROC
from typing import Final

from fuzztui import __version__
from fuzztui.engines.base.errors import AFRESH, CANNOT_START, RECYCLE, CannotStart, Stopping
from fuzztui.engines.base.spec import LOAD_LIMIT_S, TRACE, TRACE_SIGNAL, Spec
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, read_told
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.rescue import Rescue, Unsafe
from fuzztui.engines.directory.stats import Reporter
from fuzztui.engines.directory.store import Store, candidate_tail
from fuzztui.engines.execute.failures import Failure, last_place, printable
from fuzztui.engines.execute.forks import has_ended, how_it_ended, stopped_by
from fuzztui.engines.execute.isolation import Isolation, read_index
from fuzztui.engines.execute.limits import lowered_by, lowered_signature, lowered_text
from fuzztui.engines.findings.findings import Description, Findings
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.wire.events import InstanceHello

__all__ = ["WorkerMonitor"]

_POLL_S: Final = 0.05
_STOP_GRACE_S: Final = 3.0
_DEATHS_ALLOWED: Final = 3
_KILLS_ALLOWED: Final = 10
_AFRESH_ALLOWED: Final = 20
_RECYCLED_SAID_S: Final = 60.0
_REASON: Final = "fuzztui: "
_SUSPICIONS: Final = 3
"""Deaths that may have come from outside before the input is blamed."""
_FROM_OUTSIDE: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class WorkerMonitor:
    """Runs one engine instance from start to end: :meth:`run`."""

    def __init__(self, spec: Spec, file: Path) -> None:
        """Lock and prepare the directory. Raises :class:`CannotStart`."""
        self._spec, self._spec_file = spec, file
        self._told_to_stop = self._told_to_finish = False
        signal.signal(signal.SIGUSR2, self._on_finish)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        self._log = EventLog(spec.dir / "events.jsonl", spec.instance)
        self._store = Store(spec.dir, self._log, self._wait)
        try:
            self._store.create()
            self._lock = _lock(spec.dir)
            self._store.tidy()
            self._journal = TrialJournal(spec.dir / ".cur_input", spec.engine.max_size)
            self._reporter = Reporter(spec, self._journal, self._store)
            self._reporter.setup(sys.orig_argv)
        except OSError as e:
            raise CannotStart(f"{e.filename or spec.dir}: {e.strerror or e}") from None
        self._words = self._journal.words
        self._words[j.STOP] = 0
        self._words[j.START_TIME] = self._words[j.START_TIME] or int(time.time())
        told = read_told(spec.dir / "events.jsonl")
        most = spec.engine.max_findings
        self._findings = Findings(self._store, self._log, self._journal, told, most)
        self._rescue = Rescue(spec.dir)
        self._worker: subprocess.Popen[bytes] | None = None
        self._last_poll = time.monotonic()
        self._hung = False
        self._stopped = self._limited = self._last_text = self._last_line = ""
        """Of the last worker: the signal that stopped it, what its target did to a resource limit
        that is needed, the traceback that it died of, the last line of that; empty if nothing."""
        self._lowered = ""
        """Other limits that the target of the last worker lowered, to follow how that ended."""
        self._stop_at = 0.0
        self._deaths = self._afresh = 0
        self._say_recycled_at = 0.0

    def _wait(self, seconds: float) -> None:
        """While a disk is full: keep time, and give up when told to stop."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._keep_time()
            if self._words[j.STOP]:
                raise Stopping
            time.sleep(_POLL_S)

    def run(self) -> int:
        """Keep a worker running until it ends on purpose; returns the exit status."""
        self._log.write(
            InstanceHello(
                instance=self._spec.instance,
                engine=self._spec.engine.kind,
                version=__version__,
                python=platform.python_version(),
                pid=os.getpid(),
                capabilities=list(self._spec.engine.capabilities),
            )
        )
        self._keep_rescue()
        try:
            while True:
                trial = self._words[j.TRIAL]
                status = self._life()
                phase = self._words[j.PHASE]
                if status == CANNOT_START and phase == j.REFUSED:
                    if self._last_line.startswith(_REASON):  # the worker could write no file
                        self._log.say("error", self._last_line.removeprefix(_REASON))
                    return CANNOT_START
                if status == 0 and (phase == j.ENDED or self._words[j.STOP]):
                    break
                if status == AFRESH and phase != j.LOADING:  # a target may exit so on import
                    self._start_afresh(trial)
                elif status == RECYCLE and phase != j.RUNNING and self._words[j.TRIAL] > trial:
                    self._recycle()
                else:
                    self._bury(status, trial)
                if self._words[j.STOP] == j.STOP_NOW:
                    break
        except Stopping:
            pass
        except CannotStart as e:
            self._log.say("error", str(e))
            raise
        finally:
            self._kill()
            self._words[j.PAUSED] = 0
            self._findings.recount(final=True)
            self._reporter.tick(time.monotonic(), final=True)
            self._log.flush()
        return 0

    def _on_finish(self, signum: int, frame: object) -> None:
        self._told_to_finish = True

    def _on_signal(self, signum: int, frame: object) -> None:
        self._told_to_stop = True

    # ------------------------------------------------------------------ a worker's life

    def _life(self) -> int:
        """Start a worker and watch it until it is gone; returns its exit status."""
        self._words[j.PHASE] = j.LOADING
        self._words[j.STARTED] = time.monotonic_ns()
        self._hung, self._stopped = False, ""
        self._words[j.LIMIT] = -1
        self._journal.confided(clear=True)
        # The worker begins by opening this file. While nothing can be written it would die of that.
        self._store.write(self._spec.dir / TRACE, b"")
        argv = [sys.executable, "-P", "-m", "fuzztui.engines", str(self._spec_file)]
        worker = self._worker = subprocess.Popen(
            [*argv, "--worker", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONHASHSEED": "0", **self._spec.target.env},
            process_group=0,
        )
        self._reporter.worker_pid = worker.pid
        gone = _Exit(worker.pid)
        watch = _Watch(self._spec.target.timeout_s, worker.pid, self._journal.words)
        try:
            while not gone.wait(_POLL_S):
                now, step = self._keep_time()
                self._reporter.tick(now)
                self._log.flush()
                if watch.hangs(step):
                    self._hung, self._stopped = True, watch.stopped
                    self._kill_hung(worker.pid)
                if self._words[j.STOP] == j.STOP_NOW:
                    self._stop_at = self._stop_at or now
                    grace = _STOP_GRACE_S + 2 * self._spec.target.timeout_s
                    if self._words[j.PHASE] == j.LOADING or now - self._stop_at > grace:
                        self._kill()
        finally:
            gone.close()
        self._lowered = lowered_by(worker.pid)
        status = worker.wait()
        # What a target has started goes with its worker.
        with contextlib.suppress(OSError):
            os.killpg(worker.pid, signal.SIGKILL)
        self._worker = None
        self._hear_last()
        self._store.tidy()
        return status

    def _hear_last(self) -> None:
        """What the worker left behind that it could not, or did not, write itself."""
        words, text = self._words, self._journal.confided(clear=True).rstrip("\n")
        self._last_text, self._last_line = text, text.rpartition("\n")[2][:300]
        if text:
            print(text, file=sys.stderr, flush=True)
        self._limited = ""
        if words[j.LIMIT] >= 0:
            self._limited = lowered_text(words[j.LIMIT], words[j.LIMIT_VALUE])
            self._lowered = ""  # it is named already

    def _keep_time(self) -> tuple[float, float]:
        """Advance the campaign's clock; returns now and the seconds since the last call."""
        now = time.monotonic()
        step = now - self._last_poll
        self._last_poll = now
        self._words[j.RUN_MS] += int(step * 1000)
        self._last_poll -= step * 1000 % 1 / 1000
        budget = self._spec.budget_s
        if self._told_to_stop:
            self._words[j.STOP] = j.STOP_NOW
        elif self._told_to_finish or (budget and self._words[j.RUN_MS] >= budget * 1000):
            self._words[j.STOP] = j.FINISH
        return now, step

    def _kill_hung(self, pid: int) -> None:
        """Have the interpreter write where it is and end; then kill it."""
        with contextlib.suppress(OSError):
            os.kill(pid, TRACE_SIGNAL)
            if self._stopped:  # it ends of that signal before any of the target's code runs
                os.kill(pid, signal.SIGCONT)
            time.sleep(2 * _POLL_S)
        self._kill()

    def _kill(self) -> None:
        if self._worker is not None and not has_ended(self._worker.pid):
            with contextlib.suppress(OSError):
                os.killpg(self._worker.pid, signal.SIGKILL)

    # ----------------------------------------------------------------- after its death

    def _keep_rescue(self) -> None:
        """An input that was in progress when the last worker died must run first."""
        phase = self._words[j.PHASE]
        if phase in (j.RUNNING, j.SAVING) and self._journal.label() not in (j.REBUILD, j.ANALYSE):
            self._patiently_rescue()
        self._words[j.PHASE] = j.LOADING

    def _patiently_rescue(self) -> None:
        while True:
            try:
                return self._rescue.save(self._journal.candidate())
            except OSError:
                self._wait(1.0)

    def _start_afresh(self, trial_at_start: int) -> None:
        """The worker has noted why: another input or mutant will be left out. Raises Refusal."""
        self._keep_rescue()
        self._afresh = 0 if self._words[j.TRIAL] != trial_at_start else self._afresh + 1
        if self._afresh >= _AFRESH_ALLOWED:
            raise CannotStart(
                "the program's behaviour changes while its mutants run, whichever are left out:"
                " does the target depend on what ran before? events.jsonl tells more"
            )

    def _recycle(self) -> None:
        """The worker left because its memory was used up, and had got further: go on."""
        self._keep_rescue()
        self._deaths = 0
        if time.monotonic() >= self._say_recycled_at:
            self._say_recycled_at = time.monotonic() + _RECYCLED_SAID_S
            self._log.say(
                "info",
                f"the target's memory was used up at trial {self._words[j.TRIAL]}{self._lowered}"
                " (does it leak?): a clean worker continues",
            )

    def _bury(self, status: int, trial_at_start: int) -> None:
        """Draw the consequences of a death that was not wanted. Raises :class:`CannotStart`."""
        words = self._words
        phase, trial, label = words[j.PHASE], words[j.TRIAL], self._journal.label()
        how = how_it_ended(status)
        if self._stopped:
            how = f"stopped its own process ({self._stopped})"
        elif self._limited:
            how = f"ended, because the target {self._limited}"
        outside = status < 0 and -status in _FROM_OUTSIDE and not self._hung
        explained = False
        if phase == j.RUNNING and words[j.MUTANT]:
            explained = self._quarantine(how, outside=outside)
            if label != j.ANALYSE:
                self._patiently_rescue()
        elif phase == j.RUNNING and label in (j.REBUILD, j.ANALYSE):
            if not outside:
                with contextlib.suppress(OSError):
                    Unsafe(self._spec.dir).add(words[j.SRC])
                self._log.say(
                    "warning", f"queue entry {words[j.SRC]} {how} when run again: left out"
                )
                explained = True
        elif phase in (j.RUNNING, j.SAVING) and label != j.ANALYSE:
            if words[j.SUSPECT_TRIAL] != trial:
                words[j.SUSPECT_TRIAL], words[j.SUSPECT_KILLS] = trial, 0
            words[j.SUSPECT_KILLS] += 1
            certain = phase == j.RUNNING and not outside
            if self._limited:  # after which of the trials since the last tick?
                certain = bool(words[j.LIMITS_CHECKED]) and words[j.LIMIT] != RLIMIT_NPROC
            if certain or words[j.SUSPECT_KILLS] >= _SUSPICIONS:
                self._blame(how, status)
                explained = True
            else:
                self._patiently_rescue()
        words[j.LIMITS_CHECKED] |= bool(self._limited)
        if explained or trial != trial_at_start:
            self._deaths = 0
        else:
            self._deaths += 1
        loading = phase == j.LOADING
        allowed = _DEATHS_ALLOWED
        if outside:
            allowed = _KILLS_ALLOWED
        elif loading:
            allowed = 1 if self._hung else 2
        if self._deaths >= allowed and not words[j.STOP]:
            if self._hung and not self._stopped:
                how = f"did not end within {LOAD_LIMIT_S:g} s"
            where = f'target.function = "{self._spec.target.function}": importing it'
            raise CannotStart(
                f"{where} {how}{self._lowered}"
                if loading
                else f"the worker {how}{self._lowered}, {self._deaths} times without getting"
                " further; worker.log may say more"
            )
        if not explained and not words[j.STOP]:
            why = f" ({self._last_line})" if self._last_line else ""
            how = f"{how} at trial {trial}{self._lowered}{why}"
            self._log.say("warning", f"the worker {how}; it is started again")

    def _quarantine(self, how: str, *, outside: bool) -> bool:
        """A mutant was running: from now on it runs in child processes only."""
        words = self._words
        index = words[j.MUTANT] - 1
        if words[j.SUSPECT_TRIAL] != -index - 1:
            words[j.SUSPECT_TRIAL], words[j.SUSPECT_KILLS] = -index - 1, 0
        words[j.SUSPECT_KILLS] += 1
        if outside and words[j.SUSPECT_KILLS] < _SUSPICIONS:
            return False
        known = read_index(self._spec.dir)
        name = known[index][0] if index < len(known) else f"number {index}"
        why = "hung" if self._hung and not self._stopped else how
        isolation = Isolation.load(self._spec.dir)
        isolation.outside[name] = f"the worker {why} while it ran"
        isolation.save()
        self._log.say(
            "warning", f"mutant {name}: the worker {why}; it runs in child processes from now on"
        )
        return True

    def _blame(self, how: str, status: int) -> None:
        """The running input ended the process: a finding."""
        words, journal = self._words, self._journal
        candidate = journal.candidate()
        if not journal.tallied:
            words[j.TIMEOUTS if self._hung or self._limited else j.FAILURES] += 1
        place, detail = self._last_stack()
        if self._stopped:
            cause = f"stopped by {self._stopped}"
            failure = Failure("hang", f"{cause} @ {place}", cause, place)
            title = f"the target stopped its own process ({self._stopped})"
        elif self._limited:
            cause = lowered_signature(self._limited)
            failure = Failure("hang", cause, cause, "")
            title = f"the target {self._limited}"
        elif self._hung:
            failure = Failure("hang", f"timeout @ {place}", "timeout", place)
            limit = self._spec.target.timeout_s
            title = f"timeout: longer than {limit:g} s, and Python code could not interrupt it"
        else:
            failure = Failure("crash", f"{how} @ {place}", how, place)
            why = f" ({self._last_line})" if self._last_line else ""
            title = f"the process {how}{self._lowered}{why}"
            detail = detail or self._last_text
        findings = self._findings
        if findings.knows(failure):
            findings.recount()
        else:
            tail = candidate_tail(candidate, words[j.RUN_MS], words[j.TRIAL])
            shown = Description(title, detail, printable(candidate.data))
            number = -status if status < 0 and not self._hung else 0
            findings.save(failure, candidate.data, tail, lambda: shown, signal=number)
        kept = self._rescue.load()
        if kept is not None and candidate.data.startswith(kept.data):
            self._rescue.clear()  # else it was an input made smaller that did it
        words[j.PHASE] = j.LOADING

    def _last_stack(self) -> tuple[str, str]:
        """Place and text of what the dying interpreter wrote about its stack."""
        try:
            text = (self._spec.dir / TRACE).read_text(errors="replace")[-8000:]
        except OSError:
            return "", ""
        files = EdgeTable(self._spec.dir / "edges.json").known_files()
        return last_place(text, files), text


class _Exit:
    """Waits for a process to end without polling it."""

    def __init__(self, pid: int) -> None:
        self._pid, self._fd = pid, -1
        with contextlib.suppress(OSError, AttributeError):
            self._fd = os.pidfd_open(pid)
        self._poll = select.poll()
        if self._fd >= 0:
            self._poll.register(self._fd, select.POLLIN)

    def wait(self, seconds: float) -> bool:
        """Has it ended? Waits at most that long."""
        self._poll.poll(seconds * 1000)
        return has_ended(self._pid)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


class _Watch:
    """Decides that the worker hangs: a trial does not end, or the worker was stopped.

    Adds up polling intervals instead of reading the clock: where this process was stopped, too,
    or the machine was suspended, nothing hangs. A worker that is stopped while this process runs
    was stopped by its target: a pause stops both, or none. A debugger may hold it for hours.
    """

    def __init__(self, timeout_s: float, pid: int, words: memoryview[int]) -> None:
        self._limit_s = max(1.5 * timeout_s, timeout_s + 1.0)
        self._pid, self._words = pid, words
        self._mark = (0, 0)
        self._seen_s = self._stopped_s = 0.0
        self.stopped = ""
        """The signal that has stopped the worker; empty if it runs."""

    def hangs(self, step_s: float) -> bool:
        """Whether it hangs; ``step_s`` has passed since the last call."""
        step_s = min(step_s, 4 * _POLL_S)
        self.stopped = stopped_by(self._pid)
        phase = self._words[j.PHASE]
        mark = (phase, self._words[j.STARTED])
        moved, self._mark = mark != self._mark, mark
        # Between two looks it may have run: whatever slows it down stops it again and again.
        self._stopped_s = self._stopped_s + step_s if self.stopped and not moved else 0.0
        if self.stopped:
            return self._stopped_s > self._limit_s
        if phase not in (j.RUNNING, j.LOADING) or moved:
            self._seen_s = 0.0
            return False
        self._seen_s += step_s
        limit = LOAD_LIMIT_S if phase == j.LOADING else self._limit_s
        if self._seen_s > limit and _is_debugged(self._pid):
            self._seen_s = 0.0
        return self._seen_s > limit


def _is_debugged(pid: int) -> bool:
    """Whether a process outside of the worker's own group holds it (False without /proc)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    tracer = re.search(r"^TracerPid:\s+([1-9]\d*)$", status, re.MULTILINE)
    if tracer is None or not re.search(r"^State:\s+t", status, re.MULTILINE):
        return False
    try:
        return os.getpgid(int(tracer[1])) != pid
    except OSError:
        return True


def _lock(directory: Path) -> int:
    """Lock the instance directory as afl-fuzz does; raises :class:`CannotStart` if it is in use."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise CannotStart(f"{directory} is in use: another engine runs on it") from None
    return fd

"""The worker monitor: the small parent process of an in-process engine, without target code.

The monitor locks the instance directory, starts the worker and reads the trial journal. If a
trial hangs where Python cannot be interrupted, the monitor kills the worker. It turns a dead
worker into a crash file, writes the statistics, and starts the next worker, which continues
from the directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from resource import RLIMIT_NPROC
from typing import Final

from fuzztui import __version__
from fuzztui.engines.base.errors import CANNOT_START, RECYCLE, RESTART, STUCK, CannotStart, Stopping
from fuzztui.engines.base.spec import LOAD_LIMIT_S, TRACE, TRACE_SIGNAL, Spec
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, read_reported
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.rescue import UNLINED, UNRECORDED, UNSAFE, Rescue, Unsafe
from fuzztui.engines.directory.stats import Reporter
from fuzztui.engines.directory.store import Store, candidate_tail
from fuzztui.engines.execute.failures import Failure, last_place, printable
from fuzztui.engines.execute.forks import ProcessEnd, has_ended, how_it_ended
from fuzztui.engines.execute.isolation import Isolation, read_index
from fuzztui.engines.execute.limits import lowered_by, lowered_signature, lowered_text
from fuzztui.engines.findings.findings import Description, Findings
from fuzztui.engines.inputs.candidate import NO_ENTRY, Candidate
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.process.hangs import POLL_S, HangDetector
from fuzztui.kernel.wire.events import InstanceHello
from fuzztui.kernel.wire.finding_kinds import CRASH, HANG

_STOP_GRACE_S: Final = 3.0
"""Seconds, besides twice the time limit, that a worker has to stop before it is killed."""
_DEATHS_ALLOWED: Final = 3
_KILLS_ALLOWED: Final = 10
_RESTARTS_ALLOWED: Final = 20
"""Deaths, kills from outside, and requested restarts without a new trial: then give up."""
_RECYCLE_MESSAGE_S: Final = 60.0
"""Seconds between two messages about a recycled worker."""
_ERROR_PREFIX: Final = "fuzztui: "
_MAX_SUSPICIONS: Final = 3
"""Deaths during one trial, perhaps caused from outside, after which its input is blamed."""
_OUTSIDE_SIGNALS: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


_NOT_RUN: Final = UNSAFE, "it ran the entry again", "the entry is not run any more"
_NO_TRIAL: Final = {
    j.REBUILD: _NOT_RUN,
    j.ANALYSE: _NOT_RUN,
    j.RECORD: (
        UNRECORDED,
        "the comparisons of the entry were recorded",
        "they are not recorded any more",
    ),
    j.LINES: (UNLINED, "the lines of the entry were recorded", "they are not recorded any more"),
}
"""Operations that are no trials: the file for entries that kill a worker in them, and words."""


class WorkerMonitor:
    """One in-process engine instance, from start to end."""

    def __init__(self, spec: Spec, file: Path) -> None:
        """Lock and prepare the directory. Raises :class:`CannotStart`."""
        self._spec, self._spec_file = spec, file
        self._stop_requested = self._finish_requested = False
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
        self._counters = self._journal.counters
        self._counters[j.STOP] = 0
        self._counters[j.START_TIME] = self._counters[j.START_TIME] or int(time.time())
        reported = read_reported(spec.dir / "events.jsonl")
        most = spec.engine.max_findings
        self._findings = Findings(self._store, self._log, self._journal, reported, most=most)
        self._rescue = Rescue(spec.dir)
        self._worker: subprocess.Popen[bytes] | None = None
        self._last_poll = time.monotonic()
        self._hung = False
        self._stopped = self._limited = self._last_text = self._last_line = ""
        """About the last worker, empty if none: the signal that stopped it, what its target did to
        a needed resource limit, the worker's last message (a traceback), its last line."""
        self._lowered = ""
        """Other limits that the target lowered in the last worker, as text that follows how the
        worker ended; empty if none."""
        self._stop_at = 0.0
        self._deaths = self._restarts = 0
        self._next_recycle_message = 0.0

    def _wait(self, seconds: float) -> None:
        """Sleep while the disk is full, and count the time. Raises :class:`Stopping`."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._keep_time()
            if self._counters[j.STOP]:
                raise Stopping
            time.sleep(POLL_S)

    def run(self) -> int:
        """Start workers until one ends on purpose. Returns the exit status (engines/README.md).

        Raises :class:`CannotStart` if workers die again and again without a new trial.
        """
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
        self._rescue_held()
        self._rescue_running()
        try:
            while True:
                trial = self._counters[j.TRIAL]
                status = self._run_worker()
                phase = self._counters[j.PHASE]
                if status == CANNOT_START and phase == j.REFUSED:
                    if self._last_line.startswith(_ERROR_PREFIX):  # the worker cannot write files
                        self._log.message("error", self._last_line.removeprefix(_ERROR_PREFIX))
                    return CANNOT_START
                if status == 0 and (phase == j.ENDED or self._counters[j.STOP]):
                    break
                if status == RESTART and phase != j.LOADING:  # else the target's import has exited
                    self._prepare_restart(trial)
                elif status == RECYCLE and phase != j.RUNNING and self._counters[j.TRIAL] > trial:
                    self._prepare_recycled()
                else:
                    self._handle_worker_death(status, trial)
                if self._counters[j.STOP] == j.STOP_NOW:
                    break
        except Stopping:
            pass
        except CannotStart as e:
            self._log.message("error", str(e))
            raise
        finally:
            self._kill()
            self._counters[j.PAUSED] = 0
            self._findings.recount(final=True)
            self._reporter.tick(time.monotonic(), final=True)
            self._log.flush()
        spec = self._spec
        if not self._counters[j.STOP] and self._journal.is_stuck(
            spec.stuck_trials, spec.stuck_from
        ):
            return STUCK
        return 0

    def _on_finish(self, signum: int, frame: object) -> None:
        self._finish_requested = True

    def _on_signal(self, signum: int, frame: object) -> None:
        self._stop_requested = True

    # ------------------------------------------------------------------ while a worker runs

    def _run_worker(self) -> int:
        """Start a worker and watch it until it ends. Returns its exit status."""
        self._counters[j.PHASE] = j.LOADING
        self._counters[j.STARTED] = time.monotonic_ns()
        self._hung, self._stopped = False, ""
        self._counters[j.LIMIT] = -1
        self._journal.last_message(clear=True)
        # The worker opens this file first, and would die if nothing can be written: wait here.
        self._store.write(self._spec.dir / TRACE, b"")
        argv = [sys.executable, "-P", "-m", "fuzztui.engines", str(self._spec_file)]
        worker = self._worker = subprocess.Popen(
            [*argv, "--worker", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONHASHSEED": "0", **self._spec.target.env},
            process_group=0,
        )
        self._reporter.worker_pid = worker.pid
        ended = ProcessEnd(worker.pid)
        watch = HangDetector(self._spec.target, worker.pid, self._journal.counters)
        try:
            while not ended.wait(POLL_S):
                now, step = self._keep_time()
                self._reporter.tick(now)
                self._log.flush()
                if watch.hangs(step):
                    self._hung, self._stopped = True, watch.stopped
                    self._kill_hung(worker.pid)
                if self._counters[j.STOP] == j.STOP_NOW:
                    self._stop_at = self._stop_at or now
                    grace = _STOP_GRACE_S + 2 * self._spec.target.timeout_s
                    if self._counters[j.PHASE] == j.LOADING or now - self._stop_at > grace:
                        self._kill()
        finally:
            ended.close()
        self._lowered = lowered_by(worker.pid)
        status = worker.wait()
        # Processes that the target has started end together with the worker.
        with contextlib.suppress(OSError):
            os.killpg(worker.pid, signal.SIGKILL)
        self._worker = None
        self._read_last_message()
        self._store.tidy()
        self._rescue_held()
        return status

    def _read_last_message(self) -> None:
        """Read what the worker left in the journal: its last message and a lowered limit."""
        counters, text = self._counters, self._journal.last_message(clear=True).rstrip("\n")
        self._last_text, self._last_line = text, text.rpartition("\n")[2][:300]
        if text:
            print(text, file=sys.stderr, flush=True)
        self._limited = ""
        if counters[j.LIMIT] >= 0:
            self._limited = lowered_text(counters[j.LIMIT], counters[j.LIMIT_VALUE])
            self._lowered = ""  # the message names it already

    def _keep_time(self) -> tuple[float, float]:
        """Advance the running time. Returns the time now and the seconds since the last call."""
        now = time.monotonic()
        step = now - self._last_poll
        self._last_poll = now
        self._counters[j.RUN_MS] += int(step * 1000)
        self._last_poll -= step * 1000 % 1 / 1000
        budget = self._spec.budget_s
        if self._stop_requested:
            self._counters[j.STOP] = j.STOP_NOW
        elif self._finish_requested or (budget and self._counters[j.RUN_MS] >= budget * 1000):
            self._counters[j.STOP] = j.FINISH
        return now, step

    def _kill_hung(self, pid: int) -> None:
        """Have the worker's interpreter write its Python stack, then kill the worker."""
        with contextlib.suppress(OSError):
            os.kill(pid, TRACE_SIGNAL)
            if self._stopped:  # TRACE_SIGNAL kills it before any target code runs
                os.kill(pid, signal.SIGCONT)
            time.sleep(2 * POLL_S)
        self._kill()

    def _kill(self) -> None:
        if self._worker is not None and not has_ended(self._worker.pid):
            with contextlib.suppress(OSError):
                os.killpg(self._worker.pid, signal.SIGKILL)

    # ----------------------------------------------------------------- after a worker's end

    def _rescue_running(self) -> None:
        """Save the input that the last worker was running: the next worker runs it first."""
        phase = self._counters[j.PHASE]
        no_trial = self._journal.label() in _NO_TRIAL
        if phase in (j.RUNNING, j.SAVING) and not no_trial:
            self._save_rescue(self._journal.candidate())
        self._counters[j.PHASE] = j.LOADING

    def _rescue_held(self) -> None:
        """Save the input that was being trimmed: before any other, as its smaller versions ran."""
        if (held := self._journal.held()) is not None:
            self._save_rescue(held)
        self._journal.release()

    def _save_rescue(self, candidate: Candidate) -> None:
        while True:
            try:
                return self._rescue.save(candidate)
            except OSError:
                self._wait(1.0)

    def _prepare_restart(self, trial_at_start: int) -> None:
        """Prepare for a restart that the worker requested after excluding an input or a mutant.

        Raises :class:`CannotStart` after too many restarts within one trial.
        """
        self._rescue_running()
        self._restarts = 0 if self._counters[j.TRIAL] != trial_at_start else self._restarts + 1
        if self._restarts >= _RESTARTS_ALLOWED:
            raise CannotStart(
                "the target's behaviour keeps changing while mutants run, although suspects were"
                " excluded: does the target depend on earlier inputs? See events.jsonl"
            )

    def _prepare_recycled(self) -> None:
        """Prepare for a fresh worker: the target had used up the worker's memory."""
        self._rescue_running()
        self._deaths = 0
        if time.monotonic() >= self._next_recycle_message:
            self._next_recycle_message = time.monotonic() + _RECYCLE_MESSAGE_S
            self._log.message(
                "info",
                f"the target used up its memory at trial {self._counters[j.TRIAL]}{self._lowered}"
                " (does it leak?); a fresh worker continues",
            )

    def _handle_worker_death(self, status: int, trial_at_start: int) -> None:
        """Attribute an unexpected end of the worker to an input, an entry or a mutant.

        Raises :class:`CannotStart` after too many ends without progress.
        """
        counters = self._counters
        phase, trial, label = counters[j.PHASE], counters[j.TRIAL], self._journal.label()
        how = how_it_ended(status)
        if self._stopped:
            how = f"stopped its own process ({self._stopped})"
        elif self._limited:
            how = f"ended, because the target {self._limited}"
        outside = status < 0 and -status in _OUTSIDE_SIGNALS and not self._hung
        explained = False
        if phase == j.RUNNING and counters[j.MUTANT]:
            explained = self._quarantine(how, outside=outside)
            if label != j.ANALYSE:
                self._save_rescue(self._journal.candidate())
        elif phase == j.RUNNING and label in _NO_TRIAL:
            if not outside:
                file, when, consequence = _NO_TRIAL[label]
                with contextlib.suppress(OSError):
                    Unsafe(self._spec.dir, file).add(counters[j.SRC])
                source = counters[j.SRC]
                entry = "a near miss" if source == NO_ENTRY else f"queue entry {source}"
                self._log.message(
                    "warning", f"{entry}: the worker {how} when {when}; {consequence}"
                )
                if (
                    label == j.LINES
                ):  # the program may crash with a deeper stack, or after more runs
                    self._blame(how, status)
                explained = True
        elif phase in (j.RUNNING, j.SAVING) and label != j.ANALYSE:
            if counters[j.SUSPECT_TRIAL] != trial:
                counters[j.SUSPECT_TRIAL], counters[j.SUSPECT_KILLS] = trial, 0
            counters[j.SUSPECT_KILLS] += 1
            certain = phase == j.RUNNING and not outside
            if self._limited:  # any trial since the last tick may have lowered it
                certain = bool(counters[j.LIMITS_CHECKED]) and counters[j.LIMIT] != RLIMIT_NPROC
            if certain or counters[j.SUSPECT_KILLS] >= _MAX_SUSPICIONS:
                self._blame(how, status)
                explained = True
            else:
                self._save_rescue(self._journal.candidate())
        counters[j.LIMITS_CHECKED] |= bool(self._limited)
        if explained or trial != trial_at_start:
            self._deaths = 0
        else:
            self._deaths += 1
        loading = phase == j.LOADING
        why = f" ({self._last_line})" if self._last_line else ""
        allowed = _DEATHS_ALLOWED
        if outside:
            allowed = _KILLS_ALLOWED
        elif loading:
            allowed = 1 if self._hung else 2
        if self._deaths >= allowed and not counters[j.STOP]:
            if self._hung and not self._stopped:
                how = f"did not end within {LOAD_LIMIT_S:g} s"
            where = f'target.function = "{self._spec.target.function}": importing the target'
            raise CannotStart(
                f"{where} {how}{self._lowered}{why}"
                if loading
                else f"the worker {how}{self._lowered}{why}, {self._deaths} times without a new"
                " trial; see worker.log"
            )
        if not explained and not counters[j.STOP]:
            how = f"{how} at trial {trial}{self._lowered}{why}"
            self._log.message("warning", f"the worker {how}; a new worker continues")

    def _quarantine(self, how: str, *, outside: bool) -> bool:
        """Isolate the mutant that was running: from now on it runs in child processes only.

        Returns False, and does nothing, if the signal may have come from outside.
        """
        counters = self._counters
        index = counters[j.MUTANT] - 1
        if counters[j.SUSPECT_TRIAL] != -index - 1:
            counters[j.SUSPECT_TRIAL], counters[j.SUSPECT_KILLS] = -index - 1, 0
        counters[j.SUSPECT_KILLS] += 1
        if outside and counters[j.SUSPECT_KILLS] < _MAX_SUSPICIONS:
            return False
        known = read_index(self._spec.dir)
        name = known[index][0] if index < len(known) else f"number {index}"
        why = "hung" if self._hung and not self._stopped else how
        isolation = Isolation.load(self._spec.dir)
        isolation.outside[name] = f"the worker {why} while the mutant ran"
        isolation.save()
        self._log.message(
            "warning",
            f"mutant {name}: the worker {why}; the mutant runs in child processes from now on",
        )
        return True

    def _blame(self, how: str, status: int) -> None:
        """Save the running input, which ended the process, as a finding."""
        counters, journal = self._counters, self._journal
        candidate = journal.candidate()
        if not journal.is_counted:
            counters[j.TIMEOUTS if self._hung or self._limited else j.FAILURES] += 1
        place, detail = self._last_stack()
        if self._stopped:
            cause = f"stopped by {self._stopped}"
            failure = Failure(HANG.category, f"{cause} @ {place}", cause, place)
            title = f"the target stopped its own process ({self._stopped})"
        elif self._limited:
            cause = lowered_signature(self._limited)
            failure = Failure(HANG.category, cause, cause, "")
            title = f"the target {self._limited}"
        elif self._hung:
            failure = Failure(HANG.category, f"timeout @ {place}", "timeout", place)
            limit = self._spec.target.timeout_s
            title = f"timeout: longer than {limit:g} s, and Python code could not interrupt it"
        else:
            failure = Failure(CRASH.category, f"{how} @ {place}", how, place)
            why = f" ({self._last_line})" if self._last_line else ""
            title = f"the process {how}{self._lowered}{why}"
            detail = detail or self._last_text
        findings = self._findings
        if findings.count_known(failure):
            findings.recount()
        else:
            tail = candidate_tail(candidate, counters[j.RUN_MS], counters[j.TRIAL])
            shown = Description(title, detail, printable(candidate.data))
            number = -status if status < 0 and not self._hung else 0
            findings.save(failure, candidate.data, tail, lambda: shown, signal=number)
        kept = self._rescue.load()
        if kept is not None and candidate.data.startswith(kept.data):
            self._rescue.clear()  # else a smaller input from minimising ended the worker
        counters[j.PHASE] = j.LOADING

    def _last_stack(self) -> tuple[str, str]:
        """Location and text of the stack that the dying interpreter wrote; empty if none."""
        try:
            text = (self._spec.dir / TRACE).read_text(errors="replace")[-8000:]
        except OSError:
            return "", ""
        files = EdgeTable(self._spec.dir / "edges.json").known_files()
        return last_place(text, files), text


def _lock(directory: Path) -> int:
    """Lock the instance directory as afl-fuzz does; raises :class:`CannotStart` if it is in use."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise CannotStart(f"{directory} is in use by another engine") from None
    return fd

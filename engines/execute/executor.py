"""The executor: runs one input under observers and returns its outcome."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import FrameType
from typing import Final, TypeVar

from fuzztui.engines.base.clock import start_over
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.execute.limits import Limits
from fuzztui.engines.execute.message_oracle import MessageOracle
from fuzztui.engines.inputs.inputs import GeneratedInput, InputForm
from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.instrument.edges import CoverageMap
from fuzztui.engines.instrument.guard import ALARM, Guard, TrialTimeout
from fuzztui.engines.instrument.lines import LineRecorder
from fuzztui.engines.instrument.sparse import SparseProbes

_T = TypeVar("_T")

_getpid = os.getpid  # before a target replaces it

_LASTING: Final = (str, bytes)
"""Types of arguments that a run cannot change."""


class Outcome(StrEnum):
    """How an execution ended. INVALID: by an exception listed in ``target.expected``."""

    SUCCESS = "success"
    INVALID = "invalid"
    FAILURE = "failure"
    TIMEOUT = "timeout"


# Before Python 3.12, looking up a member takes 0.1 us, and a trial compares eight times.
SUCCESS, INVALID, FAILURE, TIMEOUT = Outcome

_MAX_EVENTS: Final = 1 << 21
"""Calls and returns that :meth:`Executor.calls` counts: counting them takes some 0.2 s."""


@dataclass(slots=True)
class Execution:
    """One run of one input.

    ``observed``: the covered cells, as of :meth:`CoverageMap.collect`.
    """

    outcome: Outcome
    data: bytes
    """The bytes that make the argument again; of a generator, the choices that it drew."""
    observed: int
    value: object = None
    """The returned value, on SUCCESS."""
    error: BaseException | None = None
    """The raised exception, on FAILURE and INVALID; None after a timeout."""
    matched: str = ""
    """The part of the error's message that matches ``oracle.message``; empty if none."""
    matched_before: str = ""
    """The same part as older versions recorded it."""
    turns: int = 0
    """Counted loop iterations and calls (:mod:`~fuzztui.engines.instrument.guard`)."""
    unmade: bool = False
    """Whether the execution ended while the input was made, before the target was called."""
    lacks: int = 0
    """The cells that may be missing in ``observed``, until :meth:`Executor.complete`."""


class Observer:
    """Collects something during executions, in addition to the coverage map."""

    def clear(self) -> None:
        """Called before an execution."""

    def finish(self, execution: Execution) -> None:
        """Called after the execution."""


class Executor:
    """Calls ``function(form.build(data))``; order: fixture, observers, guard, call, outcome.

    No exception of the target leaves the executor, and state of the process is restored. If the
    process dies, the journal contains the input. If the target forks and returns in its child,
    the child ends here.
    """

    def __init__(
        self,
        function: Callable[[object], object],
        form: InputForm,
        expected: tuple[type[BaseException], ...],
        *,
        coverage: CoverageMap,
        guard: Guard,
        fixture: Fixture,
        observers: Sequence[Observer] = (),
        message_oracle: MessageOracle | None = None,
    ) -> None:
        self.function, self.form = function, form
        self.expected: tuple[type[BaseException], ...] = (Rejected, *expected)
        self.coverage, self.guard, self.fixture = coverage, guard, fixture
        self.message_oracle = message_oracle
        self.sparse: SparseProbes | None = None
        """The code that trials run; None: code with all probes."""
        self.all_probes = False
        """Whether trials run with all probes, although there is sparse code."""
        self.prepare: Callable[[bytes], object] = bool
        """Called before each execution with its input, outside of the time limit."""
        self.observers = list(observers)
        self._pid = _getpid()
        self._exit = os._exit
        # The last argument is reused for the same bytes: mutants run on one input many times.
        self._built_of: bytes | None = None
        self._argument: object = None
        self._used = b""

    def run(self, data: bytes, patience: float = 1.0) -> Execution:
        """Execute one input under the observers, with all probes.

        ``patience``: how many time limits it has.
        """
        if self.sparse is not None:
            self.sparse.use_all_probes()
            self.coverage.leave_out(0)
        return self._run(data, patience)

    def trial(self, data: bytes, covered: int) -> Execution:
        """Execute one input under the observers, without the probes of some ``covered`` cells.

        All cells that are not in ``covered``, which may only grow, are observed.
        """
        if self.sparse is None or self.all_probes:
            return self.run(data)
        self.sparse.use_sparse()
        self.coverage.leave_out(covered)
        execution = self._run(data)
        execution.lacks = covered
        return execution

    def complete(self, execution: Execution) -> None:
        """Run the input of a trial again, with all probes, to observe the cells that it lacks.

        The outcome and the other cells remain those of the first run. So nothing depends on which
        probes were left, even if the target remembers the first run.
        """
        if execution.lacks and self.sparse is not None:
            self.sparse.use_all_probes()
            self.coverage.leave_out(0)
            self.prepare(execution.data)
            self.coverage.clear()
            self.call(execution.data)
            execution.observed = execution.observed & ~execution.lacks | self.coverage.collect()
            execution.lacks = 0

    def _run(self, data: bytes, patience: float = 1.0) -> Execution:
        coverage = self.coverage
        self.prepare(data)  # before clear(): the input does not cover the code that this runs
        coverage.clear()
        for observer in self.observers:
            observer.clear()
        execution = self.call(data, patience=patience)
        execution.observed = coverage.collect()
        for observer in self.observers:
            observer.finish(execution)
        return execution

    def call(self, data: bytes, fuel: int = 0, patience: float = 1.0) -> Execution:
        """Execute one input without observers. ``fuel``: in periods; 0: by the time limit.

        ``patience``: how many time limits it has.
        """
        guard, form = self.guard, self.form
        self.prepare(data)
        self.fixture.restore()
        value: object = None
        error: BaseException | None = None
        outcome = SUCCESS
        unmade = True
        try:
            try:
                guard.start(fuel, part=patience)
                if data is not self._built_of:
                    self._built_of = None  # building may fail
                    self._argument = form.build(data)
                    if type(self._argument) in _LASTING:
                        self._built_of, self._used = data, form.used(data)
                unmade = False
                value = self.function(self._argument)
            except self.expected as e:
                outcome, error = INVALID, e
            except BaseException as e:
                outcome, error = FAILURE, e
            finally:
                if _getpid() != self._pid:
                    self._exit(0)
                guard.stop()
        except TrialTimeout:  # raised between the end of the call and guard.stop()
            guard.stop()
        turns = guard.turns
        if guard.expired:
            outcome, error, value = TIMEOUT, None, None
        matched = before = ""
        if error is not None:
            if self.message_oracle is not None:
                matched, before = self._match(error, self.message_oracle)
            if matched:
                outcome = FAILURE
            elif outcome is INVALID:
                # Drop the traceback, which makes a reference cycle with this frame.
                BaseException.with_traceback(error, None)
        used = self._used if data is self._built_of else form.used(data)
        return Execution(outcome, used, 0, value, error, matched, before, turns, unmade)

    def traced(self, data: bytes, recorder: LineRecorder, patience: float) -> None:
        """Execute one input without observers, and have its lines recorded."""
        self._built_of = None  # the generator may be a part of the application
        self.coverage.clear()
        with recorder.recording():
            self.call(data, patience=patience)

    def calls(self, data: bytes) -> int:
        """Execute one input without observers, and count calls, those of functions in C too.

        At most about a million, and at least those before the input failed or its time was over.
        Repeatable: the guard's alarms do not count.
        """
        events = 0

        def count(frame: FrameType, event: str, argument: object) -> None:
            nonlocal events
            if frame.f_code is ALARM:
                return
            events += 1
            if events >= _MAX_EVENTS:
                sys.setprofile(None)

        self._built_of = None  # making the argument counts, too
        if self.sparse is not None:
            self.sparse.use_all_probes()
            self.coverage.leave_out(0)
        self.coverage.clear()
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            self.call(data)
        finally:
            sys.setprofile(before)
        return events // 2

    def like(
        self, function: Callable[[object], object], expected: tuple[type[BaseException], ...]
    ) -> Executor:
        """A copy of this executor that calls another function."""
        made = copy.copy(self)
        made.function, made.expected = function, (Rejected, *expected)
        return made

    def reloaded(
        self,
        function: Callable[[object], object],
        expected: tuple[type[BaseException], ...],
        generator: Callable[[Source], object] | None,
    ) -> Executor:
        """A copy of this executor for the target that was imported again, in a forked child."""
        made = self.like(function, expected)
        made.prepare, made._built_of = bool, None
        if generator is not None and isinstance(self.form, GeneratedInput):
            made.form = self.form.with_generator(generator)
        return made

    def with_form(self, form: InputForm) -> Executor:
        """A copy of this executor that makes inputs in another form."""
        made = copy.copy(self)
        made.form, made._built_of = form, None
        return made

    def in_child(self) -> None:
        """Prepare for executions in a forked child, which must not write to the journal."""
        self._pid = _getpid()
        self.form.detach()
        self.fixture.limits = Limits()  # the child's limits may be lower on purpose
        self.guard.arm()  # timers are not inherited

    def _match(self, error: BaseException, oracle: MessageOracle) -> tuple[str, str]:
        # A part of the time only: after 1.5 time limits, the monitor treats a trial as a hang.
        matched = self.guarded(lambda: oracle.search(error), None, part=0.25)
        if matched is None:
            oracle.warn_of_slow_search()
        return matched or ("", "")

    def guarded(self, call: Callable[[], _T], otherwise: _T, part: float = 1.0) -> _T:
        """Run code that may call target code, such as a ``__repr__``, under the guard.

        Returns ``otherwise`` after an exception or timeout. ``part``: share of the time limit.
        """
        guard = self.guard
        start_over()
        try:
            try:
                guard.start(part=part)
                return call()
            except BaseException:
                return otherwise
            finally:
                if _getpid() != self._pid:
                    self._exit(0)
                guard.stop()
        except TrialTimeout:
            guard.stop()
            return otherwise

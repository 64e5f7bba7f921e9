"""Running one input under observers, and what came of it."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.execute.limits import Limits
from fuzztui.engines.execute.message_oracle import MessageOracle
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.inputs.source import Rejected
from fuzztui.engines.instrument.edges import CoverageMap
from fuzztui.engines.instrument.guard import Guard, TrialTimeout

__all__ = ["Execution", "Executor", "Observer", "Outcome"]

_T = TypeVar("_T")

_LASTING: Final = (str, bytes)
"""Arguments that no run can change."""


class Outcome(StrEnum):
    """How an execution ended. INVALID: as the target's contract allows (``expected``)."""

    SUCCESS = "success"
    INVALID = "invalid"
    FAILURE = "failure"
    TIMEOUT = "timeout"


@dataclass(slots=True)
class Execution:
    """One run of one input. ``observed`` is :meth:`CoverageMap.collect`'s integer."""

    outcome: Outcome
    data: bytes
    """The bytes that make the argument again (what a generator drew)."""
    observed: int
    value: object = None
    """What the target returned, on SUCCESS."""
    error: BaseException | None = None
    """What it raised, on FAILURE and INVALID."""
    said: str = ""
    """What in the error's message makes it a failure, whatever its class (``MessageOracle``)."""
    said_before: str = ""
    """The same text as older versions had it."""
    turns: int = 0
    """Turns of loops and calls that were counted (:mod:`~fuzztui.engines.instrument.guard`)."""
    unmade: bool = False
    """Did it end while the input was made? Then the target was not called."""


class Observer(Protocol):
    """Watches executions beside the coverage map (later engines: mutants, third parties)."""

    def clear(self) -> None:
        """An execution is about to begin."""

    def finish(self, execution: Execution) -> None:
        """It has ended."""


class Executor:
    """Calls ``function(form.build(data))``; order: fixture, observers, guard, call, verdict.

    Nothing that the target raises or changes gets out, except that the process may
    die; then the journal says of what. A target that forked and came back in the
    child ends there.
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
        alarm: MessageOracle | None = None,
    ) -> None:
        self.function, self.form = function, form
        self.expected: tuple[type[BaseException], ...] = (Rejected, *expected)
        self.coverage, self.guard, self.fixture = coverage, guard, fixture
        self.alarm = alarm
        self.observers = list(observers)
        self._pid = os.getpid()
        self._exit = os._exit  # before a target replaces it
        # The last argument, for the same bytes again (mutants run on one input many times).
        self._built_of: bytes | None = None
        self._argument: object = None
        self._used = b""

    def run(self, data: bytes) -> Execution:
        """Execute one input under the observers."""
        coverage = self.coverage
        coverage.clear()
        for observer in self.observers:
            observer.clear()
        execution = self.call(data)
        execution.observed = coverage.collect()
        for observer in self.observers:
            observer.finish(execution)
        return execution

    def call(self, data: bytes, fuel: int = 0) -> Execution:
        """Execute one input unobserved, with so many periods of fuel (0: the usual)."""
        guard, form = self.guard, self.form
        self.fixture.restore()
        value: object = None
        error: BaseException | None = None
        outcome = Outcome.SUCCESS
        unmade = True
        try:
            try:
                guard.start(fuel)
                if data is not self._built_of:
                    self._built_of = None  # until it is built
                    self._argument = form.build(data)
                    if type(self._argument) in _LASTING:
                        self._built_of, self._used = data, form.used(data)
                unmade = False
                value = self.function(self._argument)
            except self.expected as e:
                outcome, error = Outcome.INVALID, e
            except BaseException as e:
                outcome, error = Outcome.FAILURE, e
            finally:
                if os.getpid() != self._pid:
                    self._exit(0)
                guard.stop()
        except TrialTimeout:  # the alarm came between the call's end and guard.stop()
            guard.stop()
        turns = guard.turns
        if guard.expired:
            outcome, error, value = Outcome.TIMEOUT, None, None
        said, before = ("", "") if error is None else self._said(error)
        if said:
            outcome = Outcome.FAILURE
        elif error is not None and outcome is Outcome.INVALID:
            # Without its traceback: it leads to this frame, and the frame to the error.
            BaseException.with_traceback(error, None)
        used = self._used if data is self._built_of else form.used(data)
        return Execution(outcome, used, 0, value, error, said, before, turns, unmade)

    def like(
        self, function: Callable[[object], object], expected: tuple[type[BaseException], ...]
    ) -> Executor:
        """The same for another loading of the target."""
        made = copy.copy(self)
        made.function, made.expected = function, (Rejected, *expected)
        return made

    def in_child(self) -> None:
        """This process is a forked child and continues executing: nothing goes to the journal."""
        self._pid = os.getpid()
        self.form.detach()
        self.fixture.limits = Limits()  # those of the child may be lower on purpose
        self.guard.arm()  # timers are not inherited

    def _said(self, error: BaseException) -> tuple[str, str]:
        alarm = self.alarm
        if alarm is None:
            return "", ""
        # A part: the parent takes a trial that lasts half as long again for one that hangs.
        said = self.guarded(lambda: alarm.said(error), None, part=0.25)
        if said is None:
            alarm.was_slow()
        return said or ("", "")

    def guarded(self, call: Callable[[], _T], otherwise: _T, part: float = 1.0) -> _T:
        """Run code that may call the target's (a ``__str__``, a ``__repr__``) under the guard.

        ``part``: of the time limit.
        """
        guard = self.guard
        try:
            try:
                guard.start(part=part)
                return call()
            except BaseException:
                return otherwise
            finally:
                if os.getpid() != self._pid:
                    self._exit(0)
                guard.stop()
        except TrialTimeout:
            guard.stop()
            return otherwise

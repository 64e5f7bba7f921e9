"""Try the generator before a campaign: make some inputs, report errors and the types of choices.

The target itself is not called.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from typing import Any, Final, Literal

from fuzztui.engines.base.errors import Diagnostic
from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.execute.failures import failure_of, title_of
from fuzztui.engines.execute.loading import LoadedTarget
from fuzztui.engines.findings.compare import same
from fuzztui.engines.generators import made_by
from fuzztui.engines.instrument.guard import TrialTimeout
from fuzztui.engines.spoton.form import TypedInput
from fuzztui.engines.spoton.relations import TypeRelations
from fuzztui.engines.strategies.given import Pending
from fuzztui.kernel.base.text import listed

MAKING_S: Final = 1.0
"""Seconds after which no further input is made."""

_INPUTS: Final = 64
"""Inputs to make."""
_MAX_TRIES: Final = 200
"""Tries in which to make them: a generator may reject most of its inputs."""
_MIN_TRIES: Final = 20
"""Tries, all of them raising, after which the generator cannot work."""
_MAX_GIVEN_UP: Final = 0.5
"""Share of rejected inputs above which there is a warning."""
_MAX_SHOWN: Final = 6
"""Types listed in a message."""

_How = Literal["made", "gave up", "raised", "late"]


class Samples:
    """Makes inputs, each one twice, and reports problems as diagnostics."""

    def __init__(self, loaded: LoadedTarget, spec: TargetSpec) -> None:
        """Make the inputs, from choices that the form draws. The target must have a generator."""
        executor, form = loaded.executor, loaded.executor.form
        self._executor, self._files = executor, loaded.table.files()
        self._generator: Any = loaded.target.generator
        self._is_own = bool(spec.generator)
        """Whether the user wrote the generator; else it comes from a Hypothesis test."""
        self._key = "target.generator" if spec.generator else "target.function"
        self._value = spec.generator or spec.function
        self._part = min(1.0, MAKING_S / spec.timeout_s)
        self.tried = self.made = 0
        self._late = self._nones = self._different = 0
        self._given_up: list[str] = []
        self._raised: list[str] = []
        self.draws_later = False
        """Whether a test draws more choices while it runs (``data()``): those are not examined."""
        self.kin = TypeRelations(form.stacks, {}) if isinstance(form, TypedInput) else None
        """The types of the choices of all inputs; None if choices have no types."""
        executor.guard.arm()
        until = time.monotonic() + MAKING_S
        while self.made < _INPUTS and self.tried < _MAX_TRIES and time.monotonic() < until:
            self._try()
        executor.guard.disarm()

    def _try(self) -> None:
        form = self._executor.form
        how, found = self._make(b"")
        self.tried += 1
        if how == "made":
            self.made += 1
            self._nones += found is None
            self._make_again(found, form.used(b""))
        elif how == "late":
            self._late += 1
        else:
            title = self._executor.guarded(lambda: title_of(found), type(found).__name__)
            if how == "gave up":
                self._given_up.append(title.rpartition("Rejected: ")[2])
            else:
                place = failure_of(found, self._files).place
                self._raised.append(f"{title}{f' at {place}' * bool(place)}")

    def _make(self, data: bytes) -> tuple[_How, Any]:
        """Run the generator. Returns the input, or the exception that was raised."""
        executor = self._executor

        def attempt() -> tuple[_How, Any]:
            try:
                return "made", executor.form.build(data)
            except TrialTimeout:
                raise
            except executor.expected as e:
                return "gave up", e
            except BaseException as e:
                return "raised", e

        executor.fixture.restore()
        late: tuple[_How, Any] = "late", None
        found = executor.guarded(attempt, late, self._part)
        return late if executor.guard.expired else found

    def _make_again(self, value: Any, data: bytes) -> None:
        """Make the input ``value`` again from its choices ``data``, and record their types."""
        executor, form = self._executor, self._executor.form
        how, again = self._make(data)
        if how != "late":
            alike = how == "made" and form.used(data) == data
            a, b = _of_test(value), _of_test(again)
            if not alike or not executor.guarded(lambda: same(a, b), True, self._part):
                self._different += 1
        self.draws_later |= isinstance(value, Pending) and value.more
        if self.kin is not None and isinstance(form, TypedInput):
            typed = form
            executor.fixture.restore()
            known = executor.guarded(lambda: typed.annotate(data, whole=False), None, self._part)
            if known is not None:
                self.kin.meet(set(known.stack))

    # ------------------------------------------------------------------------ messages

    def refused(self) -> str:
        """Why the generator cannot work; an empty string if it may."""
        if not len(self._raised) == self.tried >= _MIN_TRIES:
            return ""
        where = f'{self._key} = "{self._value}"'
        return f"{where} raises {self._raised[0]}, for each of {self.tried} inputs"

    def remarks(self) -> Iterator[Diagnostic]:
        """Warnings and notes about the generator, the worst first."""
        tried = f"{self.tried} inputs"
        if self._raised:
            yield self._warning(f"raises {self._raised[0]}, for {len(self._raised)} of {tried}")
        if self._late:
            limit = f"{self._part * self._executor.guard.timeout_s:g} s"
            yield self._warning(f"takes longer than {limit} for {self._late} of {tried}")
        if self._different:
            yield self._warning(
                f"the same choices made another input ({self._different} of {self.made}): draw all"
                " values, because random, the clock and the order of a set are not repeatable"
            )
        if len(self._given_up) > _MAX_GIVEN_UP * self.tried:
            yield self._warning(f"rejects {len(self._given_up)} of {tried}: {self._given_up[0]}")
        types = self.kin.made() if self.kin is not None else []
        own = made_by(self._generator) if self._is_own else ()
        if own and self.made == self._nones > 0:
            yield self._note(f"makes only None, not the annotated {listed(own, _MAX_SHOWN)}")
        if self.kin is None or not self.made or self.draws_later:
            return
        if self._is_own and not own and not _is_annotated(self._generator):
            yield self._note(
                "has no return annotation: its choices have only the types of the generators"
                " that it calls"
            )
        elif not set(own) <= set(types):
            yield self._note("is not a @generator: choices that it draws itself have no type")
        if types:
            yield Diagnostic(f"types of its choices: {listed(types, _MAX_SHOWN)}")
        else:
            yield self._note(
                "no choice has a type, so every mutation is random: zest does the same at lower"
                " cost (docs/hypothesis.md lists strategies that have types)"
            )

    def _warning(self, message: str) -> Diagnostic:
        return Diagnostic(f"{self._key}: {message}", self._key, warns=True)

    def _note(self, message: str) -> Diagnostic:
        return Diagnostic(f"{self._key}: {message}", self._key)


def _of_test(value: Any) -> Any:
    """The arguments of a test that are made before it runs; other values unchanged."""
    return value.made if isinstance(value, Pending) else value


def _is_annotated(generator: Any) -> bool:
    function = inspect.unwrap(generator)
    return not inspect.isfunction(function) or "return" in function.__annotations__

"""Some inputs made before a campaign: does its generator work, and what are they made of?

The target itself is not called.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from typing import Any, Final, Literal

from fuzztui.base.text import listed
from fuzztui.engines.base.diagnostic import Diagnostic
from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.execute.failures import failure_of, title_of
from fuzztui.engines.execute.loading import LoadedTarget
from fuzztui.engines.findings.compare import same
from fuzztui.engines.generators import made_by
from fuzztui.engines.instrument.guard import TrialTimeout
from fuzztui.engines.spoton.form import TypedInput
from fuzztui.engines.spoton.relations import TypeRelations
from fuzztui.engines.strategies.given import Pending

__all__ = ["MAKING_S", "Samples"]

MAKING_S: Final = 1.0
"""All of it takes that long at most, and one input more."""

_ENOUGH: Final = 64
"""Inputs that are made."""
_MOST: Final = 200
"""Tries: of a generator that gives most of them up."""
_CERTAIN: Final = 20
"""Tries of which none succeeds in what cannot work."""
_MANY: Final = 0.5
"""Of the tries: to give up more is worth a word."""
_SHOWN: Final = 6
"""Types that are reported."""

_How = Literal["made", "gave up", "raised", "late"]


class Samples:
    """What was made, each input twice, and what is to be said of it."""

    def __init__(self, loaded: LoadedTarget, spec: TargetSpec) -> None:
        """The target has a generator. Makes them, of the choices that the form draws."""
        executor, form = loaded.executor, loaded.executor.form
        self._executor, self._files = executor, loaded.table.files()
        self._generator: Any = loaded.target.generator
        self._is_own = bool(spec.generator)
        """Or a Hypothesis test's."""
        self._key = "target.generator" if spec.generator else "target.function"
        self._value = spec.generator or spec.function
        self._part = min(1.0, MAKING_S / spec.timeout_s)
        self.tried = self.made = 0
        self._late = self._none = self._other = 0
        self._given_up: list[str] = []
        self._raised: list[str] = []
        self.draws_later = False
        """Does it draw more while the target runs (``data()``)? Of that nothing is known here."""
        self.kin = TypeRelations(form.stacks, {}) if isinstance(form, TypedInput) else None
        """Has met all of them."""
        executor.guard.arm()
        until = time.monotonic() + MAKING_S
        while self.made < _ENOUGH and self.tried < _MOST and time.monotonic() < until:
            self._try()
        executor.guard.disarm()

    def _try(self) -> None:
        form = self._executor.form
        how, found = self._make(b"")
        self.tried += 1
        if how == "made":
            self.made += 1
            self._none += found is None
            self._look_at(found, form.used(b""))
        elif how == "late":
            self._late += 1
        else:
            words = self._executor.guarded(lambda: title_of(found), type(found).__name__)
            if how == "gave up":
                self._given_up.append(words.rpartition("Rejected: ")[2])
            else:
                place = failure_of(found, self._files).place
                self._raised.append(f"{words}{f' at {place}' * bool(place)}")

    def _make(self, data: bytes) -> tuple[_How, Any]:
        """The input, or what was raised instead."""
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

    def _look_at(self, value: Any, data: bytes) -> None:
        """``data``: the choices that it was made of."""
        executor, form = self._executor, self._executor.form
        how, again = self._make(data)
        if how != "late":
            alike = how == "made" and form.used(data) == data
            a, b = _of_test(value), _of_test(again)
            if not alike or not executor.guarded(lambda: same(a, b), True, self._part):
                self._other += 1
        self.draws_later |= isinstance(value, Pending) and value.more
        if self.kin is not None and isinstance(form, TypedInput):
            typed = form
            executor.fixture.restore()
            known = executor.guarded(lambda: typed.annotate(data, whole=False), None, self._part)
            if known is not None:
                self.kin.meet(set(known.stack))

    # ------------------------------------------------------------------------ words

    def refused(self) -> str:
        """Why it cannot work at all, or ""."""
        if not len(self._raised) == self.tried >= _CERTAIN:
            return ""
        where = f'{self._key} = "{self._value}"'
        return f"{where} raises {self._raised[0]}, for each of {self.tried} inputs"

    def remarks(self) -> Iterator[Diagnostic]:
        """What else is to be said, the worst first."""
        tried = f"{self.tried} inputs"
        if self._raised:
            yield self._warning(f"raises {self._raised[0]}, for {len(self._raised)} of {tried}")
        if self._late:
            limit = f"{self._part * self._executor.guard.timeout_s:g} s"
            yield self._warning(f"takes longer than {limit} for {self._late} of {tried}")
        if self._other:
            yield self._warning(
                f"the same choices made another input ({self._other} of {self.made}): draw it, as"
                " random, the clock and the order of a set are not repeatable"
            )
        if len(self._given_up) > _MANY * self.tried:
            yield self._warning(f"gives {len(self._given_up)} of {tried} up: {self._given_up[0]}")
        types = self.kin.made() if self.kin is not None else []
        own = made_by(self._generator) if self._is_own else ()
        if own and self.made == self._none > 0:
            yield self._note(f"makes None, never the {listed(own, _SHOWN)} that is annotated")
        if self.kin is None or not self.made or self.draws_later:
            return
        if self._is_own and not own and not _is_annotated(self._generator):
            yield self._note(
                "has no return annotation: its choices have only the types of generators that it"
                " calls"
            )
        elif not set(own) <= set(types):
            yield self._note("is no @generator: what it draws itself has no type")
        if types:
            yield Diagnostic(f"types of its choices: {listed(types, _SHOWN)}")
        else:
            yield self._note(
                "no choice has a type, so nothing is aimed at: zest does the same for less"
                " (docs/hypothesis.md: which strategies give types)"
            )

    def _warning(self, words: str) -> Diagnostic:
        return Diagnostic(f"{self._key}: {words}", self._key, warns=True)

    def _note(self, words: str) -> Diagnostic:
        return Diagnostic(f"{self._key}: {words}", self._key)


def _of_test(value: Any) -> Any:
    """Of a test's arguments those that are made before it runs."""
    return value.made if isinstance(value, Pending) else value


def _is_annotated(generator: Any) -> bool:
    function = inspect.unwrap(generator)
    return not inspect.isfunction(function) or "return" in function.__annotations__

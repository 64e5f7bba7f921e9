"""A Hypothesis test as a target, as it is: its strategies make the input, its function takes it."""

from __future__ import annotations

import functools
import inspect
import random
import sys
import unittest
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.strategies import library, try_out, unlike

__all__ = ["GivenTest", "Pending"]

_SEEDED: Final = random.Random(0).getstate()


@dataclass(slots=True)
class Pending:
    """A test's arguments: the input. The test may draw more while it runs (``data()``)."""

    test: GivenTest
    case: Any
    arguments: dict[str, Any]
    more: bool
    """May it?"""
    on_draw: Callable[[], object] = bool
    """Called when it has."""
    drawn: list[Any] = field(default_factory=list)

    def __repr__(self) -> str:
        made = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.test.name}({made})"

    @property
    def made(self) -> dict[str, Any]:
        """The arguments without those that only draw more."""
        return {n: v for n, v in self.arguments.items() if not self.test.draws_by(v)}

    def drew(self, value: Any) -> None:
        """The test has drawn this."""
        self.drawn.append(value)
        self.on_draw()

    def run(self) -> object:
        """Run the test. One that is skipped says that its input is none."""
        runner, test = self.test.runner(), self.test.function
        body = functools.partial(test, *([] if runner is None else [runner]), **self.arguments)
        try:
            return self.case.run(
                lambda: _around(runner, test, body), runner, self.drew, steps=self.test.steps
            )
        except _skips() as e:
            raise Rejected(f"the test was skipped: {e}") from None
        except Exception as e:
            for number, value in enumerate(self.drawn, 1):
                e.add_note(f"Draw {number}: {_in_words(value):.2000}")
            raise


class GivenTest:
    """``make`` is a generator of inputs.

    Before each trial the global ``random`` (and NumPy's) are seeded as Hypothesis seeds them.
    Explicit examples, settings, deadlines, health checks and the example database play no part.
    """

    def __init__(self, where: str, test: Any, owner: object) -> None:
        """``owner``: the class, if it is a method. Raises :class:`CannotStart`."""
        library()
        from hypothesis.strategies import DataObject

        machine = getattr(test, "_hypothesis_state_machine_class", None)
        self.name: str = test.__name__ if machine is None else machine.__name__
        self.steps = machine is not None
        """Does it draw what to do, one step after another?"""
        try:
            if self.steps:
                test, owner = _stateful(machine), None
            self.function: Callable[..., Any] = test.hypothesis.inner_test
            self._strategies: dict[str, Any] = test.hypothesis._given_kwargs  # not documented
        except (ImportError, AttributeError) as e:
            raise unlike(e) from None
        self._where, self._owner = where, owner
        self._interactive = DataObject
        self._check(test)
        self._set_up()
        try_out(where, self.make)

    def _check(self, test: Any) -> None:
        where = self._where
        if inspect.iscoroutinefunction(self.function):
            raise CannotStart(f"{where} is a coroutine function: fuzz a test that is none")
        missing = [
            p.name
            for p in inspect.signature(test).parameters.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        self._bound = bool(missing) and isinstance(self._owner, type)
        missing = missing[self._bound :]
        if missing:
            raise CannotStart(
                f"{where} takes {', '.join(missing)}, which @given does not make: there are no"
                " fixtures and parameters of pytest here, so fuzz a test without"
            )
        try:
            test.hypothesis.fuzz_one_input  # noqa: B018 - has Hypothesis check the test
        except library().HypothesisException as e:
            words = " ".join(str(e).split())
            raise CannotStart(f"{where}: Hypothesis: {type(e).__name__}: {words:.400}") from None
        except TypeError:
            if not self._bound:
                raise  # else it is `self` that is missing

    def _set_up(self) -> None:
        """What is to be done once, for the test's module and class; it is never undone."""
        module, owner = sys.modules.get(self.function.__module__), self._owner
        hooks: list[tuple[object, str]] = [(module, "setUpModule"), (module, "setup_module")]
        hooks += [(owner, "setUpClass" if _is_unittest(owner) else "setup_class")] * self._bound
        for of, name in hooks:
            try:
                _call(of, name, of)
            except BaseException as e:
                words = " ".join(f"{type(e).__name__}: {e}".split())
                raise CannotStart(f"{self._where}: {name} raised {words:.300}") from None

    def make(self, r: Source) -> Pending:
        """The test's arguments."""
        _seed()
        case = library().Case(r, self.function)
        arguments = case.make(self._strategies)
        more = any(map(self.draws_by, arguments.values()))
        return Pending(self, case, arguments, more)

    def draws_by(self, value: object) -> bool:
        """Is it what the test draws more by (``data()``)?"""
        return isinstance(value, self._interactive)

    def target(self) -> Callable[[Any], object]:
        """The function to call with what was made."""

        @functools.wraps(self.function)
        def run(pending: Pending) -> object:
            return pending.run()

        return run

    def runner(self) -> Any:
        """The object that a method is called on: a new one for each trial."""
        if not self._bound:
            return None
        assert isinstance(self._owner, type)
        return self._owner(self.name) if _is_unittest(self._owner) else self._owner()


def _around(runner: Any, test: Callable[..., object], body: Callable[[], object]) -> object:
    """The test with what its object wants done around each example, or test."""
    if hasattr(runner, "execute_example"):
        return runner.execute_example(body)
    before, after = ["setup_method"], ["teardown_example", "teardown_method"]
    if _is_unittest(type(runner)):
        before, after = ["setUp"], ["teardown_example", "tearDown", "doCleanups"]
    for name in [*before, "setup_example"]:
        _call(runner, name, test)
    try:
        return body()
    finally:
        for name in after:
            _call(runner, name, test)


def _call(of: object, name: str, about: object) -> None:
    """Call a hook that may not be there, and may want to know what it is about."""
    hook = getattr(of, name, None)
    if hook is not None:
        hook(*[about][: len(inspect.signature(hook).parameters)])


def _is_unittest(owner: object) -> bool:
    return isinstance(owner, type) and issubclass(owner, unittest.TestCase)


def _in_words(value: Any) -> str:
    """What was drawn; a step of a stateful test as it would be written."""
    if type(value) is tuple and value and type(value[0]).__module__ == "hypothesis.stateful":
        rule, arguments = value
        made = ", ".join(f"{name}={one!r}" for name, one in arguments.items())
        return f"{rule.function.__name__}({made})"
    return repr(value)


def _stateful(machine: Any) -> Any:
    """The test that a ``RuleBasedStateMachine`` is run by."""
    from hypothesis.stateful import get_state_machine_test  # not documented

    return get_state_machine_test(machine)


def _skips() -> tuple[type[BaseException], ...]:
    skips: tuple[type[BaseException], ...] = (unittest.SkipTest,)
    pytest = sys.modules.get("pytest")
    return skips if pytest is None else (*skips, pytest.skip.Exception)


def _seed() -> None:
    """As each of Hypothesis' examples begins."""
    random.setstate(_SEEDED)
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed(0)

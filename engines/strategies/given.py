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

from fuzztui.engines.core.errors import Refusal
from fuzztui.engines.core.source import Rejected, Source
from fuzztui.engines.strategies import library, try_out

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

    def drew(self, value: Any) -> None:
        """The test has drawn this."""
        self.drawn.append(value)
        self.on_draw()

    def run(self) -> object:
        """Run the test. One that is skipped says that its input is none."""
        runner, test = self.test.runner(), self.test.function
        body = functools.partial(test, *([] if runner is None else [runner]), **self.arguments)
        try:
            return self.case.run(lambda: _around(runner, body), runner, self.drew)
        except _skips() as e:
            raise Rejected(f"the test was skipped: {e}") from None
        except Exception as e:
            for number, value in enumerate(self.drawn, 1):
                e.add_note(f"Draw {number}: {value!r:.2000}")
            raise


class GivenTest:
    """``make`` is a generator of inputs.

    Before each trial the global ``random`` (and NumPy's) are seeded as Hypothesis seeds them.
    Explicit examples, settings, deadlines, health checks and the example database play no part.
    """

    def __init__(self, where: str, test: Any, owner: object) -> None:
        """``owner``: the class, if it is a method. Raises :class:`Refusal`."""
        library()
        self._where, self._owner = where, owner
        self._check(test)
        from hypothesis.strategies import DataObject

        self._interactive = DataObject
        self.name: str = test.__name__
        self.function: Callable[..., Any] = test.hypothesis.inner_test
        self._strategies: dict[str, Any] = test.hypothesis._given_kwargs  # not documented
        try_out(where, self.make)

    def _check(self, test: Any) -> None:
        where = self._where
        if inspect.iscoroutinefunction(test.hypothesis.inner_test):
            raise Refusal(f"{where} is a coroutine function: fuzz a test that is none")
        missing = [
            p.name
            for p in inspect.signature(test).parameters.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        self._bound = bool(missing) and isinstance(self._owner, type)
        missing = missing[self._bound :]
        if missing:
            raise Refusal(
                f"{where} takes {', '.join(missing)}, which @given does not make: there are no"
                " fixtures and parameters of pytest here, so fuzz a test without"
            )
        try:
            test.hypothesis.fuzz_one_input  # noqa: B018 - has Hypothesis check the test
        except library().HypothesisException as e:
            words = " ".join(str(e).split())
            raise Refusal(f"{where}: Hypothesis: {type(e).__name__}: {words:.400}") from None
        except TypeError:
            if not self._bound:
                raise  # else it is `self` that is missing

    def make(self, r: Source) -> Pending:
        """The test's arguments."""
        _seed()
        case = library().Case(r, self.function)
        arguments = case.make(self._strategies)
        more = any(isinstance(value, self._interactive) for value in arguments.values())
        return Pending(self, case, arguments, more)

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
        if issubclass(self._owner, unittest.TestCase):
            return self._owner(self.name)
        return self._owner()


def _around(runner: Any, body: Callable[[], object]) -> object:
    """The test with what its object wants done around each example, or test."""
    if hasattr(runner, "execute_example"):
        return runner.execute_example(body)
    before = ["setup_example"]
    after = ["teardown_example"]
    if isinstance(runner, unittest.TestCase):
        before.insert(0, "setUp")
        after += ["tearDown", "doCleanups"]
    for name in before:
        getattr(runner, name, _nothing)()
    try:
        return body()
    finally:
        for name in after:
            getattr(runner, name, _nothing)()


def _nothing(*_: Any) -> None: ...


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

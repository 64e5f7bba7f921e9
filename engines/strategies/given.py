"""A Hypothesis test as a target: its strategies make the input, its function is called with it."""

from __future__ import annotations

import copy
import functools
import inspect
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.strategies import library, try_out, unlike

_SEEDED: Final = random.Random(0).getstate()


@dataclass(slots=True)
class Pending:
    """The input: a test's arguments. The test may draw more while it runs (``data()``)."""

    test: GivenTest
    case: Any
    arguments: dict[str, Any]
    more: bool
    """Whether the test may draw more."""
    on_draw: Callable[[], object] = bool
    """Called when the test has drawn a value."""
    drawn: list[Any] = field(default_factory=list)
    explicit: bool = False
    """Whether the arguments are those of an ``@example``, and nothing was drawn."""

    def __repr__(self) -> str:
        made = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.test.name}({made})"

    @property
    def made(self) -> dict[str, Any]:
        """The arguments without those for drawing (``data()``)."""
        return {n: v for n, v in self.arguments.items() if not self.test.draws_by(v)}

    def drew(self, value: Any) -> None:
        """Record a value that the test has drawn."""
        self.drawn.append(value)
        self.on_draw()

    def run(self) -> object:
        """Run the test. Raises :class:`Rejected` if the test is skipped."""
        runner, test = self.test.runner(), self.test.function
        body = functools.partial(
            test, *([] if runner is None else [runner]), **self.test.fixed(), **self.arguments
        )
        prepares = self.test.prepares(runner)
        try:
            return self.case.run(
                lambda: _around(runner, test, body, prepares=prepares),
                runner,
                self.drew,
                steps=self.test.steps,
            )
        except _skips() as e:
            raise Rejected(f"the test was skipped: {e}") from None
        except Exception as e:
            for number, value in enumerate(self.drawn, 1):
                e.add_note(f"Draw {number}: {_text_of(value):.2000}")
            raise


class GivenTest:
    """A Hypothesis test; :meth:`make` is the generator of its inputs.

    Before each trial the global ``random`` (and NumPy's) are seeded as Hypothesis does. Explicit
    examples, settings, deadlines, health checks and the example database are ignored.
    """

    def __init__(self, where: str, test: Any, owner: object) -> None:
        """``owner``: the class, if the test is a method. Raises :class:`CannotStart`."""
        library()
        from hypothesis.strategies import DataObject

        self.original = test

        machine = getattr(test, "_hypothesis_state_machine_class", None)
        self.method: str = test.__name__
        self.name: str = test.__name__ if machine is None else machine.__name__
        self.steps = machine is not None
        """Whether the test is stateful: it draws one step after another."""
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
            raise CannotStart(
                f"{where} is a coroutine function; name it as pytest does, such as"
                f" tests/test_a.py::{self.name}: a plugin of pytest then runs it"
            )
        missing = [
            p.name
            for p in inspect.signature(test).parameters.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        self._bound = bool(missing) and isinstance(self._owner, type)
        missing = missing[self._bound :]
        if missing:
            raise CannotStart(
                f"{where} takes {', '.join(missing)}, which @given does not make; fixtures and"
                " parameters of pytest are not supported, choose a test without them"
            )
        try:
            test.hypothesis.fuzz_one_input  # noqa: B018 - makes Hypothesis check the test
        except library().HypothesisException as e:
            words = " ".join(str(e).split())
            raise CannotStart(f"{where}: Hypothesis: {type(e).__name__}: {words:.400}") from None
        except TypeError:
            if not self._bound:
                raise  # for a method, only `self` is missing

    def _set_up(self) -> None:
        """Run the setup hooks of the test's module and class once; there is no teardown."""
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
        """Make the test's arguments from choices."""
        _seed()
        case = library().Case(r, self.function)
        arguments = case.make(self._strategies)
        more = any(map(self.draws_by, arguments.values()))
        return Pending(self, case, arguments, more)

    def examples(self) -> list[dict[str, Any]]:
        """The arguments of each ``@example``, in Hypothesis' order.

        Without those that are marked ``xfail``, and without those that Hypothesis itself rejects.
        """
        from hypothesis import Phase

        settings = getattr(self.original, "_hypothesis_internal_use_settings", None)
        if settings is not None and Phase.explicit not in settings.phases:
            return []
        usual = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.signature(self.function)
        names = [p.name for p in signature.parameters.values() if p.kind is usual]
        found = []
        for one in reversed(getattr(self.original, "hypothesis_explicit_examples", ())):
            if getattr(one, "raises", None) is not None:
                continue
            last = names[len(names) - len(one.args) :] if one.args else ()
            arguments = {**dict(zip(last, one.args, strict=False)), **one.kwargs}
            if arguments.keys() == self._strategies.keys():
                found.append(arguments)
        return found

    def make_example(self, r: Source, arguments: Mapping[str, Any]) -> Pending:
        """The input of an ``@example``."""
        _seed()
        case = library().Case(r, self.function)
        case.make({})
        try:
            made = copy.deepcopy(dict(arguments))  # the test may change them
        except Exception:
            made = dict(arguments)
        return Pending(self, case, made, more=False, explicit=True)

    def fixed(self) -> Mapping[str, Any]:
        """Arguments that are the same in each trial, by name."""
        return {}

    def prepares(self, runner: Any) -> bool:
        """Whether the setup methods of the runner are called around each trial."""
        return runner is not None

    @property
    def is_case(self) -> bool:
        """Whether the test is a method of a ``unittest.TestCase``."""
        return _is_unittest(self._owner)

    def draws_by(self, value: object) -> bool:
        """Whether the value is an object for drawing more (``data()``)."""
        return isinstance(value, self._interactive)

    def target(self) -> Callable[[Any], object]:
        """The target function, to be called with a :class:`Pending`."""

        @functools.wraps(self.function)
        def run(pending: Pending) -> object:
            return pending.run()

        return run

    def runner(self) -> Any:
        """A new object of the test's class for each trial; None if the test is not a method."""
        if not self._bound:
            return None
        assert isinstance(self._owner, type)
        return self._owner(self.method) if _is_unittest(self._owner) else self._owner()


def _around(
    runner: Any, test: Callable[..., object], body: Callable[[], object], *, prepares: bool
) -> object:
    """Run the test body between the setup and teardown hooks of its object.

    ``prepares``: also call the hooks of the test (``setup_method``, ``setUp`` and their
    counterparts); else only those of a single example.
    """
    if hasattr(runner, "execute_example"):
        return runner.execute_example(body)
    before, after = ["setup_method"], ["teardown_example", "teardown_method"]
    if _is_unittest(type(runner)):
        before, after = ["setUp"], ["teardown_example", "tearDown", "doCleanups"]
    if not prepares:
        before, after = [], ["teardown_example"]
    for name in [*before, "setup_example"]:
        _call(runner, name, test)
    try:
        return body()
    finally:
        for name in after:
            _call(runner, name, test)


def _call(of: object, name: str, about: object) -> None:
    """Call a hook, if it exists, with ``about`` if it takes an argument."""
    hook = getattr(of, name, None)
    if hook is not None:
        hook(*[about][: len(inspect.signature(hook).parameters)])


def _is_unittest(owner: object) -> bool:
    unittest = sys.modules.get("unittest")  # which imports asyncio: only if the target uses it
    return unittest is not None and isinstance(owner, type) and issubclass(owner, unittest.TestCase)


def _text_of(value: Any) -> str:
    """A drawn value as text; a step of a stateful test as a call."""
    if type(value) is tuple and value and type(value[0]).__module__ == "hypothesis.stateful":
        rule, arguments = value
        made = ", ".join(f"{name}={one!r}" for name, one in arguments.items())
        return f"{rule.function.__name__}({made})"
    return repr(value)


def _stateful(machine: Any) -> Any:
    """The test function that runs a ``RuleBasedStateMachine``."""
    from hypothesis.stateful import get_state_machine_test  # not documented

    return get_state_machine_test(machine)


def _skips() -> tuple[type[BaseException], ...]:
    unittest, pytest = sys.modules.get("unittest"), sys.modules.get("pytest")
    skips = () if unittest is None else (unittest.SkipTest,)
    return skips if pytest is None else (*skips, pytest.skip.Exception)


def _seed() -> None:
    """Seed the random generators as Hypothesis does before each example."""
    random.setstate(_SEEDED)
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed(0)

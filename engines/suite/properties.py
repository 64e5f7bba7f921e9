"""The properties of a suite: many targets as one, whose input says which of them it is for.

The first four choices of an input are the property's key, a hash of its name. So queue entries,
findings, peers, restarts and minimisation need to know nothing about properties.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fuzztui.engines.base.clock import start_over
from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.strategies import library
from fuzztui.engines.strategies.given import GivenTest, Pending
from fuzztui.engines.suite.collect import PytestSession, Skip
from fuzztui.kernel.base.text import several, without_folders

KEY_SIZE: Final = 4
"""Bytes of an input that say which property it is for."""
_NUMBER_SIZE: Final = 2
"""Bytes after the key that say which ``@example`` an input is."""

UNCOLLECTED: Final = "cannot be collected: "
"""How the reason of a file begins whose tests pytest does not find; its name is the file's."""

_MAX_BYTES: Final = 255
"""Most bytes that are drawn for a function that takes bytes or text."""


class SetUpError(Exception):
    """A property that could be run cannot be run any more."""


class Property:
    """One target of a suite: a Hypothesis test, or a function."""

    def __init__(self, name: str, key: bytes) -> None:
        self.name, self.key = name, key
        self.reason = ""
        """Why it is not run; empty if it is."""
        self.test: CollectedTest | GivenTest | None = None
        self.make: Callable[[Source], object] = _nothing
        self.run: Callable[[Any], object] = bool
        self.example_key = key
        """The key of inputs that are an ``@example``; :attr:`key` if there is none."""
        self.examples: list[dict[str, Any]] = []
        """The arguments of each."""

    def example_inputs(self) -> list[bytes]:
        """The inputs that are an ``@example``."""
        numbers = range(len(self.examples))
        return [self.example_key + n.to_bytes(_NUMBER_SIZE, "big") for n in numbers]

    def make_example(self, source: Source) -> Pending:
        """Read a number from the source, and make the input of the ``@example`` with that number.

        Raises :class:`Rejected` if there is none.
        """
        number = int.from_bytes(source.key(_NUMBER_SIZE), "big")
        if self.test is None or number >= len(self.examples):
            raise Rejected("the test has no such example")
        return self.test.make_example(source, self.examples[number])

    def set_up(self) -> None:
        """Prepare for trials. Raises :class:`~fuzztui.engines.suite.collect.Skip`."""


class CollectedTest(GivenTest):
    """A Hypothesis test as an item of pytest, which has made its fixtures and parameters."""

    def __init__(self, where: str, item: Any, name: str) -> None:
        """``item``: pytest's item, which is set up already. Raises :class:`CannotStart`."""
        self.item = item
        super().__init__(where, item.obj, item.cls)
        self.name = name

    def fixed(self) -> Mapping[str, Any]:
        """The values of fixtures and parameters."""
        wanted = getattr(self.item, "_fixtureinfo", None)
        names = getattr(wanted, "argnames", ())
        return {n: self.item.funcargs[n] for n in names if n in self.item.funcargs}

    def _check(self, test: Any) -> None:
        if inspect.iscoroutinefunction(self.function):
            if (function := synchronous(self.item, self.function)) is None:
                raise CannotStart("it is a coroutine function, which no plugin of pytest runs")
            self.function = function
        self._bound = not self.steps and inspect.ismethod(test)
        try:
            test.hypothesis.fuzz_one_input  # noqa: B018 - makes Hypothesis check the test
        except library().HypothesisException as e:
            raise CannotStart(f"Hypothesis: {type(e).__name__}: {e}") from None
        except TypeError:
            pass  # of a method, or with fixtures: arguments are missing

    def _set_up(self) -> None:
        """Do nothing: pytest has run the hooks of module and class."""

    def runner(self) -> Any:
        """The object that pytest has made; of a ``TestCase`` a new one for each trial."""
        made = super().runner() if self._is_case else None
        return made if made is not None or not self._bound else self.item.obj.__self__

    def prepares(self, runner: Any) -> bool:
        """Whether setup methods are called around each trial; else pytest has called them."""
        return self._is_case

    @property
    def _is_case(self) -> bool:
        return self._bound and self.is_case


class PytestProperty(Property):
    """A test that pytest has collected."""

    def __init__(self, name: str, key: bytes, session: PytestSession, item: Any) -> None:
        super().__init__(name, key)
        self.session, self.item = session, item

    def set_up(self) -> None:
        """Have pytest set the test up; at first, check it too."""
        self.session.set_up(self.item)
        if self.test is not None:
            return
        mark = self.item.get_closest_marker("xfail")
        if mark is not None and not mark.args:
            raise Skip("marked xfail: it is expected to fail")
        try:
            self.test = CollectedTest(self.name, self.item, without_folders(self.name))
        except CannotStart as e:
            raise Skip(" ".join(str(e).removeprefix(f"{self.name}: ").split())) from None
        self.make, self.run = self.test.make, self.test.target()
        self.examples = self.test.examples()


class FunctionProperty(Property):
    """A function, or a Hypothesis test, that the campaign names itself."""

    def __init__(
        self,
        name: str,
        key: bytes,
        make: Callable[[Source], object] | None,
        run: Callable[[Any], object],
        *,
        text: bool = False,
        test: GivenTest | None = None,
    ) -> None:
        """``make``: the generator; None: the function takes bytes, or if ``text`` is true a str."""
        super().__init__(name, key)
        self.test, self.run = test, run
        self.examples = [] if test is None else test.examples()
        self.make = make or (_text if text else _bytes)


class Suite:
    """All properties. :meth:`make` and :meth:`run` are the generator and the target function."""

    def __init__(self, properties: Sequence[Property], others: int, root: str) -> None:
        """``others``: tests that are no properties. ``root``: the project's directory."""
        self.all = properties
        self.others, self.root = others, root
        self.by_key = {one.key: one for one in properties}
        for one in properties:
            key = hashlib.sha256(f"{one.name} @example".encode()).digest()[:KEY_SIZE]
            if key not in self.by_key:
                one.example_key, self.by_key[key] = key, one
        self.current: Property | None = None
        self.strict = False
        """Whether it is an error that a property cannot be run; else the input is rejected."""
        self.on_leave: Callable[[], object] = bool
        """Called before another property is set up, and before the last one is torn down."""
        self.on_set_up: Callable[[], object] = bool
        """Called when another property was set up, or the last one torn down, which may have
        changed the process."""

    @property
    def running(self) -> list[Property]:
        """The properties that can be run."""
        return [one for one in self.all if not one.reason]

    def current_name(self) -> str:
        """The name of the property that is set up; empty if none is."""
        return self.current.name if self.current is not None else ""

    def of(self, data: bytes) -> Property | None:
        """The property of an input; None if there is none now."""
        return self.by_key.get(data[:KEY_SIZE])

    def prepare(self, data: bytes) -> None:
        """Set up the property of an input, outside of the trial's time limit."""
        found = self.by_key.get(data[:KEY_SIZE])
        if found is not None and found is not self.current:
            self.enter(found)

    def enter(self, one: Property) -> bool:
        """Set up a property that is not set up now. Returns whether it can be run."""
        if one.reason:
            return False
        self.on_leave()
        self.current = one
        start_over(setting_up=True)
        try:
            one.set_up()
        except Skip as e:
            one.reason, self.current = str(e), None
        self.on_set_up()
        return not one.reason

    def leave(self) -> None:
        """Tear down what is set up."""
        if self.current is None:
            return
        self.on_leave()
        self.current = None
        for session in self._sessions():
            session.tear_down(None)
        self.on_set_up()

    def _sessions(self) -> Iterable[PytestSession]:
        return dict.fromkeys(one.session for one in self.all if isinstance(one, PytestProperty))

    def make(self, source: Source) -> object:
        """Make an input: its first choices are the property's key."""
        found = self.by_key.get(key := source.key(KEY_SIZE))
        if found is None:
            raise self._refusal("the input is for a property that the suite does not have")
        if found is not self.current and not self.enter(found):
            raise self._refusal(f"{found.name}: {found.reason}")
        if key == found.example_key != found.key:
            return found.make_example(source)
        made = found.make(source)
        return made if isinstance(made, Pending) else FunctionInput(found, made)

    def _refusal(self, why: str) -> Exception:
        return SetUpError(why) if self.strict else Rejected(why)

    def run(self, made: Any) -> object:
        """Run the property on its input."""
        if isinstance(made, FunctionInput):
            return made.of.run(made.value)
        return made.run()


@dataclass(frozen=True, slots=True)
class FunctionInput:
    """The input of a property that is no Hypothesis test."""

    of: Property
    value: object

    def __repr__(self) -> str:
        return f"{self.of.name}({self.value!r})"


def uncollected_text(reasons: Mapping[str, Any]) -> str:
    """Return a warning about files that cannot be collected; "" if there are none.

    ``reasons``: why properties are not run, by name.
    """
    broken = {n: r for n, r in reasons.items() if isinstance(r, str) and r.startswith(UNCOLLECTED)}
    if not broken:
        return ""
    name, reason = next(iter(broken.items()))
    if len(broken) == 1:
        return f"{name} {reason}; its tests are not fuzzed"
    number = several(len(broken), "file")
    why = reason.removeprefix(UNCOLLECTED)
    return f"{number} {UNCOLLECTED}their tests are not fuzzed; the first: {name}: {why}"


def keys_of(names: Sequence[str]) -> list[bytes]:
    """The keys of properties: hashes of their names, all different."""
    taken: dict[bytes, None] = {}
    for name in names:
        for salt in ("", *map(str, range(len(names)))):
            key = hashlib.sha256(f"{name}{salt}".encode()).digest()[:KEY_SIZE]
            if key not in taken:
                taken[key] = None
                break
    return [*taken]


def _nothing(source: Source) -> object:
    raise Rejected("the property was not set up")


def _bytes(source: Source) -> bytes:
    return bytes(source.row(source.below(_MAX_BYTES + 1), 256))


def _text(source: Source) -> str:
    return _bytes(source).decode("utf-8", "replace")


def synchronous(item: Any, function: Callable[..., Any]) -> Callable[..., object] | None:
    """Return a function that runs a test's coroutine; None if no plugin of pytest runs the test.

    ``item``: pytest's. With pytest-asyncio the coroutine runs in the loop of the item's fixtures.
    """
    run: Callable[[Any, Callable[[], Any]], object]
    if any(cls.__module__.startswith("pytest_asyncio") for cls in type(item).__mro__):
        run = _by_asyncio
    elif item.get_closest_marker("anyio") and item.config.pluginmanager.hasplugin("anyio"):
        run = _by_anyio
    else:
        return None

    @functools.wraps(function)
    def test(*args: Any, **kwargs: Any) -> object:
        return run(item, functools.partial(function, *args, **kwargs))

    return test


def _by_asyncio(item: Any, coroutine: Callable[[], Any]) -> object:
    import asyncio

    for value in item.funcargs.values():  # a fixture of the plugin, by version
        if isinstance(value, asyncio.Runner):
            return value.run(coroutine())
        if isinstance(value, asyncio.AbstractEventLoop):
            return value.run_until_complete(coroutine())
    return asyncio.run(coroutine())


def _by_anyio(item: Any, coroutine: Callable[[], Any]) -> object:
    plugin = importlib.import_module("anyio.pytest_plugin")
    backend, options = plugin.extract_backend_and_options(item.funcargs["anyio_backend"])
    with plugin.get_runner(backend, options) as runner:
        return runner.run_test(coroutine, {})

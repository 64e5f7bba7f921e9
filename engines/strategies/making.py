"""A backend of Hypothesis that draws from a source, and one test case for each draw.

The backend (``PrimitiveProvider``) is documented, under "Hypothesis internals". ``ConjectureData``
and ``BuildContext``, which represent one test case, are not documented. They are used as in
``fuzz_one_input``, because the documented way, a whole test run for each object, costs four times
as much. They are imported only here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.control import BuildContext
from hypothesis.errors import HypothesisException, StopTest, UnsatisfiedAssumption
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.providers import PrimitiveProvider
from hypothesis.strategies import SearchStrategy

from fuzztui.engines.generators.names import COMMON, name_of
from fuzztui.engines.inputs.fields import positional
from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.strategies import values

if TYPE_CHECKING:
    from hypothesis.internal.intervalsets import IntervalSet

    from fuzztui.engines.inputs.constants import ConstantPool
    from fuzztui.engines.inputs.drawn import RecordingSource
    from fuzztui.engines.inputs.draws import NotingSource
    from fuzztui.engines.inputs.typed import GeneratorCall, Typed

__all__ = ["Case", "HypothesisException", "SearchStrategy", "check"]

_T = TypeVar("_T")
_MOST: Final = 10**10


class Backend(PrimitiveProvider):
    """Draws from a source. Hypothesis itself handles forced draws."""

    lifetime = "test_case"

    def __init__(self, data: ConjectureData | None, /, *, source: Source) -> None:
        super().__init__(data)
        self._source = source

    def draw_boolean(self, p: float = 0.5) -> bool:
        return values.boolean(self._source, p)

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        return values.integer(self._source, min_value, max_value, weights, shrink_towards)

    def draw_float(
        self,
        *,
        min_value: float = -float("inf"),
        max_value: float = float("inf"),
        allow_nan: bool = True,
        smallest_nonzero_magnitude: float,
    ) -> float:
        return values.real(
            self._source, min_value, max_value, allow_nan, smallest_nonzero_magnitude
        )

    def draw_string(
        self, intervals: IntervalSet, *, min_size: int = 0, max_size: int = _MOST
    ) -> str:
        return values.text(self._source, intervals, min_size, max_size)

    def draw_bytes(self, min_size: int = 0, max_size: int = _MOST) -> bytes:
        return values.block(self._source, min_size, max_size)

    def close(self) -> None:
        """Clean up after a test case."""


class SpanBackend(Backend):
    """Draws from a typed source, and reports to it which part of the strategy draws."""

    def __init__(self, data: ConjectureData | None, /, *, source: Source) -> None:
        super().__init__(data, source=source)
        self._typed = cast("Typed", source)
        self._open: list[tuple[GeneratorCall, int]] = []

    def span_start(self, label: int, /) -> None:
        """Enter a scope for a part of the strategy, as for a generator's call."""
        scope = self._typed.span(label)
        scope.__enter__()
        self._open.append((scope, self._typed.position))

    def span_end(self, discard: bool, /) -> None:
        """Leave the scope. (Called twice if a test case is rejected, unlike documented.)"""
        if self._open:
            scope, since = self._open.pop()
            scope.__exit__(None, None, None)
            if discard:
                self._typed.unmade(since)

    def close(self) -> None:
        """Leave all open scopes."""
        while self._open:
            self.span_end(False)


class NotingBackend(SpanBackend):
    """Draws from a source that notes each draw as one value, whatever choices it takes."""

    def __init__(self, data: ConjectureData | None, /, *, source: Source) -> None:
        super().__init__(data, source=source)
        self._noting = cast("NotingSource", source)

    def draw_boolean(self, p: float = 0.5) -> bool:
        since = self._noting.begin()
        value = super().draw_boolean(p)
        self._noting.note(since, "switch", int(value), 0, values.least_true(p))
        return value

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        since = self._noting.begin()
        value = super().draw_integer(
            min_value, max_value, weights=weights, shrink_towards=shrink_towards
        )
        details = min_value, max_value, shrink_towards, self._noting.prefix
        self._noting.note(since, "integer", value, *details)
        return value

    def draw_float(
        self,
        *,
        min_value: float = -float("inf"),
        max_value: float = float("inf"),
        allow_nan: bool = True,
        smallest_nonzero_magnitude: float,
    ) -> float:
        since, smallest = self._noting.begin(), smallest_nonzero_magnitude
        value = super().draw_float(
            min_value=min_value,
            max_value=max_value,
            allow_nan=allow_nan,
            smallest_nonzero_magnitude=smallest,
        )
        details = (float.hex(n) for n in (min_value, max_value, smallest))
        self._noting.note(since, "real", float.hex(value), *details)
        return value

    def draw_string(
        self, intervals: IntervalSet, *, min_size: int = 0, max_size: int = _MOST
    ) -> str:
        since = self._noting.begin()
        value = super().draw_string(intervals, min_size=min_size, max_size=max_size)
        details = min_size, max_size, self._noting.prefix
        self._noting.note(since, "text", *values.items_of(value, intervals), *details)
        return value

    def draw_bytes(self, min_size: int = 0, max_size: int = _MOST) -> bytes:
        since = self._noting.begin()
        value = super().draw_bytes(min_size, max_size)
        if not self._noting.constants:  # else one of the block's length may have been chosen
            self._noting.note(since, "bytes", value.hex(), min_size, max_size)
        return value


class RecordingBackend(Backend):
    """Draws from a source that records each draw as a whole, with the choices of other values."""

    def __init__(self, data: ConjectureData | None, /, *, source: Source) -> None:
        super().__init__(data, source=source)
        self._recording = cast("RecordingSource", source)

    def draw_boolean(self, p: float = 0.5) -> bool:
        return self._recording.record(lambda: values.boolean(self._source, p), _no_other)

    def draw_float(
        self,
        *,
        min_value: float = -float("inf"),
        max_value: float = float("inf"),
        allow_nan: bool = True,
        smallest_nonzero_magnitude: float,
    ) -> float:
        smallest = smallest_nonzero_magnitude
        return self._recording.record(
            lambda: values.real(self._source, min_value, max_value, allow_nan, smallest),
            _no_other,
        )

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        least, most = values.bounds(min_value, max_value)
        prefix = self._prefix(lambda pool: pool.integers(least, most))
        return self._recording.record(
            lambda: values.integer(self._source, min_value, max_value, weights, shrink_towards),
            lambda v: values.integer_bytes(v, min_value, max_value, shrink_towards, prefix),
        )

    def draw_string(
        self, intervals: IntervalSet, *, min_size: int = 0, max_size: int = _MOST
    ) -> str:
        prefix = self._prefix(
            lambda pool: pool.texts(values.alphabet_of(intervals), min_size, max_size)
        )
        return self._recording.record(
            lambda: values.text(self._source, intervals, min_size, max_size),
            lambda v: values.text_bytes(v, intervals, min_size, max_size, prefix),
        )

    def draw_bytes(self, min_size: int = 0, max_size: int = _MOST) -> bytes:
        def encode(value: bytes) -> bytes | None:
            if self._prefix(lambda pool: pool.blocks(min_size, max_size)):
                return None  # one of the block's length may have been chosen
            return values.block_bytes(value, min_size, max_size)

        return self._recording.record(
            lambda: values.block(self._source, min_size, max_size), encode
        )

    def _prefix(self, fitting: Callable[[ConstantPool], Sequence[object]]) -> str:
        """The choice, in hex, that selects no constant; empty if the draw has no such choice."""
        return "00" if self._recording.has_constants(fitting) else ""


def _no_other(value: object) -> None:
    """Encode no other value: booleans and floats are not recorded as operands."""


class _Data(ConjectureData):
    """The data of a test case; reports to a typed source the type of each value that is made."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.on_draw: Callable[[Any], None] | None = None
        """Called with each value that the test draws while it runs."""
        self.reported_depth = 0
        """Depth of the values for ``on_draw``; 0: values that are not parts of others."""
        self._fields: Iterator[str] = iter(())
        """Fields that the next parts of ``builds(Order, title=...)`` make."""
        # `random` is only used by other backends.
        plain = RecordingBackend if source.recording else Backend
        kind = NotingBackend if source.noting else SpanBackend if source.typed else plain
        super().__init__(random=None, provider=kind, provider_kw={"source": source})

    def draw(self, strategy: SearchStrategy[Any], *args: Any, **kwargs: Any) -> Any:
        """Draw a value of the strategy."""
        if not self._source.annotates:
            value = super().draw(strategy, *args, **kwargs)
        else:
            source = cast("Typed", self._source)
            since, field, outer = source.position, next(self._fields, ""), self._fields
            self._fields = _fields_of(strategy)
            try:
                value = super().draw(strategy, *args, **kwargs)
            finally:
                self._fields = outer
            for name in (name_of(type(value)), field):
                if name and name not in COMMON:
                    source.made(since, name)
            # The caller may be a ``@composite`` function of the user.
            source.made_for(since, sys._getframe(1))
        if self.on_draw is not None and self.depth == self.reported_depth:
            self.on_draw(value)
        return value


def _fields_of(strategy: Any) -> Iterator[str]:
    """Yield the fields that the parts of ``builds()`` of a class make, in the order of draws."""
    strategy = getattr(strategy, "wrapped_strategy", strategy)
    target = getattr(strategy, "target", None)
    given, named = getattr(strategy, "args", ()), getattr(strategy, "kwargs", ())
    if isinstance(target, type):
        ordered = [*positional(target), *[""] * len(given)][: len(given)] if given else []
        yield from (name and f"{name_of(target)}.{name}" for name in [*ordered, *named])


class Case:
    """One test case: draws the arguments, then runs the test."""

    def __init__(self, source: Source, test: Callable[..., Any] | None = None) -> None:
        """``test``: the function that will be run; None: values are drawn only."""
        self._data = _Data(source)
        self._runs = test is not None
        self._context = BuildContext(self._data, wrapped_test=test or _no_test)

    def make(self, strategies: Mapping[str, SearchStrategy[Any]]) -> dict[str, Any]:
        """Draw a value of each strategy, by name.

        Raises :class:`Rejected`, and any exception of the user's code.
        """
        data, context = self._data, self._context
        kept: list[Callable[[], Any]] = []
        try:
            with context:
                made = {
                    name: data.draw(strategy, observe_as=f"generate:{name}")
                    for name, strategy in strategies.items()
                }
                if self._runs:  # cleanup tasks are to be run after the test
                    kept, context.tasks = context.tasks, kept
        except (StopTest, UnsatisfiedAssumption):
            raise Rejected(
                "a strategy rejected the choices: a filter, an assumption, or too much data"
            ) from None
        except ValueError as e:
            if type(e).__module__.startswith("pydantic"):  # a validator rejected the values
                raise Rejected(f"no such model: {e}") from None
            raise
        finally:
            cast("Backend", data.provider).close()
        context.tasks = kept
        return made

    @property
    def choices(self) -> tuple[Any, ...]:
        """What was drawn until now, in the form of Hypothesis' database."""
        return tuple(self._data.choices)

    def run(
        self,
        test: Callable[[], _T],
        runner: object,
        on_draw: Callable[[Any], None],
        *,
        steps: bool = False,
    ) -> _T:
        """Run the test in the context of :meth:`make`. ``runner``: the object of a method.

        ``on_draw`` is called with each value that the test draws (``data()``). ``steps``: whether
        the test is stateful.
        """
        if runner is not None:
            self._data.hypothesis_runner = runner
        self._data.on_draw, self._data.reported_depth = on_draw, int(steps)
        try:
            with self._context:
                return test()
        except (StopTest, UnsatisfiedAssumption):
            raise Rejected("the test rejected its input") from None
        finally:
            cast("Backend", self._data.provider).close()


def _no_test() -> None: ...


def check() -> None:
    """Draw values of every kind once, to find missing or renamed parts of Hypothesis.

    Hypothesis then also makes its tables of characters, which it caches: within a trial this would
    exceed the time limit, in each trial again. Raises AttributeError, TypeError.
    """
    case = Case(Source(b"", 1 << 16, bytes), _no_test)
    one = st.tuples(st.text(), st.booleans(), st.integers(), st.floats(), st.binary())
    parts = st.lists(one, min_size=1)
    made = case.make({"parts": parts, "more": st.data()})
    case.run(lambda: made["more"].draw(parts), object(), lambda value: None)

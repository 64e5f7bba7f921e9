"""What Hypothesis makes of a source's choices: our backend, and one test case a draw.

Of Hypothesis the backend (``PrimitiveProvider``) is documented, under "Hypothesis internals". Not
documented are ``ConjectureData`` and ``BuildContext``, which hold one test case: they are used as
``fuzz_one_input`` uses them, as the documented way, a whole test run for each object, costs four
times as much. They are imported here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.control import BuildContext
from hypothesis.errors import HypothesisException, StopTest, UnsatisfiedAssumption
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.providers import PrimitiveProvider
from hypothesis.strategies import SearchStrategy

from fuzztui.engines.generators.names import COMMON, name_of
from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.strategies import values

if TYPE_CHECKING:
    from hypothesis.internal.intervalsets import IntervalSet

    from fuzztui.engines.inputs.typed import GeneratorCall, Typed

__all__ = ["Case", "HypothesisException", "SearchStrategy", "check"]

_T = TypeVar("_T")
_MOST: Final = 10**10


class Backend(PrimitiveProvider):
    """Draws from a source. Hypothesis itself deals with draws whose outcome is forced."""

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
        """The test case has ended, one way or another."""


class SpanBackend(Backend):
    """Draws from a source that is told where in the strategy each choice is drawn."""

    def __init__(self, data: ConjectureData | None, /, *, source: Source) -> None:
        super().__init__(data, source=source)
        self._typed = cast("Typed", source)
        self._open: list[tuple[GeneratorCall, int]] = []

    def span_start(self, label: int, /) -> None:
        """A part of the strategy begins: it is a scope, as a generator's invocation is."""
        scope = self._typed.span(label)
        scope.__enter__()
        self._open.append((scope, self._typed.position))

    def span_end(self, discard: bool, /) -> None:
        """It ends. (Told twice when a test case is given up, unlike what is promised.)"""
        if self._open:
            scope, since = self._open.pop()
            scope.__exit__(None, None, None)
            if discard:
                self._typed.unmade(since)

    def close(self) -> None:
        """Leave what is open."""
        while self._open:
            self.span_end(False)


class _Data(ConjectureData):
    """Tells a typed source of which type each thing is that was made of choices."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.on_draw: Callable[[Any], None] | None = None
        """Told what the test draws while it runs."""
        self.depth_told = 0
        """Of what is told: 0 is what is no part of anything else."""
        # `random` is for other backends.
        kind = SpanBackend if source.typed else Backend
        super().__init__(random=None, provider=kind, provider_kw={"source": source})

    def draw(self, strategy: SearchStrategy[Any], *args: Any, **kwargs: Any) -> Any:
        """What the strategy makes."""
        if not self._source.typed:
            value = super().draw(strategy, *args, **kwargs)
        else:
            source = cast("Typed", self._source)
            since = source.position
            value = super().draw(strategy, *args, **kwargs)
            name = name_of(type(value))
            if name not in COMMON:
                source.made(since, name)
        if self.on_draw is not None and self.depth == self.depth_told:
            self.on_draw(value)
        return value


class Case:
    """One test case: what is drawn for it, then the test that is run with that."""

    def __init__(self, source: Source, test: Callable[..., Any] | None = None) -> None:
        """``test``: what is going to be run, if anything is."""
        self._data = _Data(source)
        self._runs = test is not None
        self._context = BuildContext(self._data, wrapped_test=test or _no_test)

    def make(self, strategies: Mapping[str, SearchStrategy[Any]]) -> dict[str, Any]:
        """What they make, by name. Raises :class:`Rejected`, and what the user's code raises."""
        data, context = self._data, self._context
        kept: list[Callable[[], Any]] = []
        try:
            with context:
                made = {
                    name: data.draw(strategy, observe_as=f"generate:{name}")
                    for name, strategy in strategies.items()
                }
                if self._runs:  # what is to be undone after the test
                    kept, context.tasks = context.tasks, kept
        except (StopTest, UnsatisfiedAssumption):
            raise Rejected(
                "a strategy gave up: a filter, an assumption, or too much data"
            ) from None
        except ValueError as e:
            if type(e).__module__.startswith("pydantic"):  # more is asked of it than its types
                raise Rejected(f"no such model: {e}") from None
            raise
        finally:
            cast("Backend", data.provider).close()
        context.tasks = kept
        return made

    def run(
        self,
        test: Callable[[], _T],
        runner: object,
        on_draw: Callable[[Any], None],
        *,
        steps: bool = False,
    ) -> _T:
        """Run the test in the context of what was made. ``runner``: the object that it belongs to.

        ``on_draw`` is told what it draws itself (``data()``), ``steps``: of a stateful test.
        """
        if runner is not None:
            self._data.hypothesis_runner = runner
        self._data.on_draw, self._data.depth_told = on_draw, int(steps)
        try:
            with self._context:
                return test()
        except (StopTest, UnsatisfiedAssumption):
            raise Rejected("the test gave its input up") from None
        finally:
            cast("Backend", self._data.provider).close()


def _no_test() -> None: ...


def check() -> None:
    """Draw some of everything once: what is not there, or is called otherwise, shows now.

    Hypothesis makes its tables of characters for that, once in the life of a cache: in a trial
    that would end by its time limit, and so would the next. Raises AttributeError, TypeError.
    """
    case = Case(Source(b"", 1 << 16, bytes), _no_test)
    one = st.tuples(st.text(), st.booleans(), st.integers(), st.floats(), st.binary())
    parts = st.lists(one, min_size=1)
    made = case.make({"parts": parts, "more": st.data()})
    case.run(lambda: made["more"].draw(parts), object(), lambda value: None)

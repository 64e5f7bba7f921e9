"""Hypothesis strategies, and tests with ``@given``, as generators of inputs (docs/spoton.md).

``values`` makes primitive values of choices, ``making`` is the backend that Hypothesis asks for
them, ``given`` takes a test apart. Hypothesis itself is imported when one of them is needed.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.inputs.source import Rejected, Source

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "draw", "from_strategy", "from_type", "generator_of", "library", "test_of", "try_out", "unlike",
]  # fmt: skip

_T = TypeVar("_T")

OLDEST: Final = (6, 150)
"""The first version of Hypothesis that this was tried with."""

_ATTEMPTS: Final = 200
_LIMIT: Final = 1 << 20


@cache
def library() -> Any:
    """:mod:`.making`, with Hypothesis in it. Raises :class:`CannotStart` if that cannot be."""
    try:
        from fuzztui.engines.strategies import making

        making.check()
    except (ImportError, AttributeError, TypeError) as e:
        if importlib.util.find_spec("hypothesis") is None:
            raise CannotStart(
                f"Hypothesis is missing for target.python ({sys.executable}), which has to make"
                " inputs from strategies or types: python -m pip install hypothesis"
            ) from None
        raise unlike(e) from None
    return making


def unlike(error: Exception) -> CannotStart:
    """What to say where Hypothesis has not the parts that are known here."""
    import hypothesis

    return CannotStart(
        f"Hypothesis {hypothesis.__version__} has no backends as they are known here: install"
        f" {'.'.join(map(str, OLDEST))}, or the newest, for target.python ({sys.executable}):"
        f" {type(error).__name__}: {error}"
    )


def draw(source: Source, strategy: SearchStrategy[_T]) -> _T:
    """What a strategy makes of a source's choices. Raises :class:`Rejected`.

    Usually called as ``source.draw(strategy)``.
    """
    case = library().Case
    if source.typed:
        with source.scope((), 2):  # type: ignore[attr-defined]
            return cast("_T", case(source).make({"value": strategy})["value"])
    return cast("_T", case(source).make({"value": strategy})["value"])


Source.draw_strategy = staticmethod(draw)


def from_strategy(strategy: SearchStrategy[_T], *kinds: Any) -> Callable[[Source], _T]:
    """A generator of what a strategy makes; of types that are known by what it has made.

    ``kinds``: types that it makes, if that cannot be known: a ``TypedDict``, a ``NewType``.
    """
    if not isinstance(strategy, library().SearchStrategy):
        raise TypeError(f"from_strategy({strategy!r:.80}): not a Hypothesis strategy")
    # Here: no engine whose target has no generator need import the ready ones.
    from fuzztui.engines.generators.scope import generator

    def gen_strategy(r: Source) -> Any:
        return r.draw(strategy)

    gen_strategy.__doc__ = f"What {strategy!r:.200} makes."
    decorate: Any = generator(*kinds) if kinds else generator
    return cast("Callable[[Source], _T]", decorate(gen_strategy))


def from_type(kind: type[_T]) -> Callable[[Source], _T]:
    """A generator of things of a type: a dataclass, a pydantic model, a ``TypedDict``, ..."""
    library()
    from hypothesis import strategies

    return from_strategy(strategies.from_type(kind), kind)


def test_of(found: object) -> Any:
    """The Hypothesis test that is named, if it is one: a stateful one also by its classes."""
    for name in ("TestCase", "runTest"):
        if inspect.isclass(found):
            found = getattr(found, name, found)
    return found if getattr(found, "is_hypothesis_test", False) else None


def generator_of(where: str, found: object) -> Callable[[Source], object] | None:
    """What is named as a generator and is none: a strategy, or a type; None for anything else.

    Strategies without arguments of their own (``@composite``) are called. ``where``: the key and
    its value. Raises :class:`CannotStart`.
    """
    if inspect.isclass(found):
        return _checked(where, lambda: from_type(found))
    if "hypothesis" not in sys.modules:
        return None
    if getattr(found, "is_hypothesis_strategy_function", False) and callable(found):
        return _checked(where, lambda: from_strategy(found()))
    if isinstance(found, library().SearchStrategy):
        return _checked(where, lambda: from_strategy(found))
    return None


def _checked(
    where: str, make: Callable[[], Callable[[Source], object]]
) -> Callable[[Source], object]:
    try:
        made = make()
    except (TypeError, library().HypothesisException) as e:
        raise CannotStart(f"{where}: Hypothesis: {type(e).__name__}: {e}") from None
    try_out(where, made)
    return made


def try_out(where: str, make: Callable[[Source], object]) -> None:
    """Make one input, before it counts. Raises :class:`CannotStart` if Hypothesis cannot.

    What the user's code raises is for the trials to find. The strategies build what they keep.
    """
    for data in _samples():
        try:
            make(data)
        except Rejected:
            continue
        except library().HypothesisException as e:
            words = " ".join(str(e).split())
            raise CannotStart(f"{where}: Hypothesis: {type(e).__name__}: {words:.400}") from None
        except BaseException:  # to exit, or to skip the test, is no Exception
            return
        return
    raise CannotStart(
        f"{where}: Hypothesis: of {_ATTEMPTS} inputs from random choices its strategies gave all"
        " up: make their filters and assumptions easier to satisfy"
    )


def _samples() -> Iterator[Source]:
    import random

    rng = random.Random(0)
    for _ in range(_ATTEMPTS):
        yield Source(b"", _LIMIT, rng.randbytes)

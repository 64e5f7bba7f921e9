"""Use Hypothesis strategies, and tests with ``@given``, as generators (docs/spoton.md).

``values`` makes primitive values from choices, ``making`` is the backend that Hypothesis calls for
them, ``given`` splits a test into generator and function. Hypothesis is imported only when needed.
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
"""The oldest version of Hypothesis with which this was tested."""

_ATTEMPTS: Final = 200
_LIMIT: Final = 1 << 20


@cache
def library() -> Any:
    """Import :mod:`.making` and Hypothesis. Raises :class:`CannotStart` if this is impossible."""
    try:
        from fuzztui.engines.strategies import making

        making.check()
    except (ImportError, AttributeError, TypeError) as e:
        if importlib.util.find_spec("hypothesis") is None:
            raise CannotStart(
                f"Hypothesis is not installed for target.python ({sys.executable}), needed to make"
                " inputs from strategies or types: python -m pip install hypothesis"
            ) from None
        raise unlike(e) from None
    return making


def unlike(error: Exception) -> CannotStart:
    """The error for a Hypothesis version whose backend interface is different."""
    import hypothesis

    return CannotStart(
        f"Hypothesis {hypothesis.__version__} has an unsupported backend interface; install"
        f" {'.'.join(map(str, OLDEST))} or the newest version for target.python ({sys.executable}):"
        f" {type(error).__name__}: {error}"
    )


def draw(source: Source, strategy: SearchStrategy[_T]) -> _T:
    """Make a strategy's value from a source's choices. Raises :class:`Rejected`.

    Usually called as ``source.draw(strategy)``.
    """
    if source.typed:
        return source.call(tuple, _drawn, (source, strategy), {})  # type: ignore[attr-defined,no-any-return]
    return _drawn(source, strategy)


def _drawn(source: Source, strategy: SearchStrategy[_T]) -> _T:
    return cast("_T", library().Case(source).make({"value": strategy})["value"])


Source.draw_strategy = staticmethod(draw)


def from_strategy(strategy: SearchStrategy[_T], *kinds: Any) -> Callable[[Source], _T]:
    """A generator of a strategy's values. Their types are observed.

    ``kinds``: types that cannot be observed: a ``TypedDict``, a ``NewType``.
    """
    if not isinstance(strategy, library().SearchStrategy):
        raise TypeError(f"from_strategy({strategy!r:.80}): not a Hypothesis strategy")
    # Imported here, so that engines without a generator do not import the library.
    from fuzztui.engines.generators.scope import generator

    def gen_strategy(r: Source) -> Any:
        return r.draw(strategy)

    gen_strategy.__doc__ = f"A value of {strategy!r:.200}."
    decorate: Any = generator(*kinds) if kinds else generator
    return cast("Callable[[Source], _T]", decorate(gen_strategy))


def from_type(kind: type[_T]) -> Callable[[Source], _T]:
    """A generator of values of a type: a dataclass, a pydantic model, a ``TypedDict``, ..."""
    library()
    from hypothesis import strategies

    return from_strategy(strategies.from_type(kind), kind)


def test_of(found: object) -> Any:
    """The object if it is a Hypothesis test (for stateful tests also its classes), else None."""
    for name in ("TestCase", "runTest"):
        if inspect.isclass(found):
            found = getattr(found, name, found)
    return found if getattr(found, "is_hypothesis_test", False) else None


def generator_of(where: str, found: object) -> Callable[[Source], object] | None:
    """A generator from a strategy or a type; None for other objects.

    A strategy function (``@composite``) is called without arguments. ``where``: the key and its
    value, for messages. Raises :class:`CannotStart`.
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
    """Make one input before the campaign. Raises :class:`CannotStart` if Hypothesis cannot.

    Exceptions of the user's code are ignored: trials will find them. Strategies fill their caches.
    """
    for data in _samples():
        try:
            make(data)
        except Rejected:
            continue
        except library().HypothesisException as e:
            words = " ".join(str(e).split())
            raise CannotStart(f"{where}: Hypothesis: {type(e).__name__}: {words:.400}") from None
        except BaseException:  # also SystemExit, and the exceptions that skip a test
            return
        return
    raise CannotStart(
        f"{where}: Hypothesis: the strategies rejected all of {_ATTEMPTS} inputs from random"
        " choices; make their filters and assumptions easier to satisfy"
    )


def _samples() -> Iterator[Source]:
    import random

    rng = random.Random(0)
    for _ in range(_ATTEMPTS):
        yield Source(b"", _LIMIT, rng.randbytes)

"""``@generator``: says that a function makes a thing of a type from choices.

To a plain source it says nothing, and costs a call. A typed one (kind ``spoton``) learns which
choices make which types, and where in the generators they are drawn.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Generator, Iterator
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload
from weakref import WeakSet

from fuzztui.engines.generators.names import types_of
from fuzztui.engines.inputs.source import Source

if TYPE_CHECKING:
    from fuzztui.engines.inputs.typed import Typed

__all__ = ["generator", "made_by", "undecorated"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_MADE: str = "__fuzztui_makes__"
_wrappers: WeakSet[Callable[..., Any]] = WeakSet()
"""What other decorators make of them has their attributes, too."""


@overload  # first, as a class is callable, too
def generator(*kinds: type) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...  # type: ignore[overload-overlap]
@overload
def generator(function: Callable[_P, _R], /) -> Callable[_P, _R]: ...
def generator(*of: Any) -> Any:
    """Decorate a function whose first argument (after ``self``) is a ``Source``.

    What it makes is its return annotation, or the types that are given: ``@generator(Order)``.
    Elements of containers and alternatives count; str, int and the like do not.
    Raises TypeError for something that is neither a function nor a type.
    """
    if len(of) == 1 and inspect.isfunction(of[0]):
        return _wrapped(of[0], None)
    for kind in of:
        if not isinstance(kind, type | typing.NewType) and typing.get_origin(kind) is None:
            raise TypeError(f"@generator({kind!r}): decorate a function, or give types")

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        if not inspect.isfunction(function):
            raise TypeError(f"@generator: {function!r} is not a function")
        return _wrapped(function, of)

    return decorate


def made_by(function: Callable[..., Any]) -> tuple[str, ...]:
    """The types that a generator makes; those of its annotation if it is not decorated."""
    makes = getattr(function, _MADE, None)
    return cast("tuple[str, ...]", makes()) if makes is not None else _annotated(function)


def undecorated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Without ``@generator``, where that is the outermost decorator: it takes what it is put on."""
    is_ours = type(function) is FunctionType and function in _wrappers
    return function.__wrapped__ if is_ours else function  # type: ignore[attr-defined]


def _annotated(function: Any) -> tuple[str, ...]:
    try:
        # Not those of its parameters, which may be there for a type checker only.
        only = SimpleNamespace(__annotations__={"return": function.__annotations__["return"]})
        return types_of(typing.get_type_hints(only, function.__globals__)["return"])
    except Exception:  # none, a forward reference to what is not there, or worse: it is the user's
        return ()


def _wrapped(function: Callable[..., Any], of: tuple[Any, ...] | None) -> Callable[..., Any]:
    known: list[tuple[str, ...]] = []

    def makes() -> tuple[str, ...]:
        if not known:  # now that the module's names are there
            given = tuple(dict.fromkeys(n for kind in of for n in types_of(kind))) if of else ()
            known.append(given or _annotated(function))
        return known[0]

    def source_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Typed | None:
        """The typed source among the arguments, if it is one."""
        for value in (*args[:2], *kwargs.values()):
            if isinstance(value, Source):
                return cast("Typed", value) if value.typed else None
        return None

    made: Callable[..., Any]
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def steps(*args: Any, **kwargs: Any) -> Iterator[Any]:
            source = source_in(args, kwargs)
            inner = function(*args, **kwargs)
            return inner if source is None else _scoped(source.scope(makes(), 2), inner)

        made = steps
    else:

        @functools.wraps(function)
        def whole(*args: Any, **kwargs: Any) -> Any:
            source = source_in(args, kwargs)
            if source is None:
                return function(*args, **kwargs)
            with source.scope(makes(), 2):
                return function(*args, **kwargs)

        made = whole
    setattr(made, _MADE, makes)
    _wrappers.add(made)
    return made


def _scoped(scope: Any, inner: Iterator[Any]) -> Generator[Any, None, Any]:
    """Each step of a generator that yields lies in its scope; what its user does meanwhile not."""
    while True:
        with scope:
            try:
                value = next(inner)
            except StopIteration as end:
                return end.value
        yield value

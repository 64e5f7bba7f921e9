"""``@generator``: declares that a function makes values of a type from choices.

With a plain source the decorator only costs a call. A typed source (kind ``spoton``) records which
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

_P = ParamSpec("_P")
_R = TypeVar("_R")
_MADE: str = "__fuzztui_makes__"
_wrappers: WeakSet[Callable[..., Any]] = WeakSet()
"""The wrappers, since other decorators copy their attributes to their own wrappers."""


@overload  # first, because a class is callable too
def generator(*kinds: type) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...  # type: ignore[overload-overlap]
@overload
def generator(function: Callable[_P, _R], /) -> Callable[_P, _R]: ...
def generator(*of: Any) -> Any:
    """Decorate a function whose first argument (after ``self``) is a ``Source``.

    The types that it makes are those of its return annotation, or the given ones:
    ``@generator(Order)``. Element types of containers and alternatives count; common types such as
    str and int do not. Raises TypeError for an argument that is neither a function nor a type.
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
    """The types that a generator makes; the types of its annotation if it is not decorated."""
    makes = getattr(function, _MADE, None)
    return cast("tuple[str, ...]", makes()) if makes is not None else _annotated(function)


def undecorated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without ``@generator``, if that is the outermost decorator."""
    is_wrapper = type(function) is FunctionType and function in _wrappers
    return function.__wrapped__ if is_wrapper else function  # type: ignore[attr-defined]


def _annotated(function: Any) -> tuple[str, ...]:
    try:
        # Only the return annotation: others may use names that only a type checker imports.
        only = SimpleNamespace(__annotations__={"return": function.__annotations__["return"]})
        return types_of(typing.get_type_hints(only, function.__globals__)["return"])
    except Exception:  # no annotation, an unknown name in it, or an error in the user's code
        return ()


def _wrapped(function: Callable[..., Any], of: tuple[Any, ...] | None) -> Callable[..., Any]:
    known: list[tuple[str, ...]] = []

    def makes() -> tuple[str, ...]:
        if not known:  # only now: the names in the annotation must be defined
            given = tuple(dict.fromkeys(n for kind in of for n in types_of(kind))) if of else ()
            known.append(given or _annotated(function))
        return known[0]

    def source_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Typed | None:
        """The source among the arguments, if it is a typed one."""
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
            is_first = args and isinstance(args[0], Source)  # nearly always: a fast way
            source = args[0] if is_first else source_in(args, kwargs)
            if source is None or not source.typed:
                return function(*args, **kwargs)
            return source.call(makes, function, args, kwargs)

        made = whole
    setattr(made, _MADE, makes)
    _wrappers.add(made)
    return made


def _scoped(scope: Any, inner: Iterator[Any]) -> Generator[Any, None, Any]:
    """Run each step of a generator that yields in its scope, but not the code between steps."""
    while True:
        with scope:
            try:
                value = next(inner)
            except StopIteration as end:
                return end.value
        yield value

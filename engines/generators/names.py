"""The types in an annotation, with the names that the static analysis uses."""

from __future__ import annotations

import collections.abc
import types
import typing
from typing import Any, Final

COMMON: Final = frozenset({
    "builtins.str", "builtins.bytes", "builtins.bytearray", "builtins.int", "builtins.float",
    "builtins.bool", "builtins.complex", "builtins.object", "builtins.list", "builtins.dict",
    "builtins.set", "builtins.frozenset", "builtins.tuple", "builtins.type", "builtins.range",
    "builtins.memoryview", "types.NoneType", "typing.Any",
})  # fmt: skip
"""Common types, which are ignored: they do not distinguish goals (the SpotOn paper, III-B)."""

_CONTAINERS: Final = frozenset({
    collections.abc.Iterator, collections.abc.Iterable, collections.abc.Generator,
    collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Collection,
    collections.abc.Mapping, collections.abc.MutableMapping, collections.abc.Set,
})  # fmt: skip


def name_of(cls: type) -> str:
    """The full name of a class: ``module.qualname``."""
    return f"{cls.__module__}.{cls.__qualname__}"


def types_of(annotation: Any) -> tuple[str, ...]:
    """The types without common ones: Order for ``list[Order] | None``. Strings are not resolved."""
    return tuple(dict.fromkeys(_names(annotation, 8)))


def _names(annotation: Any, depth: int) -> list[str]:
    if depth == 0:
        return []
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _names(arguments[0], depth - 1)
    if origin is typing.Literal:
        return []
    found = []
    if isinstance(annotation, typing.NewType):
        return [f"{annotation.__module__}.{annotation.__name__}"]
    if isinstance(annotation, typing.TypeVar):
        parts = (annotation.__bound__, *annotation.__constraints__)
        return [name for part in parts for name in _names(part, depth - 1)]
    cls = origin if isinstance(origin, type) else annotation
    if isinstance(cls, type) and cls not in _CONTAINERS and cls is not types.UnionType:
        name = name_of(cls)
        if name not in COMMON:
            found.append(name)
    for argument in arguments:
        found += _names(argument, depth - 1)
    return found

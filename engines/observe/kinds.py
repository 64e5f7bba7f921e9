"""The types of values, in a form that annotations can express.

*Kinds* are observed types: a mapping from a type's name to the kinds of its arguments.
``list[date | None]`` is ``{"builtins.list": [{"datetime.date": [], "None": []}]}``. ``?`` means a
class that cannot be imported by its name, such as a class within a function.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import ModuleType
from typing import Any, Final, TypeAlias

Kinds: TypeAlias = dict[str, list[Any]]

UNNAMED: Final = "?"
MAX_TYPES: Final = 8
"""Bound of the types of one parameter; more are replaced by common base classes."""

_NONE: Final = "None"
_TUPLE: Final = "builtins.tuple"
_ANY: Final = "typing.Any"
_DEEPEST: Final = 3
_ELEMENTS: Final = 8
_LONGEST: Final = 4
"""Elements of a tuple up to which each element has its own type."""
_PLATFORMS: Final = ("Posix", "Windows")

_mro = type.__dict__["__mro__"].__get__
_attribute = type.__getattribute__  # ignores methods of a metaclass


def merge(into: Kinds, more: Mapping[str, list[Any]]) -> bool:
    """Add ``more`` to ``into``, also in its arguments. Returns whether ``into`` has changed."""
    changed = False
    for name, arguments in more.items():
        if name not in into:
            into[name] = [{} for _ in arguments]
            changed = True
        for mine, theirs in zip(into[name], arguments, strict=False):
            changed |= merge(mine, theirs)
    return changed


class Namer:
    """The names of classes and of their base classes."""

    def __init__(self) -> None:
        self._names: dict[type, str] = {}
        self.bases: dict[str, list[str]] = {}
        """By name of a class: the names of its base classes, the nearest first."""

    def kinds(self, value: object, depth: int = _DEEPEST) -> Kinds:
        """The kinds of a value and of a container's first elements. Runs no code of the target."""
        cls = type(value)
        if value is None:
            return {_NONE: []}
        if cls is type or issubclass(cls, type):
            return {"builtins.type": [{self.name(value): []}]}  # type: ignore[arg-type]
        if cls is tuple:
            return self._tuple(value, depth)  # type: ignore[arg-type]
        if cls in (list, set, frozenset, deque):
            return {_full(cls): [self._of(value, depth)]}  # type: ignore[arg-type]
        if cls in (dict, defaultdict, OrderedDict):
            parts: list[Iterable[object]] = [dict.keys(value), dict.values(value)]  # type: ignore[arg-type]
            return {_full(cls): [self._of(part, depth) for part in parts]}
        return {self.name(cls): []}

    def elements(self, values: Iterable[object]) -> Kinds:
        """The merged kinds of the first values."""
        return self._of(values, _DEEPEST)

    def _of(self, values: Iterable[object], depth: int) -> Kinds:
        found: Kinds = {}
        if depth:
            for value in islice(values, _ELEMENTS):
                merge(found, self.kinds(value, depth - 1))
        return found

    def _tuple(self, value: tuple[object, ...], depth: int) -> Kinds:
        if depth and 0 < len(value) <= _LONGEST:
            parts = [self.kinds(part, depth - 1) for part in value]
            return {f"{_TUPLE}/{len(value)}": parts}
        return {f"{_TUPLE}/*": [self._of(value, depth)]}

    def name(self, cls: type) -> str:
        """The name of the class, or of its nearest base class that can be imported by name."""
        known = self._names.get(cls)
        if known is None:
            names = [n for n in map(_full, _mro(cls)[:-1]) if n]
            known = self._names[cls] = names[0] if names else UNNAMED
            for at, name in enumerate(names):
                self.bases.setdefault(name, names[at + 1 :])
        return known


def _full(cls: type) -> str:
    """``module.Class`` if the class can be imported by this name; else an empty string."""
    qualname = _attribute(cls, "__qualname__")
    module = _attribute(cls, "__module__")
    if not isinstance(module, str):
        return ""
    if module.partition(".")[0] == "fuzztui" and ".generators" not in module:
        return ""  # for example Source; the static analysis does not use fuzztui's classes either
    if module.partition(".")[0] == "pathlib" and qualname.removeprefix("Pure").startswith(
        _PLATFORMS
    ):
        return ""  # Path is the name that annotations use
    for name in _importable_modules(module):
        found: Any = sys.modules.get(name)
        for part in qualname.split("."):
            inside = isinstance(found, ModuleType | type)
            found = vars(found).get(part) if inside else None
        if found is cls:
            return f"{name}.{qualname}"
    return ""


def _importable_modules(module: str) -> Iterator[str]:
    """Modules from which a class may be imported: public ones first for Python's private ones."""
    parts = module.split(".")
    private = [at for at, part in enumerate(parts) if part.startswith("_")]
    if private and parts[0] in sys.stdlib_module_names:
        yield ".".join(parts[: private[0]] or [parts[0].lstrip("_")])
    yield module


# --------------------------------------------------------------- annotations


def alternatives(kinds: Kinds, bases: Mapping[str, list[str]]) -> list[str]:
    """The alternatives of an annotation by full names, sorted; ``typing.Any`` if unknown."""
    found = _few(_one_tuple(kinds), bases)
    names = sorted(name for name in found if name not in (_NONE, UNNAMED))
    parts = [_annotation(name, found[name], bases) for name in names]
    parts += [_NONE] * (_NONE in found) + [_ANY] * (UNNAMED in found or not found)
    return parts


def _annotation(name: str, arguments: list[Kinds], bases: Mapping[str, list[str]]) -> str:
    if not arguments:
        return name
    inner = ", ".join(" | ".join(alternatives(kinds, bases)) for kinds in arguments)
    plain, _, length = name.partition("/")
    return f"{plain}[{inner}, ...]" if length == "*" else f"{plain}[{inner}]"


def _one_tuple(kinds: Kinds) -> Kinds:
    """Merge tuples of several lengths into tuples of any length."""
    tuples = [name for name in kinds if name.startswith(f"{_TUPLE}/")]
    if len(tuples) < 2:
        return kinds
    elements: Kinds = {}
    for name in tuples:
        for part in kinds[name]:
            merge(elements, part)
    rest = {name: kinds[name] for name in kinds if name not in tuples}
    return {**rest, f"{_TUPLE}/*": [elements]}


def _few(kinds: Kinds, bases: Mapping[str, list[str]]) -> Kinds:
    """At most :data:`MAX_TYPES`: the base class of the most types replaces these types."""
    found = dict(kinds)
    while len(found) > MAX_TYPES:
        above: dict[str, list[str]] = {}
        for name in sorted(found):
            for base in (name, *bases.get(name, ())):
                above.setdefault(base, []).append(name)
        # Among base classes of as many types, the most derived one, which is most specific.
        best = max(above, key=lambda base: (len(above[base]), len(bases.get(base, ())), base))
        if len(above[best]) < 2:
            return {name: found[name] for name in sorted(found)[:MAX_TYPES]}
        found = {name: found[name] for name in found if name not in above[best]} | {best: []}
    return found

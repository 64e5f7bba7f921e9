"""Of what type a value is, as an annotation could say it.

What was seen is a *kinds*: by name of a type, the kinds of its arguments. ``list[date | None]``
is ``{"builtins.list": [{"datetime.date": [], "None": []}]}``. ``?`` stands for what has no name
that can be imported: a function, a class within a function.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import ModuleType
from typing import Any, Final, TypeAlias

__all__ = ["MAX_TYPES", "UNNAMED", "Kinds", "Namer", "alternatives", "merge"]

Kinds: TypeAlias = dict[str, list[Any]]

UNNAMED: Final = "?"
MAX_TYPES: Final = 8
"""Types of one parameter; more become a class that several are derived from."""

_NONE: Final = "None"
_TUPLE: Final = "builtins.tuple"
_ANY: Final = "typing.Any"
_DEEPEST: Final = 3
_ELEMENTS: Final = 8
_LONGEST: Final = 4
"""Of a tuple of at most so many elements each has its own type."""
_PLATFORMS: Final = ("Posix", "Windows")

_mro = type.__dict__["__mro__"].__get__
_attribute = type.__getattribute__  # what a metaclass makes of it does not count


def merge(into: Kinds, more: Mapping[str, list[Any]]) -> bool:
    """Add what was seen; was any of it new?"""
    changed = False
    for name, arguments in more.items():
        if name not in into:
            into[name] = [{} for _ in arguments]
            changed = True
        for mine, theirs in zip(into[name], arguments, strict=False):
            changed |= merge(mine, theirs)
    return changed


class Namer:
    """Names of classes, and of what they are derived from."""

    def __init__(self) -> None:
        self._names: dict[type, str] = {}
        self.bases: dict[str, list[str]] = {}
        """By name of a class: names of those that it is derived from, the nearest first."""

    def kinds(self, value: object, depth: int = _DEEPEST) -> Kinds:
        """Of a value, and of the first elements of a container. Runs nothing of the target's."""
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
        """Of the first of them, together."""
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
        """Of the class, or the nearest above it that can be imported by its name."""
        known = self._names.get(cls)
        if known is None:
            names = [n for n in map(_full, _mro(cls)[:-1]) if n]
            known = self._names[cls] = names[0] if names else UNNAMED
            for at, name in enumerate(names):
                self.bases.setdefault(name, names[at + 1 :])
        return known


def _full(cls: type) -> str:
    """``module.Class``, if that is what importing gives; else ""."""
    qualname = _attribute(cls, "__qualname__")
    module = _attribute(cls, "__module__")
    if not isinstance(module, str):
        return ""
    if module.partition(".")[0] == "fuzztui" and ".generators" not in module:
        return ""  # a source of choices: the static analysis wants none of ours, either
    if module.partition(".")[0] == "pathlib" and qualname.removeprefix("Pure").startswith(
        _PLATFORMS
    ):
        return ""  # what is meant is a Path
    for home in _homes(module):
        found: Any = sys.modules.get(home)
        for part in qualname.split("."):
            inside = isinstance(found, ModuleType | type)
            found = vars(found).get(part) if inside else None
        if found is cls:
            return f"{home}.{qualname}"
    return ""


def _homes(module: str) -> Iterator[str]:
    """Where a class may be known; Python's own private modules are known by public ones."""
    parts = module.split(".")
    private = [at for at, part in enumerate(parts) if part.startswith("_")]
    if private and parts[0] in sys.stdlib_module_names:
        yield ".".join(parts[: private[0]] or [parts[0].lstrip("_")])
    yield module


# ------------------------------------------------------------------ in words


def alternatives(kinds: Kinds, bases: Mapping[str, list[str]]) -> list[str]:
    """The parts of an annotation by full names, sorted; ``typing.Any`` if nothing is known."""
    found = _few(_one_tuple(kinds), bases)
    names = sorted(name for name in found if name not in (_NONE, UNNAMED))
    words = [_words(name, found[name], bases) for name in names]
    words += [_NONE] * (_NONE in found) + [_ANY] * (UNNAMED in found or not found)
    return words


def _words(name: str, arguments: list[Kinds], bases: Mapping[str, list[str]]) -> str:
    if not arguments:
        return name
    inner = ", ".join(" | ".join(alternatives(kinds, bases)) for kinds in arguments)
    plain, _, length = name.partition("/")
    return f"{plain}[{inner}, ...]" if length == "*" else f"{plain}[{inner}]"


def _one_tuple(kinds: Kinds) -> Kinds:
    """Tuples of several lengths are tuples of any."""
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
    """At most :data:`MAX_TYPES`: the class above the most of them stands for those."""
    found = dict(kinds)
    while len(found) > MAX_TYPES:
        above: dict[str, list[str]] = {}
        for name in sorted(found):
            for base in (name, *bases.get(name, ())):
                above.setdefault(base, []).append(name)
        # Of those above as many the one that is derived from most, which says more.
        best = max(above, key=lambda base: (len(above[base]), len(bases.get(base, ())), base))
        if len(above[best]) < 2:
            return {name: found[name] for name in sorted(found)[:MAX_TYPES]}
        found = {name: found[name] for name in found if name not in above[best]} | {best: []}
    return found

"""Compare two values structurally: the default COMPARE of section IV-A of the Mu2 paper.

Python's ``==`` is too weak (``1 == True``, ``0.0 == -0.0``) and too strong (NaN, classes without
an ``__eq__``). What two values hold decides, as an exported test sees it:
:func:`~fuzztui.engines.findings.frozen.described`. Most comparisons need no description, which
costs much more: types are compared by qualified name (which works for values of a re-imported
program), floats by ``hex()`` with NaN equal to NaN, containers item by item, and objects by the
parts of :mod:`~fuzztui.engines.inputs.shape`; values with the same parts have the same
description. Where other parts may not be visible in the description, both are made.

A difference must be certain, because it kills a mutant: in doubt, the values are the same.
"""

from __future__ import annotations

import io
import pickle
import reprlib
from collections.abc import Collection, Hashable
from typing import Any, Final

from fuzztui.engines.findings import frozen
from fuzztui.engines.inputs.shape import (
    ATOMS,
    ItemOrder,
    Value,
    attributes,
    shape_of,
    type_name,
    without_addresses,
)
from fuzztui.engines.instrument.guard import TrialTimeout

_MAX_PAIRS: Final = 20_000
"""Most pairs of unordered items that are compared with each other in one comparison."""

_MAX_NESTED: Final = 30
"""Most levels of unordered containers in which items are compared with each other."""


_STRINGS: Final = frozenset({str})
_SIZED: Final = frozenset(map(id, (str, bytes, bytearray, list, tuple, dict, set, frozenset)))


def same(a: object, b: object) -> bool:
    """Whether two values are the same. Raises only :class:`TrialTimeout`, for any values.

    May call ``__reduce_ex__``, ``__repr__`` and properties of target classes: must be called under
    the guard and without a mutant. Consumes no iterator.
    """
    try:
        if a is b or _same_plain_data(a, b):
            return True
        comparison = _Comparison()
        if comparison.settle([(a, b)]):
            return True
        # Without properties and texts, which follow from what is held: reading them may change it.
        return comparison.hidden and frozen.described(a, False) == frozen.described(b, False)  # type: ignore[no-untyped-call]
    except TrialTimeout:
        raise
    except BaseException:  # an unexpected error, for example out of memory
        return True


def unseen_part(value: object) -> str:
    """The first part of a value that cannot be compared, as a description names it; else empty.

    Calls target code, so must be called under the guard. A part cannot be compared if an exported
    test would not see a change of it.
    """
    try:
        text = frozen.described(value, properties=False)  # type: ignore[no-untyped-call]
        return next(iter(frozen.unseen(text)), "")  # type: ignore[no-untyped-call]
    except Exception:
        return "the value"


class _Other(Exception):
    """The value contains a type that is not plain data."""


class _Plain(pickle.Pickler):
    """Pickles values of builtin types only, in C; different types give different bytes."""

    def reducer_override(self, value: object) -> Any:
        """Called for all other types."""
        raise _Other


def _same_plain_data(a: object, b: object) -> bool:
    """Whether both values are the same plain data: five times faster; False means unknown."""
    kind = type(a)
    # By identity: a hostile metaclass may have a hash and an __eq__ of its own.
    if kind is type(b) and id(kind) in _SIZED and len(a) != len(b):  # type: ignore[arg-type]
        return False
    written = []
    for value in (a, b):
        file = io.BytesIO()
        try:
            _Plain(file, 4).dump(value)
        except Exception:
            return False
        written.append(file.getvalue())
    return written[0] == written[1]


class _Comparison:
    """One call of :func:`same`. Keeps its own stack instead of recursing."""

    def __init__(self) -> None:
        # Pairs in progress or done are assumed to be the same, so that cycles end. The objects
        # are kept so that their ids are not reused.
        self._assumed: dict[tuple[int, int], tuple[object, object]] = {}
        self._stack: list[tuple[Any, Any]] = []
        self._tries = 0
        self._nested = 0
        self.hidden = False
        """Whether a description may not show all parts that were compared."""

    def settle(self, pairs: list[tuple[Any, Any]]) -> bool:
        """Whether all pairs are the same."""
        outer, self._stack = self._stack, pairs
        try:
            while pairs:
                a, b = pairs.pop()
                if a is not b and not self._pair(a, b):
                    return False
            return True
        finally:
            self._stack = outer

    def _pair(self, a: Any, b: Any) -> bool:
        """Whether two values may be the same; pushes their parts onto the stack."""
        t = type(a)
        alike = type(b) is t
        atom = ATOMS.get(id(t))
        if atom is not None and alike:
            return atom(a, b)
        key = (id(a), id(b))
        if key in self._assumed:
            return True
        self._assumed[key] = (a, b)
        if alike:  # a shortcut for the most frequent types
            if t is dict:
                return self._mapping(a, b)
            if t is list or t is tuple:
                return self._sequence(a, b)
        shape = shape_of(t)
        if alike and shape.bare:
            self.hidden = self.hidden or not shape.shown
            ours, theirs = attributes(a), attributes(b)
            if [*ours] == [*theirs]:
                return self._sequence(ours.values(), theirs.values())
            return self._mapping(ours, theirs)
        other = shape_of(type(b))
        if shape.name != other.name or shape.kind is not other.kind:
            return False
        self.hidden = self.hidden or not shape.shown
        try:
            ours, theirs = shape.parts(a), other.parts(b)
        except Exception:
            return True  # cannot be examined: a released memoryview, a partly made object
        return self._parts(shape.kind, ours, theirs)

    def _parts(self, kind: ItemOrder, a: Value, b: Value) -> bool:
        if not self._sequence(a.state, b.state):
            return False
        if kind is ItemOrder.SEQUENCE:
            return self._sequence(a.items, b.items)
        if kind is ItemOrder.MAPPING:
            return self._mapping(a.items, b.items)
        return self._unordered([(x, None) for x in a.items], [(x, None) for x in b.items])

    def _sequence(self, a: Collection[Any], b: Collection[Any]) -> bool:
        if len(a) != len(b):
            return False
        push = self._stack.append
        for x, y in zip(a, b, strict=True):
            if x is y:
                continue
            t = type(x)
            if t is str or t is int:  # most items: no need for the stack
                if type(y) is not t or x != y:
                    return False
            elif t is float:
                if type(y) is not t or x.hex() != y.hex():
                    return False
            else:
                push((x, y))
        return True

    def _mapping(self, a: dict[Any, Any], b: dict[Any, Any]) -> bool:
        """Compare exact dicts in any order; a shortcut if all keys are strings."""
        if len(a) != len(b):
            return False
        if _STRINGS.issuperset(map(type, a)) and _STRINGS.issuperset(map(type, b)):
            try:
                return self._sequence(a.values(), [b[key] for key in a])
            except KeyError:
                return False
        return self._unordered(list(a.items()), list(b.items()))

    def _unordered(self, a: list[tuple[Any, Any]], b: list[tuple[Any, Any]]) -> bool:
        """Whether each (key, value) of ``a`` has a match in ``b``.

        Keys of plain values are looked up. Other keys (objects, which may be hashed by identity)
        are compared with each other.
        """
        if len(a) != len(b):
            return False
        ours, rest_a = _by_key(a)
        theirs, rest_b = _by_key(b)
        if len(rest_a) != len(rest_b) or len(ours) != len(theirs):
            return False
        for key, values in ours.items():
            if not self._sequence(values, theirs.get(key, ())):
                return False
        return self._match(rest_a, rest_b)

    def _match(self, a: list[tuple[Any, Any]], b: list[tuple[Any, Any]]) -> bool:
        groups: dict[str, list[tuple[Any, Any]]] = {}
        for item in b:
            groups.setdefault(type_name(type(item[0])), []).append(item)
        for key, value in a:
            candidates = groups.get(type_name(type(key)), [])
            for at, (other, other_value) in enumerate(candidates):
                # "Same" is an equivalence: the first match is as good as any other.
                fits = self._tried(key, other)
                if fits is None:
                    return True  # too many pairs: unknown
                if fits:
                    del candidates[at]
                    self._stack.append((value, other_value))
                    break
            else:
                return False
        return True

    def _tried(self, a: object, b: object) -> bool | None:
        self._tries += 1
        if self._tries > _MAX_PAIRS or self._nested >= _MAX_NESTED:
            return None
        mark = len(self._assumed)
        self._nested += 1
        try:
            if self.settle([(a, b)]):
                return True
        finally:
            self._nested -= 1
        while len(self._assumed) > mark:  # drop the assumptions of this attempt
            self._assumed.popitem()
        return False


def _by_key(
    items: list[tuple[Any, Any]],
) -> tuple[dict[Hashable, list[Any]], list[tuple[Any, Any]]]:
    """Split items: values by the lookup form of their key, and items whose key has none."""
    found: dict[Hashable, list[Any]] = {}
    rest = []
    for item in items:
        made_of = _made_of(item[0], 0)
        if made_of is None:
            rest.append(item)
        else:
            found.setdefault(made_of, []).append(item[1])
    return found, rest


def _made_of(key: Any, depth: int) -> Hashable | None:
    """The lookup form of a key: equal exactly for keys that are the same; None if there is none."""
    t = type(key)
    if t is str or t is int or t is bytes or t is bool or key is None:
        return (t, key)
    if t is float:
        return (float, key.hex())
    if t is complex:
        return (complex, key.real.hex(), key.imag.hex())
    if (t is tuple or t is frozenset) and depth < 12:
        parts = [_made_of(x, depth + 1) for x in key]
        if all(p is not None for p in parts):
            return (t, tuple(parts) if t is tuple else frozenset(parts))
    return None


_LEAD: Final = 3
"""Of a shown text, the part ``1 / _LEAD`` is before the difference."""


def _long() -> reprlib.Repr:
    made = reprlib.Repr()
    made.maxlevel = 12
    made.maxlist = made.maxtuple = made.maxset = made.maxfrozenset = made.maxdeque = 40
    made.maxdict = made.maxarray = 40
    made.maxstring = made.maxlong = made.maxother = 400
    return made


_LONG: Final = _long()


def long_repr(value: object) -> str:
    """A long but bounded ``repr()``. Calls target code, so must be called under the guard."""
    return without_addresses(_LONG.repr(value))


def from_difference(a: str, b: str, shown: int) -> tuple[str, str]:
    """At most ``shown`` characters of both texts, from a little before the first difference."""
    at = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    start = max(0, at - shown // _LEAD) if max(len(a), len(b)) > shown else 0
    lead = "..." if start else ""
    return lead + cut(a[start:], shown), lead + cut(b[start:], shown)


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters; a cut text ends with dots."""
    return text if len(text) <= limit else text[: limit - 3] + "..."

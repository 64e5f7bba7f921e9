"""Are two values the same, as far as a caller of the program could tell?

The default COMPARE of section IV-A of the Mu2 paper. Java's ``equals`` is too weak in
Python (``1 == True``, ``0.0 == -0.0``) and too strong (NaN, classes without an
``__eq__``), so this is *structural*: types by qualified name (a value of a program that
was re-imported compares), floats by ``hex()`` with NaN the same as NaN, containers item
by item, objects as :mod:`~fuzztui.engines.inputs.shape` takes them apart. An ``__eq__`` that
a class has of its own is believed when it says True; False only sends us on to the parts,
since it may be due to a NaN, or to a class that was imported twice.

A difference must be certain, since it kills a mutant: where none can be made out, the
values are the same.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Collection, Hashable
from typing import Any, Final

from fuzztui.engines.inputs.shape import ATOMS, ItemOrder, Value, shape_of, type_name
from fuzztui.engines.instrument.guard import TrialTimeout

__all__ = ["same"]

_TRIES: Final = 20_000
"""Pairs of unordered things that are tried out against each other in one comparison."""

_NESTED: Final = 30
"""How deep unordered things are tried out within such things."""


_STRINGS: Final = frozenset({str})


def same(a: object, b: object) -> bool:
    """Compare; raises nothing but :class:`TrialTimeout`, however hostile the values.

    May call ``__eq__``, ``__reduce_ex__`` and ``__repr__`` of the target's classes: only
    under the guard, and with the program unmutated. Consumes no iterator.
    """
    try:
        return a is b or _look_the_same(a, b) or _Comparison().settle([(a, b)])
    except TrialTimeout:
        raise
    except BaseException:  # beyond all care that was taken: out of memory, say
        return True


class _Other(Exception):
    """There is more to the value than plain data."""


class _Plain(pickle.Pickler):
    """Writes exactly the builtin types down, in C and with every type distinguished."""

    def reducer_override(self, value: object) -> Any:
        """Called for all other types."""
        raise _Other


def _look_the_same(a: object, b: object) -> bool:
    """The usual case, plain data that is the same, five times faster; False says nothing."""
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
    """One call of :func:`same`. Depth is on a stack of its own, never on Python's."""

    def __init__(self) -> None:
        # Pairs in progress or done, assumed the same: that is what makes cycles end. The
        # objects are kept so that no id is given to another while it stands here.
        self._assumed: dict[tuple[int, int], tuple[object, object]] = {}
        self._stack: list[tuple[Any, Any]] = []
        self._tries = 0
        self._nested = 0

    def settle(self, pairs: list[tuple[Any, Any]]) -> bool:
        """Are all pairs the same?"""
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
        """False if they differ at first sight; their parts go onto the stack."""
        t = type(a)
        alike = type(b) is t
        atom = ATOMS.get(id(t))
        if atom is not None and alike:
            return atom(a, b)
        key = (id(a), id(b))
        if key in self._assumed:
            return True
        self._assumed[key] = (a, b)
        if alike:  # the most frequent ones by a shorter way
            if t is dict:
                return self._mapping(a, b)
            if t is list or t is tuple:
                return self._sequence(a, b)
        shape, other = shape_of(t), shape_of(type(b))
        if shape.name != other.name or shape.kind is not other.kind:
            return False
        if shape.eq is not None and _says_equal(shape.eq, a, b):
            return True
        try:
            ours, theirs = shape.parts(a), other.parts(b)
        except Exception:
            return True  # cannot be looked into: a released memoryview, a half-made object
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
            if t is str or t is int:  # most of them: not worth the stack
                if type(y) is not t or x != y:
                    return False
            elif t is float:
                if type(y) is not t or x.hex() != y.hex():
                    return False
            else:
                push((x, y))
        return True

    def _mapping(self, a: dict[Any, Any], b: dict[Any, Any]) -> bool:
        """Exact dicts, whatever the order. Keys that are all strings need no care."""
        if len(a) != len(b):
            return False
        if _STRINGS.issuperset(map(type, a)) and _STRINGS.issuperset(map(type, b)):
            try:
                return self._sequence(a.values(), [b[key] for key in a])
            except KeyError:
                return False
        return self._unordered(list(a.items()), list(b.items()))

    def _unordered(self, a: list[tuple[Any, Any]], b: list[tuple[Any, Any]]) -> bool:
        """Keys and values: each of ``a`` must have one of ``b``.

        Keys of plain values are found by what they are made of; the others (objects, which
        may be hashed by identity) are tried out against each other.
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
                # "Same" is an equivalence: whoever fits first is as good as any.
                fits = self._tried(key, other)
                if fits is None:
                    return True  # too much: it cannot be told
                if fits:
                    del candidates[at]
                    self._stack.append((value, other_value))
                    break
            else:
                return False
        return True

    def _tried(self, a: object, b: object) -> bool | None:
        self._tries += 1
        if self._tries > _TRIES or self._nested >= _NESTED:
            return None
        mark = len(self._assumed)
        self._nested += 1
        try:
            if self.settle([(a, b)]):
                return True
        finally:
            self._nested -= 1
        while len(self._assumed) > mark:  # what was assumed in progress does not hold
            self._assumed.popitem()
        return False


def _says_equal(eq: Callable[[Any, Any], object], a: object, b: object) -> bool:
    try:
        return eq(a, b) is True
    except Exception:
        return False


def _by_key(
    items: list[tuple[Any, Any]],
) -> tuple[dict[Hashable, list[Any]], list[tuple[Any, Any]]]:
    """Values by what their keys are made of; items whose key is not of plain values."""
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
    """Something hashable that two keys have in common if and only if they are the same."""
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

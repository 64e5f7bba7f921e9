"""Shapes: how values of a type are taken apart, without running the type's code if possible.

Values are read with methods of builtin types, so that a class that overrides ``__class__``,
``__iter__`` or ``__getattribute__`` has no influence.
"""

from __future__ import annotations

import collections
import copyreg
import functools
import re
import sys
import types
import weakref
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from typing import Any, Final, NamedTuple

_KNOWN_LIMIT: Final = 2000
_POINTER: Final = 8
_MAX_ITEMS: Final = 1 << 20
_ABSENT: Final = object()
_ADDRESS: Final = re.compile(r" ?\bat 0x[0-9a-fA-F]+")

_MRO: Final = type.__dict__["__mro__"].__get__
_SPACE: Final = type.__dict__["__dict__"].__get__
_QUALNAME: Final = type.__dict__["__qualname__"].__get__
_MODULE: Final = type.__dict__["__module__"].__get__


def _float(a: float, b: float) -> bool:
    return a.hex() == b.hex()


def _complex(a: complex, b: complex) -> bool:
    return a.real.hex() == b.real.hex() and a.imag.hex() == b.imag.hex()


def _plain(a: object, b: object) -> bool:
    return a == b


ATOMS: Final[dict[int, Callable[[Any, Any], bool]]] = {
    **dict.fromkeys(map(id, (int, bool, str, bytes, bytearray, type(None))), _plain),
    id(float): _float,
    id(complex): _complex,
}
"""Comparisons of values of exactly these types, by the type's id: hashing a type may run code of
its metaclass."""


class ItemOrder(Enum):
    """How the items of a value are compared."""

    SEQUENCE = auto()
    MAPPING = auto()
    SET = auto()


class Value(NamedTuple):
    """The parts of one value: ``state`` in order, ``items`` as the shape's ``kind`` says."""

    state: Collection[Any]
    items: Any = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """How the values of one type are taken apart."""

    name: str
    kind: ItemOrder
    parts: Callable[[Any], Value]
    of: type
    """The type; kept, so that its id is not reused."""
    shown: bool = False
    """Whether a description of a value (:func:`~fuzztui.engines.findings.frozen.described`) has
    all that ``parts`` returns."""
    bare: bool = False
    """Whether a value holds its ``__dict__`` and nothing else: the most frequent objects."""


def type_name(t: type) -> str:
    """Module and qualified name of a type; runs no code of its metaclass."""
    module = _MODULE(t)
    return f"{module if type(module) is str else '?'}.{_QUALNAME(t)}"


_known: dict[int, Shape] = {}


def shape_of(t: type) -> Shape:
    """The shape of a type, cached."""
    shape = _known.get(id(t))
    if shape is None:
        if len(_known) >= _KNOWN_LIMIT:  # a target that makes classes
            _known.clear()
        shape = _known[id(t)] = _shape(t)
    return shape


def _shape(t: type) -> Shape:
    name = type_name(t)
    mro: tuple[type, ...] = _MRO(t)
    shown = _is_shown(mro)
    for base in mro:
        named = _NAMED.get(id(base))
        if named is not None:
            return Shape(name, ItemOrder.SEQUENCE, named, t)
        if id(base) in _PAYLOADS:
            kind, payload = _PAYLOADS[id(base)]
            state = _nothing if t is base else _state(mro)
            return Shape(name, kind, _payload_and_state(payload, state), t, shown)
    if _is_transparent(t, mro):
        state = _state(mro)
        bare = _size(t, "__dictoffset__") != 0 and not any(map(_slots, mro))
        return Shape(name, ItemOrder.SEQUENCE, lambda v: Value(state(v)), t, shown, bare)
    return Shape(name, ItemOrder.SEQUENCE, _reduced, t)


def _is_shown(mro: tuple[type, ...]) -> bool:
    """Whether no class has parts that a description leaves out, or shows only by a text."""
    module = type_name(mro[0]).partition(".")[0]
    hides = any(
        isinstance(member, functools.cached_property)
        or (type(member) is types.MemberDescriptorType and key.startswith("__"))
        for base in mro[:-1]
        for key, member in _SPACE(base).items()
    )
    standard = module in sys.stdlib_module_names and module != "builtins"
    return not (hides or standard or any(base is Enum or base is memoryview for base in mro))


# ------------------------------------------------------------------- compared by name


def _type(value: Any) -> Value:
    return Value((type_name(value),))


def _function(value: Any) -> Value:
    """The names of a function, the object that a builtin is bound to, and what a closure holds."""
    bound = _attribute(value, "__self__")
    names = [_attribute(value, name) for name in ("__module__", "__qualname__", "__name__")]
    cells = value.__closure__ or () if type(value) is types.FunctionType else ()
    held = [cell.cell_contents for cell in cells if cell != types.CellType()]
    return Value((*names, None if isinstance(bound, types.ModuleType) else bound, *held))


UNRUN: Final = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
"""Types whose values always count as the same, because they are not run."""

_CODE: Final = (
    "co_name", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_code",
    "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_exceptiontable",
)  # fmt: skip
"""All parts of a code object except its source position."""

_NAMED: Final[dict[int, Callable[[Any], Value]]] = {
    id(type): _type,
    id(types.MethodType): lambda v: Value((v.__func__, v.__self__)),
    id(types.ModuleType): lambda v: Value((_attribute(v, "__name__"),)),
    **dict.fromkeys(
        map(id, (types.FunctionType, types.BuiltinFunctionType, types.MethodWrapperType)), _function
    ),
    id(types.CodeType): lambda v: Value([getattr(v, name) for name in _CODE]),
    # Not run. The function that made them does not determine their items.
    **dict.fromkeys(map(id, UNRUN), lambda v: Value(())),
}


# --------------------------------------------------------------- builtins with items


def _deque(value: Any) -> list[Any]:
    return [value.maxlen, *collections.deque.__iter__(value)]


def _ordered(value: Any) -> list[Any]:
    return [x for item in collections.OrderedDict.items(value) for x in item]


def _memory(value: Any) -> list[Any]:
    return [value.format, value.shape, value.tobytes()]


def _exception(value: Any) -> list[Any]:
    """The arguments of an exception, without traceback and cause."""
    return list(BaseException.__dict__["args"].__get__(value))


_PAYLOADS: Final[dict[int, tuple[ItemOrder, Callable[[Any], Any]]]] = {
    id(base): (kind, payload)
    for base, kind, payload in (
        (collections.OrderedDict, ItemOrder.SEQUENCE, _ordered),
        (collections.Counter, ItemOrder.MAPPING, lambda v: dict(dict.items(v))),
        (dict, ItemOrder.MAPPING, lambda v: v if type(v) is dict else dict(dict.items(v))),
        (list, ItemOrder.SEQUENCE, lambda v: v if type(v) is list else list(list.__iter__(v))),
        (tuple, ItemOrder.SEQUENCE, lambda v: v if type(v) is tuple else tuple(tuple.__iter__(v))),
        (set, ItemOrder.SET, lambda v: list(set.__iter__(v))),
        (frozenset, ItemOrder.SET, lambda v: list(frozenset.__iter__(v))),
        (type({}.keys()), ItemOrder.SET, list),
        (type({}.items()), ItemOrder.SET, list),
        (type({}.values()), ItemOrder.SEQUENCE, list),
        (types.MappingProxyType, ItemOrder.MAPPING, lambda v: dict(v.items())),
        (collections.deque, ItemOrder.SEQUENCE, _deque),
        (int, ItemOrder.SEQUENCE, lambda v: (int.__int__(v),)),
        (float, ItemOrder.SEQUENCE, lambda v: (float.__float__(v),)),
        (complex, ItemOrder.SEQUENCE, lambda v: (complex.__complex__(v),)),
        (str, ItemOrder.SEQUENCE, lambda v: (str.__str__(v),)),
        (bytes, ItemOrder.SEQUENCE, lambda v: (bytes.__getitem__(v, slice(None)),)),
        (bytearray, ItemOrder.SEQUENCE, lambda v: (bytearray.__getitem__(v, slice(None)),)),
        (range, ItemOrder.SEQUENCE, lambda v: (v.start, v.stop, v.step)),
        (memoryview, ItemOrder.SEQUENCE, _memory),
        (weakref.ref, ItemOrder.SEQUENCE, lambda v: (weakref.ref.__call__(v),)),
        (BaseException, ItemOrder.SEQUENCE, _exception),
    )
}


def _nothing(value: object) -> tuple[()]:
    return ()


def _payload_and_state(
    payload: Callable[[Any], Any], state: Callable[[Any], Collection[Any]]
) -> Callable[[Any], Value]:
    return lambda value: Value(state(value), payload(value))


# --------------------------------------------------------------------------------- objects


def attributes(value: Any) -> Any:
    """The ``__dict__`` of a value without names that begin with two underscores, often caches.

    :data:`_ABSENT` if the value has no ``__dict__``.
    """
    try:
        space: Any = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return _ABSENT
    if type(space) is dict and (names := tuple(space)) not in _ordinary:
        if any(str(name)[:2] == "__" for name in names):
            return {name: part for name, part in space.items() if str(name)[:2] != "__"}
        if len(_ordinary) < _KNOWN_LIMIT:
            _ordinary.add(names)
    return space


_ordinary: set[tuple[Any, ...]] = set()
"""Attribute names of objects, as tuples, of which none begins with two underscores."""


def _attribute(value: Any, name: str) -> object:
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return _ABSENT


def _state(mro: tuple[type, ...]) -> Callable[[Any], list[Any]]:
    """A function that returns ``vars()`` as a dict, then the slots in order."""
    slots = [
        member
        for base in mro
        for member in _slots(base)
        if member.__name__ != "__suppress_context__"
    ]

    def state(value: Any) -> list[Any]:
        held: list[Any] = []
        space = attributes(value)
        if type(space) is dict:
            held.append(space)
        for member in slots:
            try:
                held.append(member.__get__(value))
            except AttributeError:
                held.append(_ABSENT)
        return held

    return state


def _is_transparent(t: type, mro: tuple[type, ...]) -> bool:
    """Whether instances contain nothing but ``__dict__`` and slots, by the rule of pickle."""
    known = _size(object, "__basicsize__") + _POINTER * sum(len(_slots(base)) for base in mro)
    for offset in ("__dictoffset__", "__weakrefoffset__"):
        known += _POINTER * (_size(t, offset) > 0)
    return _size(t, "__basicsize__") <= known and not _size(t, "__itemsize__")


def _size(of: type, what: str) -> int:
    return int(type.__dict__[what].__get__(of))


def _slots(base: type) -> list[types.MemberDescriptorType]:
    found = _SPACE(base).values()
    return [member for member in found if type(member) is types.MemberDescriptorType]


def _reduced(value: Any) -> Value:
    """The parts of an object with hidden state: as pickle reduces it, else its ``repr()``.

    For example Decimal, datetime, re.Pattern, array and Element of the standard library, and
    numpy arrays, whose ``==`` is not a bool.
    """
    t = type(value)
    try:
        reduce = copyreg.dispatch_table.get(t)
        made: Any = value.__reduce_ex__(4) if reduce is None else reduce(value)
    except Exception:
        return Value((_bare_repr(value),))
    if type(made) is not tuple:
        return Value((made,))
    # The last two are iterators over items, which may be endless in user classes.
    return Value([*made[:3], *(i if i is None else list(islice(i, _MAX_ITEMS)) for i in made[3:5])])


def without_addresses(text: str) -> str:
    """Remove memory addresses from a ``repr()``."""
    return _ADDRESS.sub("", text)


def _bare_repr(value: object) -> str:
    try:
        return without_addresses(repr(value))
    except Exception:
        return type_name(type(value))

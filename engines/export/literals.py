"""Write values as Python expressions, and read them back without ``eval``.

An expression is built from the value's structure, never from the ``repr()`` of a class of the
target. It is used only if :func:`read` makes the same value of it; :func:`read` accepts literals
and calls of the classes that are named in :attr:`Literal.known`.
"""

from __future__ import annotations

import ast
import collections
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import sys
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Final

from fuzztui.engines.findings import frozen
from fuzztui.engines.findings.compare import same
from fuzztui.engines.inputs.shape import type_name

WIDTH: Final = 84
"""Columns of an expression, so that it fits into 100 when it is indented."""
_MAX_DEPTH: Final = 40
_MAX_PARTS: Final = 4000
_MAX_TEXT: Final = 64 << 10
_CUT: Final = 72

_BY_REPR: Final = (
    datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone,
    decimal.Decimal, uuid.UUID, pathlib.PurePosixPath, pathlib.PosixPath, fractions.Fraction,
)  # fmt: skip
"""Standard classes whose ``repr()`` is an expression; some without their module."""


class NoLiteral(Exception):
    """The value cannot be written as an expression; the message says why."""


@dataclass(slots=True)
class _Group:
    """A bracketed expression: one line if it fits, else an item on each line."""

    start: str
    items: list[tuple[str, _Node]]
    end: str
    comma: str = ","


_Node = str | _Group


@dataclass(frozen=True, slots=True)
class Literal:
    """An expression that makes a value."""

    text: str
    modules: tuple[str, ...]
    known: dict[str, Any]
    """Classes, and members of enumerations, by the name in the expression."""

    @property
    def plain(self) -> bool:
        """Whether ``ast.literal_eval`` can read it."""
        return not self.known


def literal(value: object, *, checked: bool = True) -> Literal:
    """The expression of a value. Raises :class:`NoLiteral`.

    Runs code of the target if the value has objects of its classes. ``checked``: the value that is
    read back must be the same also by the comparison in exported files (``frozen.py``).
    """
    writer = _Writer()
    try:
        text = _laid_out(writer.node(value, 0), 0)
        if len(text) > _MAX_TEXT:
            raise NoLiteral("it is too long")
        back = read(text, writer.known)
    except RecursionError:
        raise NoLiteral("it is nested too deeply") from None
    if not same(back, value) or (checked and not _same_in_test(back, value, writer.modules)):
        raise NoLiteral("it reads back as a different value")
    return Literal(text, tuple(sorted(writer.modules)), writer.known)


def has_own_classes(modules: Iterable[str]) -> bool:
    """Whether an expression with these modules has objects of classes that are not standard.

    An exported test compares such objects by the descriptions of :func:`frozen.described`.
    """
    return any(name.partition(".")[0] not in sys.stdlib_module_names for name in modules)


def _same_in_test(a: object, b: object, modules: Iterable[str]) -> bool:
    if has_own_classes(modules):
        a, b = (frozen.described(x) for x in (a, b))  # type: ignore[no-untyped-call]
    return frozen.same(a, b)  # type: ignore[no-untyped-call, no-any-return]


@dataclass(slots=True)
class _Writer:
    modules: set[str] = field(default_factory=set)
    known: dict[str, Any] = field(default_factory=dict)
    """Classes, and members of enumerations, by the name in the expression."""
    parts: int = 0

    def node(self, v: Any, depth: int) -> _Node:
        """Raises :class:`NoLiteral`."""
        self.parts += 1
        if depth > _MAX_DEPTH or self.parts > _MAX_PARTS:
            raise NoLiteral("it has too many parts")
        t = type(v)
        if v is None or t is bool or v is Ellipsis:
            return "..." if v is Ellipsis else repr(v)
        if t is int:
            return hex(v) if v.bit_length() > 256 else repr(v)
        if t is str or t is bytes:
            return _quoted(v)
        if t is float:
            return repr(v) if math.isfinite(v) else self._call(float, f'("{v}")')
        inner = depth + 1
        if t is list:
            return _Group("[", self._items(v, inner), "]")
        if t is tuple:
            items = self._items(v, inner)
            return _Group("(", items, "," * (len(items) == 1) + ")")
        if t is dict:
            return _Group("{", self._pairs(v, inner), "}")
        if t is set and v:
            return _Group("{", self._sorted(v, inner), "}")
        return self._named(t, v, inner)

    def _named(self, t: type, v: Any, inner: int) -> _Node:
        """A call of a class, or a member of an enumeration."""
        if t is complex:
            parts = self._items((v.real, v.imag), inner)
            return _Group(self._call(complex, "("), parts, ")")
        if t is bytearray or t is frozenset or t is set:
            content: _Node = _quoted(bytes(v)) if t is bytearray else ""
            if t is not bytearray and v:
                content = _Group("{", self._sorted(v, inner), "}")
            return _Group(self._call(t, "("), [("", content)] if content else [], ")")
        if t in _BY_REPR:
            text = repr(v).removeprefix(f"{t.__module__}.")
            if t is not datetime.timezone or text.startswith("timezone"):
                return self._standard(t, text)
        if t is collections.OrderedDict or t is collections.deque:
            held = dict(v) if t is collections.OrderedDict else list(v)
            items = [("", self.node(held, inner))]
            if t is collections.deque and v.maxlen is not None:
                items.append(("maxlen=", repr(v.maxlen)))
            return _Group(self._call(t, "("), items, ")")
        if isinstance(v, enum.Enum):
            name = self._class(t)
            member = v._name_
            if (
                not isinstance(member, str)
                or not member.isidentifier()
                or getattr(t, member, None) is not v
            ):
                raise NoLiteral(f"a {type_name(t)} without a name")
            self.known[f"{name}.{member}"] = v
            return f"{name}.{member}"
        names = _fields_of(t)
        if names is None:
            raise NoLiteral(f"a {type_name(t)} has no expression")
        name = self._class(t)
        made = [(f"{n}=", self.node(object.__getattribute__(v, a), inner)) for n, a in names]
        return _Group(f"{name}(", made, ")")

    def _standard(self, t: type, text: str) -> str:
        module = t.__module__.partition(".")[0]
        for one in (t, datetime.timezone, datetime.timedelta):
            if one.__name__ in text:
                self.known[f"{one.__module__.partition('.')[0]}.{one.__name__}"] = one
        if t is datetime.datetime or t is datetime.time:
            self.known["datetime.timezone.utc"] = datetime.UTC
        self.modules.add(module)
        return f"{module}.{text}"

    def _call(self, t: type, text: str) -> str:
        name = t.__name__ if t.__module__ == "builtins" else f"{t.__module__}.{t.__name__}"
        self.known[name] = t
        if t.__module__ != "builtins":
            self.modules.add(t.__module__)
        return name + text

    def _class(self, t: type) -> str:
        found = importable(t)
        if found is None:
            raise NoLiteral(f"{type_name(t)} cannot be imported")
        name = ".".join(filter(None, found))
        self.known[name] = t
        if found[0]:
            self.modules.add(found[0])
        return name

    def _items(self, values: Iterable[Any], depth: int) -> list[tuple[str, _Node]]:
        return [("", self.node(value, depth)) for value in values]

    def _pairs(self, values: dict[Any, Any], depth: int) -> list[tuple[str, _Node]]:
        return [
            (f"{self._key(key, depth)}: ", self.node(value, depth)) for key, value in values.items()
        ]

    def _key(self, key: Any, depth: int) -> str:
        if type(key) is str or type(key) is bytes:
            return _one_quoted(key)
        return _flat(self.node(key, depth))

    def _sorted(self, values: Iterable[Any], depth: int) -> list[tuple[str, _Node]]:
        return sorted(self._items(values, depth), key=lambda item: _flat(item[1]))


def _fields_of(t: type) -> list[tuple[str, str]] | None:
    """Arguments and attributes with which a class makes a value again; None if that is unknown."""
    if issubclass(t, tuple):
        names = getattr(t, "_fields", None)
        return [(n, n) for n in names] if isinstance(names, tuple) else None
    if is_dataclass(t):
        return [(f.name, f.name) for f in fields(t)] if all(f.init for f in fields(t)) else None
    attributes = t.__dict__.get("__attrs_attrs__")
    if attributes is None:
        return None
    made = [(getattr(a, "alias", None) or a.name.lstrip("_"), a.name) for a in attributes if a.init]
    return made if len(made) == len(attributes) else None


def importable(t: type) -> tuple[str, str] | None:
    """Module and name by which a class can be imported, the shortest public one; None if none.

    The module of a builtin is an empty string.
    """
    module, name = t.__module__, t.__qualname__
    if not isinstance(module, str) or not all(map(str.isidentifier, name.split("."))):
        return None
    if module == "builtins":
        return ("", name)
    parts = module.split(".")
    for n in range(1, len(parts) + 1):
        found: Any = sys.modules.get(".".join(parts[:n]))
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is t and parts[n - 1].isidentifier():
            return ".".join(parts[:n]), name
    return None


# ------------------------------------------------------------------------------ layout


def _quoted(v: str | bytes) -> _Node:
    """A text in double quotes if possible; on several lines if it has several, or is long."""
    newlines = v.count("\n") if isinstance(v, str) else v.count(b"\n")
    if len(v) <= _CUT and newlines <= 1:
        return _one_quoted(v)
    pieces: list[tuple[str, _Node]] = []
    for line in v.splitlines(keepends=True):
        pieces += [("", _one_quoted(line[n : n + _CUT])) for n in range(0, len(line), _CUT)]
    return pieces[0][1] if len(pieces) == 1 else _Group("(", pieces, ")", comma="")


def _one_quoted(v: str | bytes) -> str:
    text = repr(v)
    prefix, body = ("b", text[1:]) if isinstance(v, bytes) else ("", text)
    if body[0] == "'" and (b'"' not in v if isinstance(v, bytes) else '"' not in v):
        body = f'"{body[1:-1]}"'
    return prefix + body


def _flat(node: _Node) -> str:
    if isinstance(node, str):
        return node
    between = f"{node.comma} "
    return node.start + between.join(p + _flat(n) for p, n in node.items) + node.end


def _laid_out(node: _Node, column: int, before: int = 0) -> str:
    """The text of a node in a line that is indented by ``column``, after ``before`` characters."""
    flat = _flat(node)
    several = isinstance(node, _Group) and not node.comma  # lines of a text
    if isinstance(node, str) or (column + before + len(flat) <= WIDTH and not several):
        return flat
    inner = column + 4
    lines = [f"{' ' * inner}{p}{_laid_out(n, inner, len(p))}" for p, n in node.items]
    end = node.end.lstrip(",")
    if not lines:
        return node.start + end
    return (
        node.start + "\n" + (node.comma + "\n").join(lines) + f"{node.comma}\n{' ' * column}" + end
    )


# ------------------------------------------------------------------------------ reading


def read(text: str, known: dict[str, Any]) -> Any:
    """The value of an expression. ``known``: the objects of the names that it may contain.

    Raises :class:`NoLiteral`, RecursionError.
    """
    try:
        return _value(ast.parse(text, mode="eval").body, known)
    except NoLiteral:
        raise
    except (SyntaxError, ValueError, MemoryError) as e:
        raise NoLiteral(f"it does not read back: {e}") from None
    except Exception as e:  # of a class of the target
        raise NoLiteral(f"making it again raised {type(e).__name__}") from None


def _value(node: ast.expr, known: dict[str, Any]) -> Any:
    def each(nodes: Iterable[ast.expr]) -> list[Any]:
        return [_value(n, known) for n in nodes]

    match node:
        case ast.Constant():
            return node.value
        case ast.List():
            return each(node.elts)
        case ast.Tuple():
            return tuple(each(node.elts))
        case ast.Set():
            return set(each(node.elts))
        case ast.Dict(keys=keys) if None not in keys:
            return dict(zip(each(k for k in keys if k), each(node.values), strict=True))
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, known)
        case ast.Call():
            made = _value(node.func, known)
            return made(
                *each(node.args), **{str(k.arg): _value(k.value, known) for k in node.keywords}
            )
        case ast.Name() | ast.Attribute():
            name = ast.unparse(node)
            if name in known:
                return known[name]
    raise NoLiteral(f"{ast.unparse(node):.60} is not known")

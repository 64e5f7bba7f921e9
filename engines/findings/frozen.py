# mypy: disable-error-code="no-untyped-call, no-untyped-def, var-annotated"
# ruff: noqa: ANN001, ANN201
"""Functions whose source is copied into exported test files, which must not need fuzztui.

The engine compares with the same functions before an outcome is written, so that a file cannot
contain a value that its own comparison does not recognise. What :func:`described` marks as not
compared is what ``init``, the status and the export count.
"""

import contextlib
import datetime
import enum
import functools
import hashlib
import io
import itertools
import re
import sys
import types
import weakref
from collections import OrderedDict, abc, defaultdict, deque


def same(a, b):
    """Whether values are equal, with equal types all the way down; NaN is NaN, 0.0 is not -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and (
            all(map(same, a.items(), b.items()))
            or (type(a) is dict and all(any(same(k, n) and same(a[k], b[n]) for n in b) for k in a))
        )
    if isinstance(a, (set, frozenset)):
        return len(a) == len(b) and all(any(same(x, y) for y in b) for x in a)
    return a == b if isinstance(a, (int, str, bytes, bytearray)) else repr(a) == repr(b)


def described(value, properties=True, without=(), most=400):
    """What a value holds, a part a line: items, attributes, properties. An object is shown once.

    ``without``: names of parts that vary. Lines after ``most`` are compared by a hash. A part that
    holds nothing comparable is marked.
    """
    lines, seen, stack = [], {}, [(iter([("", value)]), False, value)]
    while stack:
        items, below, of = stack[-1]
        found = next(items, None)
        if found is None:
            stack.pop()
            if type(of) in (list, tuple, dict, set, frozenset):
                seen.pop(id(of), None)  # equal or the same: that makes no difference
            continue
        (name, part), depth = found, len(stack) - 1
        if name in without and depth:
            continue
        below = below or name.endswith("()")
        line = "  " * depth if depth < 40 else f"{'  ' * 40}{depth} "
        line += f"{name}: " if depth else name
        if part is None or type(part) in (int, float, complex, str, bytes, bytearray, bool):
            lines.append(line + short(written(repr, part)))
            continue
        if id(part) in seen:
            lines.append(f"{line}(line {seen[id(part)][0]})")
            continue
        text, parts = held(part)
        if parts is None or (parts and len(lines) > 250 * most):
            text, parts = text + (" (not shown)" if below else " (not compared)"), ()
        lines.append(line + text)
        if parts == ():
            continue
        seen[id(part)] = len(lines), part
        if any(inner == "-" for inner, _ in parts):
            parts = sorted(parts, key=lambda p: (p[0], outline(p[1]) if p[0] == "-" else ""))
        more = computed(part, depth) if properties and not below else ()
        # Properties last: they may change the value.
        stack.append((itertools.chain(parts, more), below, part))
    if rest := lines[most:]:
        text = "\n".join(rest)
        lines[most:] = ["more lines" + short(text, 0), *unseen(text)[:9]]
    return "\n".join(lines)


def outline(value, deep=3):
    """The start of what an item of a set holds, by which items are sorted."""
    text, parts = held(value)
    inner = [f"{name} {outline(part, deep - 1)}" for name, part in (parts or ())[:20] if deep]
    return "\n".join([text, *sorted(inner)])


def held(value):
    """The line of a value and the parts that it holds, by name; None if there is no way to them."""
    t = type(value)
    name = f"{t.__module__}.{t.__qualname__}".removeprefix("builtins.")
    plain = (int, float, complex, str, bytes, bytearray)
    if value is None or t is bool or t in plain:
        return short(written(repr, value)), ()
    if issubclass(t, enum.Enum):
        return f"{name}.{value.name}", ()
    if issubclass(t, (type, types.ModuleType)):
        return f"{name} {getattr(value, '__qualname__', value.__name__)}", ()
    if issubclass(t, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        held_by = [getattr(value, "__self__", None)]
        for cell in getattr(value, "__closure__", None) or ():
            with contextlib.suppress(ValueError):
                held_by.append(cell.cell_contents)
        held_by = [x for x in held_by if x is not None and not isinstance(x, types.ModuleType)]
        name = f"{name} {value.__module__}.{value.__qualname__}"
        return name, tuple(("holds", x) for x in held_by)
    if issubclass(t, types.CodeType):
        shown = "name argcount flags code consts names varnames freevars cellvars"
        return name, [(part, getattr(value, f"co_{part}")) for part in shown.split()]
    if issubclass(t, (io.BytesIO, io.StringIO)) and not value.closed:
        return name, [("getvalue", value.getvalue())]
    is_standard = t.__module__.partition(".")[0] in sys.stdlib_module_names
    if is_standard and issubclass(t, (abc.Iterator, abc.Coroutine, abc.AsyncGenerator)):
        return name, None  # reading it would run it
    if issubclass(t, weakref.ref):
        return name, [("refers to", value())]
    parts, payload = items_of(value), False
    for base in plain:
        if issubclass(t, base):
            name, payload = f"{name} {short(written(base.__repr__, value))}", True
    if issubclass(t, (datetime.date, datetime.time)):
        parts, payload = [*moment(value).items()], True
    bare = parts is None and not payload
    if bare and is_standard and (text := text_of(repr, value)):
        return f"{name} {text}", ()
    slots = [
        (member.__name__, member)
        for base in t.__mro__
        for member in vars(base).values()
        if isinstance(member, types.MemberDescriptorType)
    ]
    has_more = [t.__dictoffset__ > 0, t.__weakrefoffset__ > 0]
    size = object.__basicsize__ + 8 * (len(slots) + sum(has_more))
    if bare and (t.__basicsize__ > size or t.__itemsize__):
        text = text_of(repr, value)
        if not text:  # what is hidden in C: as pickle takes it apart
            with contextlib.suppress(Exception):
                return name, [(str(n), x) for n, x in enumerate(value.__reduce_ex__(4)[1:3])]
            return name, None
        name = f"{name} {text}"
    state = {}
    with contextlib.suppress(AttributeError):
        state |= {str(k): part for k, part in object.__getattribute__(value, "__dict__").items()}
    for key, get in slots:
        with contextlib.suppress(AttributeError):
            state[key] = get.__get__(value)
    cached = {key for key, found in members(t) if isinstance(found, functools.cached_property)}
    names = sorted(key for key in state if not key.startswith("__"))
    return name, [*(parts or []), *((key, state[key]) for key in names if key not in cached)]


def items_of(value):
    """The items of a container as parts, those named ``-`` in any order; None: it is none."""
    t = type(value)  # isinstance() would believe a proxy
    if issubclass(t, (dict, types.MappingProxyType)):
        items = dict.items(value) if issubclass(t, dict) else value.items()
        if issubclass(t, OrderedDict):
            return [(str(n), pair) for n, pair in enumerate(items)]
        parts = [
            (short(written(repr, key)), part)
            if type(key) in (str, int, bytes, bool)
            else ("-", (key, part))
            for key, part in items
        ]
        if issubclass(t, defaultdict):
            parts.append(("default_factory", value.default_factory))
        return sorted(parts, key=lambda part: part[0])
    if issubclass(t, (set, frozenset, abc.KeysView, abc.ItemsView)):
        return [("-", x) for x in value]
    if issubclass(t, (list, tuple, deque, memoryview, abc.ValuesView)):
        length = [("maxlen", value.maxlen)] if issubclass(t, deque) else []
        return [*length, *((str(n), x) for n, x in enumerate(value))]
    if issubclass(t, BaseException):
        return [("args", value.args)]
    return None


def computed(value, depth):
    """Public properties of an object, and its texts, as parts: what no attribute holds."""
    t = type(value)
    if t.__module__.partition(".")[0] in sys.stdlib_module_names:
        return
    for key, found in members(t):
        if not key.startswith("_") and isinstance(found, (property, functools.cached_property)):
            try:
                got = getattr(value, key)
            except Exception as e:
                got = f"raises {type(e).__name__}"
            if not callable(got) and not isinstance(got, abc.Iterator):
                yield f"{key}()", got
    texts = [text_of(read, value) for read in (str, repr)] if depth < 3 else []
    yield from [("str()", text) for text in dict.fromkeys(texts) if text]


def members(t):
    """What the classes of a type define, by name, without those of object."""
    found = {key: member for base in reversed(t.__mro__[:-1]) for key, member in vars(base).items()}
    return sorted(found.items())


def text_of(read, value):
    """The text of a value; an empty string if it has none, or one that has an address."""
    try:
        text = read(value)
    except Exception:
        return ""
    has_address = re.search("0x[0-9a-fA-F]{6,}|/tmp/|^<[^<]* object>$", text)
    return "" if has_address else short(repr(text)[1:-1])


def written(read, value):
    """The text of a plain value; Python refuses to write a long integer in decimal."""
    is_long = isinstance(value, int) and value.bit_length() > 10_000
    return hex(value) if is_long else read(value)


def short(text, most=400):
    """A text, or the start of a long one and its hash."""
    if len(text) <= most:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return f"{text[: most // 2]}... {len(text)} characters: {digest}"


def unseen(text):
    """The parts of a description that hold nothing comparable."""
    return [line.strip() for line in text.split("\n") if line.endswith("(not compared)")]


def moment(value):
    """A date or time as plain data. What its ``tzinfo`` does is a part; it may raise."""
    zone = getattr(value, "tzinfo", None)
    if zone is None:
        return {"isoformat": value.isoformat(), "fold": getattr(value, "fold", 0)}
    parts = {"isoformat": value.replace(tzinfo=None).isoformat(), "fold": value.fold}
    parts["tzinfo"] = f"{type(zone).__module__}.{type(zone).__qualname__}"
    for name in ("utcoffset", "dst", "tzname"):
        try:
            parts[name] = str(getattr(value, name)())
        except Exception as e:
            parts[name] = type(e).__name__
    return parts

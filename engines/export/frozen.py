# mypy: disable-error-code="no-untyped-call, no-untyped-def"
# ruff: noqa: ANN001, ANN201
"""Functions whose source is copied into exported test files, which must not need fuzztui.

The engine compares with the same functions before an outcome is written, so that a file cannot
contain a value that its own comparison does not recognise.
"""

import datetime
import enum
import re
import types


def same(a, b):
    """Whether values are equal, with equal types all the way down; NaN is NaN, 0.0 is not -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            any(same(k, other) and same(v, b[other]) for other in b) for k, v in a.items()
        )
    if isinstance(a, (set, frozenset)):
        return len(a) == len(b) and all(any(same(x, y) for y in b) for x in a)
    return a == b


def described(value, above=()):
    """A value as plain data: an object as its class and attributes, or else its text."""
    t = type(value)
    name = f"{t.__module__}.{t.__qualname__}"
    if value is None or t in (bool, int, float, complex, str, bytes):
        return value
    if any(value is other for other in above):
        return "(contains itself)"
    above = (*above, value)
    if isinstance(value, enum.Enum):
        return f"{name}.{value.name}"
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        return f"{value.__module__}.{value.__qualname__}"
    parts = {}
    if isinstance(value, dict):
        parts["items"] = [(described(k, above), described(v, above)) for k, v in value.items()]
    elif isinstance(value, (list, tuple)):
        parts["items"] = [described(item, above) for item in value]
    elif isinstance(value, (set, frozenset)):
        parts["items"] = sorted((described(item, above) for item in value), key=repr)
    elif isinstance(value, BaseException):
        parts["items"] = [described(item, above) for item in value.args]
    if t is list:
        return parts["items"]
    slots = [slot for c in t.__mro__ for slot in c.__dict__.get("__slots__", ())]
    for attribute in sorted({*getattr(value, "__dict__", ()), *slots}):
        if not attribute.startswith("__") and hasattr(value, attribute):
            parts[attribute] = described(getattr(value, attribute), above)
    if isinstance(value, (datetime.date, datetime.time)):
        parts.update(moment(value))
    elif not parts:
        text = repr(value)
        if len(text) <= 1000 and not re.search("0x[0-9a-fA-F]{6,}|/tmp/", text):
            return {"class": name, "repr": text}
    return {"class": name, **parts}


def moment(value):
    """A date or time as plain data. What its ``tzinfo`` does is a part; it may raise."""
    zone = getattr(value, "tzinfo", None)
    if zone is None:
        return {"isoformat": value.isoformat()}
    parts = {"isoformat": value.replace(tzinfo=None).isoformat(), "fold": value.fold}
    parts["tzinfo"] = f"{type(zone).__module__}.{type(zone).__qualname__}"
    for name in ("utcoffset", "dst", "tzname"):
        try:
            parts[name] = str(getattr(value, name)())
        except Exception as e:
            parts[name] = type(e).__name__
    return parts

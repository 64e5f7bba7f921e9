"""Convert records and commands to JSON lines and back.

A record is one line::

    {"s": 17, "t": 3.25, "k": "entry_saved", "instance": "main", "id": 4, ...}

An event that was relayed from a host also has ``h``, ``hs`` and ``ht``
(:class:`~fuzztui.kernel.wire.events.Record`).

Engines write the same without ``s`` and ``t`` into their ``events.jsonl``; the supervisor adds
both. Fields with their default value are left out, unknown fields are ignored, an unknown kind
becomes :class:`~fuzztui.kernel.wire.events.Unknown` with its data, so that a log of a newer version
still opens.

A line with a value of a wrong type, or a number out of bounds (:mod:`fuzztui.kernel.base.bounds`),
is rejected as a whole: its other values cannot be trusted either. Readers count and report the
rejected lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any

from fuzztui.kernel.base.bounds import RANGES, is_sound
from fuzztui.kernel.wire.commands import COMMAND_NAMES, Command
from fuzztui.kernel.wire.events import EVENT_KINDS, Event, Record, Unknown

MAX_T = 1e12
"""Seconds; every campaign time is less."""

MAX_SEQ = 1 << 62
"""Every sequence number is less."""

MAX_EVENT = 1 << 20
"""Bytes of an event that an engine may write: the supervisor skips longer lines."""

_dumps = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


class CodecError(ValueError):
    """A line that is not a record, event or command; the message contains the reason."""


_OF_RECORD = frozenset({"k", "s", "t", "h", "hs", "ht"})
"""Keys of a line that are not fields of its event."""
_RESERVED = {*_OF_RECORD, "c", "v"}

_Check = Callable[[Any], bool]
"""Returns whether a field may contain the value."""


def annotation_of(f: Field[Any]) -> str:
    """Return the annotation of a field as it is written, with and without postponed evaluation."""
    return f.type.__name__ if type(f.type) is type else str(f.type).replace("typing.", "")


class _Shape:
    """The fields of one dataclass: names, defaults, and a check of the value for each."""

    __slots__ = ("annotations", "checks", "defaults", "names", "required")

    def __init__(self, cls: type[Any]) -> None:
        self.annotations: dict[str, str] = {f.name: annotation_of(f) for f in fields(cls)}
        for name, annotation in self.annotations.items():
            field = f"{cls.__module__}.{cls.__name__}.{name}"
            if name in _RESERVED:
                raise TypeError(f"{field}: no field is named {', '.join(sorted(_RESERVED))}")
            if annotation not in _CHECKS:
                raise TypeError(
                    f"{field}: {annotation} is not possible; a field is int, Count, float, str, "
                    "bool, dict[str, Any] or a list of these"
                )
        self.names: tuple[str, ...] = tuple(self.annotations)
        self.checks: dict[str, _Check] = {n: _CHECKS[a] for n, a in self.annotations.items()}
        self.defaults: dict[str, Any] = {}
        for f in fields(cls):
            if f.default is not MISSING:
                self.defaults[f.name] = f.default
            elif f.default_factory is not MISSING:
                self.defaults[f.name] = f.default_factory()
        self.required = tuple(n for n in self.names if n not in self.defaults)


def _whole(annotation: str) -> _Check:
    low, high = RANGES[annotation]
    # bool is a subclass of int: only a bool field may contain one.
    return lambda value: type(value) is int and low <= value <= high


def _real(value: Any) -> bool:
    low, high = RANGES["float"]
    return type(value) in (float, int) and low <= value <= high  # False for NaN


def _list_of(check: _Check) -> _Check:
    return lambda value: type(value) is list and all(map(check, value))


def _string(value: Any) -> bool:
    return type(value) is str


def _flat(value: Any) -> bool:
    return type(value) is dict and is_sound(value)


_VALUES: dict[str, tuple[_Check, str, str]] = {
    "int": (_whole("int"), "a whole number", "whole numbers"),
    "Count": (_whole("Count"), "a whole number", "whole numbers"),
    "float": (_real, "a number", "numbers"),
    "str": (_string, "text", "texts"),
    "bool": (lambda value: type(value) is bool, "true or false", "true or false"),
    "dict[str, Any]": (_flat, "a JSON object", "JSON objects"),
}
"""By annotation: the check of a value, and the words for one value and for several."""

_CHECKS = {name: check for name, (check, _, _) in _VALUES.items()}
_CHECKS |= {f"list[{name}]": _list_of(check) for name, (check, _, _) in _VALUES.items()}
_NOUNS = {name: one for name, (_, one, _) in _VALUES.items()}
_NOUNS |= {f"list[{name}]": f"a list of {many}" for name, (_, _, many) in _VALUES.items()}


class _Shapes(dict[type[Any], _Shape]):
    def __missing__(self, cls: type[Any]) -> _Shape:
        made = self[cls] = _Shape(cls)
        return made


_SHAPES = _Shapes()
"""Shapes by the class of an event or a command; each is made when it is first needed."""


def check_shapes() -> None:
    """Raise TypeError for an event or a command that has fields which cannot be on the wire."""
    for cls in (*EVENT_KINDS.values(), *COMMAND_NAMES.values()):
        _ = _SHAPES[cls]


def fields_of(cls: type[Any]) -> list[tuple[str, str, bool]]:
    """Return the fields of an event or a command: name, annotation, whether it is always there."""
    shape = _SHAPES[cls]
    return [(name, shape.annotations[name], name in shape.required) for name in shape.names]


def _fields_to_json(obj: Any, out: dict[str, Any]) -> None:
    shape = _SHAPES[type(obj)]
    defaults, checks = shape.defaults, shape.checks
    for name in shape.names:
        value = getattr(obj, name)
        if name not in defaults or value != defaults[name]:
            if not checks[name](value):
                raise _misfit(type(obj), name, value)
            out[name] = value


def _fields_from_json(cls: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    shape = _SHAPES[cls]
    checks = shape.checks
    kwargs = {}
    for name, value in data.items():
        check = checks.get(name)
        if check is None:
            continue
        if not check(value):
            raise _misfit(cls, name, value)
        # -0.0 would be drawn with its sign.
        kwargs[name] = value + 0.0 if type(value) is float else value
    for name in shape.required:
        if name not in kwargs:
            raise CodecError(f"{name} is missing")
    return kwargs


def _misfit(cls: type[Any], name: str, value: Any) -> CodecError:
    try:
        shown = repr(value)
    except ValueError:  # an integer with more digits than Python converts
        shown = "a number of thousands of digits"
    if len(shown) > 60:
        shown = shown[:60] + "..."
    annotation = _SHAPES[cls].annotations[name]
    if annotation in RANGES and type(value) in (int, float):
        return CodecError(f"{name} is not a possible number: {shown}")
    if "dict" in annotation and (type(value) is dict or "list" in annotation):
        return CodecError(f"{name} contains impossible data: {shown}")
    return CodecError(f"{name} is not {_NOUNS[annotation]}: {shown}")


def _no_constant(name: str) -> None:
    raise CodecError(f"{name} is not a possible number")


def _loads(line: str | bytes) -> dict[str, Any]:
    try:
        data = json.loads(line, parse_constant=_no_constant)
    except CodecError:
        raise
    except (ValueError, RecursionError):
        raise CodecError("not JSON text") from None
    if not isinstance(data, dict):
        raise CodecError("not a JSON object")
    return data


def _event_from_json(data: dict[str, Any]) -> Event:
    kind = data.get("k")
    if not isinstance(kind, str):
        raise CodecError("k, the kind of event, is missing")
    cls = EVENT_KINDS.get(kind)
    if cls is None:
        rest = {k: v for k, v in data.items() if k not in _OF_RECORD}
        if not is_sound(rest):
            raise CodecError(f"{kind!r:.60} has an impossible number or too many levels")
        return Unknown(name=kind, data=rest)
    return cls(**_fields_from_json(cls, data))


def _event_to_json(event: Event, out: dict[str, Any]) -> None:
    if isinstance(event, Unknown):
        if not _flat(event.data):
            raise CodecError(f"{event.name!r:.60} has an impossible number or too many levels")
        out["k"] = event.name
        out.update(event.data)
    else:
        out["k"] = event.kind
        _fields_to_json(event, out)


def encode_record(record: Record) -> str:
    """Return one line without the newline. Raises :class:`CodecError` if it cannot be decoded."""
    if not _is_stamp(record.seq, record.t):
        raise CodecError(_NO_STAMP)
    out: dict[str, Any] = {"s": record.seq, "t": round(record.t, 4)}
    if record.host:
        if not _is_stamp(record.host_seq, record.host_t):
            raise CodecError(_NO_HOST_STAMP)
        out |= {"h": record.host, "hs": record.host_seq, "ht": round(record.host_t, 4)}
    _event_to_json(record.event, out)
    return _dumps(out)


def record_from_json(data: dict[str, Any]) -> Record:
    """Return the record of an already parsed object (a sealed block is one JSON array).

    Raises :class:`CodecError`.
    """
    seq: Any = data.get("s")
    t: Any = data.get("t")
    if not _is_stamp(seq, t):
        raise CodecError(_NO_STAMP)
    if "h" not in data:
        return Record(seq, float(t), _event_from_json(data))
    host: Any = data["h"]
    host_seq: Any = data.get("hs")
    host_t: Any = data.get("ht")
    if type(host) is not str or not host or not _is_stamp(host_seq, host_t):
        raise CodecError(_NO_HOST_STAMP)
    return Record(seq, float(t), _event_from_json(data), host, host_seq, float(host_t))


_NO_HOST_STAMP = "h, hs or ht, an event's host, number and time there, is missing or impossible"
_NO_STAMP = "s or t, the number and the time of the record, is missing or impossible"


def _is_stamp(seq: Any, t: Any) -> bool:
    return type(seq) is int and 0 < seq < MAX_SEQ and type(t) in (float, int) and 0 <= t < MAX_T


def decode_record(line: str | bytes) -> Record:
    """The inverse of :func:`encode_record`; raises :class:`CodecError`."""
    return record_from_json(_loads(line))


def encode_event(event: Event) -> str:
    """Return a line without number and time, as engines write to ``events.jsonl``.

    Raises :class:`CodecError` if the line cannot be decoded.
    """
    out: dict[str, Any] = {}
    _event_to_json(event, out)
    return _dumps(out)


def decode_event(line: str | bytes) -> Event:
    """The inverse of :func:`encode_event`; raises :class:`CodecError`."""
    return _event_from_json(_loads(line))


def encode_command(command: Command) -> dict[str, Any]:
    """Return a command as a JSON object ``{"c": name, ...}``."""
    out: dict[str, Any] = {"c": command.name}
    _fields_to_json(command, out)
    return out


def decode_command(data: Any) -> Command:
    """The inverse of :func:`encode_command`; raises :class:`CodecError` on anything else."""
    if not isinstance(data, dict):
        raise CodecError(f"not a command: {str(data)[:60]}")
    name = data.get("c")
    cls = COMMAND_NAMES.get(name) if isinstance(name, str) else None
    if cls is None:
        raise CodecError(f"unknown command {name!r}; choose one of {', '.join(COMMAND_NAMES)}")
    command: Command = cls(**_fields_from_json(cls, data))
    return command

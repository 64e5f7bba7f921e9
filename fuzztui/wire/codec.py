"""Records and commands to JSON lines and back.

A record is one line::

    {"s": 17, "t": 3.25, "k": "entry_saved", "instance": "main", "id": 4, ...}

Engines write the same without ``s`` and ``t`` into their ``events.jsonl``: the
supervisor stamps them. Fields that hold their default are left out, unknown
fields are ignored, an unknown kind becomes :class:`~fuzztui.wire.events.Unknown`
with its data, so that a log made by a newer version still opens.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, Field, fields
from typing import Any

from .commands import COMMAND_NAMES, Command
from .events import EVENT_KINDS, Event, Record, Unknown

__all__ = [
    "CodecError",
    "decode_command",
    "decode_event",
    "decode_record",
    "encode_command",
    "encode_event",
    "encode_record",
    "record_from_json",
]

_dumps = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


class CodecError(ValueError):
    """A line that is not a record, event or command; the message says why."""


class _Shape:
    """The fields of one dataclass: names, defaults and accepted JSON types."""

    __slots__ = ("defaults", "names", "required", "types")

    def __init__(self, cls: type[Any]) -> None:
        self.names: tuple[str, ...] = tuple(f.name for f in fields(cls))
        self.types: dict[str, tuple[type, ...]] = {f.name: _accepted(f) for f in fields(cls)}
        self.defaults: dict[str, Any] = {}
        for f in fields(cls):
            if f.default is not MISSING:
                self.defaults[f.name] = f.default
            elif f.default_factory is not MISSING:
                self.defaults[f.name] = f.default_factory()
        self.required = tuple(n for n in self.names if n not in self.defaults)


_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "str": (str,),
    "bool": (bool,),
}


def _accepted(f: Field[Any]) -> tuple[type, ...]:
    name = str(f.type)
    if name in _JSON_TYPES:
        return _JSON_TYPES[name]
    return (list,) if name.startswith("list") else (dict,)


_SHAPES: dict[type[Any], _Shape] = {
    cls: _Shape(cls) for cls in [*EVENT_KINDS.values(), *COMMAND_NAMES.values()]
}


def _fields_to_json(obj: Any, out: dict[str, Any]) -> None:
    shape = _SHAPES[type(obj)]
    defaults = shape.defaults
    for name in shape.names:
        value = getattr(obj, name)
        if name not in defaults or value != defaults[name]:
            out[name] = value


def _fields_from_json(cls: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    shape = _SHAPES[cls]
    types = shape.types
    kwargs = {}
    for name, value in data.items():
        accepted = types.get(name)
        if accepted is None:
            continue
        # bool is a subclass of int: only a bool field may hold one.
        if type(value) not in accepted:
            raise CodecError(f"{cls.__name__}.{name} is {value!r}, not {accepted[0].__name__}")
        kwargs[name] = value
    for name in shape.required:
        if name not in kwargs:
            raise CodecError(f"{cls.__name__} lacks {name!r}")
    return kwargs


def _no_constant(name: str) -> None:
    raise CodecError(f"{name} is no JSON")


def _loads(line: str | bytes) -> dict[str, Any]:
    try:
        data = json.loads(line, parse_constant=_no_constant)
    except CodecError:
        raise
    except (ValueError, RecursionError) as e:
        raise CodecError(f"not a JSON line: {e}") from None
    if not isinstance(data, dict):
        raise CodecError(f"not a JSON object: {str(data)[:60]}")
    return data


def _event_from_json(data: dict[str, Any]) -> Event:
    kind = data.get("k")
    if not isinstance(kind, str):
        raise CodecError("the line has no kind 'k'")
    cls = EVENT_KINDS.get(kind)
    if cls is None:
        rest = {k: v for k, v in data.items() if k not in ("k", "s", "t")}
        return Unknown(name=kind, data=rest)
    return cls(**_fields_from_json(cls, data))


def _event_to_json(event: Event, out: dict[str, Any]) -> None:
    if isinstance(event, Unknown):
        out["k"] = event.name
        out.update(event.data)
    else:
        out["k"] = event.kind
        _fields_to_json(event, out)


def encode_record(record: Record) -> str:
    """One line, without the newline. NaN and infinity are refused (ValueError)."""
    out: dict[str, Any] = {"s": record.seq, "t": round(record.t, 4)}
    _event_to_json(record.event, out)
    return _dumps(out)


def record_from_json(data: dict[str, Any]) -> Record:
    """A record from an already parsed object (a sealed block is one JSON array).

    Raises :class:`CodecError`.
    """
    seq, t = data.get("s"), data.get("t")
    if type(seq) is not int or type(t) not in (float, int):
        raise CodecError("the line has no sequence number 's' or time 't'")
    assert t is not None
    try:
        stamp = float(t)
    except OverflowError:
        raise CodecError("the time 't' is no number of seconds") from None
    return Record(seq, stamp, _event_from_json(data))


def decode_record(line: str | bytes) -> Record:
    """The inverse of :func:`encode_record`; raises :class:`CodecError`."""
    return record_from_json(_loads(line))


def encode_event(event: Event) -> str:
    """An event without its stamp, as engines write it to ``events.jsonl``."""
    out: dict[str, Any] = {}
    _event_to_json(event, out)
    return _dumps(out)


def decode_event(line: str | bytes) -> Event:
    """The inverse of :func:`encode_event`; raises :class:`CodecError`."""
    return _event_from_json(_loads(line))


def encode_command(command: Command) -> dict[str, Any]:
    """A command as a JSON object ``{"c": name, ...}``."""
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
        raise CodecError(f"unknown command {name!r}; there are {', '.join(COMMAND_NAMES)}")
    command: Command = cls(**_fields_from_json(cls, data))
    return command

"""The JSON Schema of a campaign file, for editors: ``fuzztui schema``.

``fuzztui check`` decides whether a file is valid: a schema cannot know which paths exist, or which
keys have no effect together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fuzztui.kernel.base.shards import SHARD_PATTERN
from fuzztui.kernel.base.units import BUDGET_PATTERN, DURATION_PATTERN, SIZE_PATTERN
from fuzztui.kernel.wire.events import NEWS
from fuzztui.run.campaign.schema import (
    COMMON,
    ENGINES,
    HOST,
    HOSTS,
    OPERATORS,
    TABLES,
    WEIGHTS,
    Key,
    tables_for,
)
from fuzztui.run.campaign.values import TYPE_HELP

Schema = dict[str, Any]
"""A JSON Schema, or a part of one."""

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
"""The draft that editors of TOML support."""

_STRING: Final[Schema] = {"type": "string"}
_TEXT: Final[Schema] = {"type": "string", "minLength": 1}
_PART: Final[Schema] = {"type": "number", "minimum": 0, "maximum": 1}


def _pattern(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^{pattern}$"}


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _one_or_list(item: Schema) -> Schema:
    return {"anyOf": [item, _list(item)]}


def _table_of(value: Schema) -> Schema:
    return {"type": "object", "additionalProperties": value}


def _mutators() -> Schema:
    from fuzztui.engines.text.table import MUTATORS  # slow: read from a file

    return {"enum": [mutator.name for mutator in MUTATORS]}


_SECONDS: Final[Schema] = {"anyOf": [{"type": "number", "minimum": 0}, _pattern(DURATION_PATTERN)]}
_ONE_OF_SIZES: Final[Schema] = {
    "anyOf": [{"type": "integer", "minimum": 0}, _pattern(SIZE_PATTERN)]
}
_ONE_OF_BUDGETS: Final[Schema] = {
    "anyOf": [{"type": "integer", "minimum": 0}, _pattern(BUDGET_PATTERN)]
}

_VALUES: Final[dict[str, Callable[[], Schema]]] = {
    "integer": lambda: {"type": "integer"},
    "boolean": lambda: {"type": "boolean"},
    "part": lambda: _PART,
    "duration": lambda: _SECONDS,
    "size": lambda: _ONE_OF_SIZES,
    "budget": lambda: _ONE_OF_BUDGETS,
    "shard": lambda: _pattern(SHARD_PATTERN),
    "operators": lambda: _one_or_list({"enum": [*OPERATORS]}),
    "edits": lambda: _one_or_list(_mutators()),
    "news": lambda: _one_or_list({"enum": [*NEWS]}),
    "table": lambda: _table_of(_STRING),
    "aliases": lambda: _table_of(_one_or_list(_TEXT)),
    "settings": lambda: _table_of({"anyOf": [_TEXT, {"type": "integer"}, _list(_TEXT)]}),
    "options": lambda: {
        "type": "object",
        "patternProperties": {"^(main|s[1-9][0-9]*)$": _one_or_list(_TEXT)},
        "additionalProperties": False,
    },
    "weights": lambda: {
        "type": "object",
        "properties": {name: {"type": "number", "minimum": 0} for name in WEIGHTS},
        "additionalProperties": False,
    },
    **{
        kind: lambda: _one_or_list(_TEXT)
        for kind in (
            "strings",
            "paths",
            "seeds",
            "files",
            "directories",
            "arguments",
            "command",
            "sources",
            "targets",
        )
    },
    **{
        kind: lambda: _TEXT
        for kind in (
            "string",
            "directory",
            "file",
            "callable",
            "python",
            "output",
            "filename",
            "program",
            "pattern",
            "host-path",
            "host-python",
        )
    },
}
"""The schema of a value by the type of its key."""


def value_schema(key: Key) -> Schema:
    """Return the schema of the value of one key."""
    if key.choices:
        found: Schema = {"enum": [*key.choices]}
    else:
        found = {**_VALUES[key.type]()}
    if key.type == "integer":
        found |= {} if key.minimum is None else {"minimum": key.minimum}
        found |= {} if key.maximum is None else {"maximum": key.maximum}
    form = "" if key.choices else f" Value: {TYPE_HELP[key.type]}."
    found["description"] = key.help + form
    if key.default is not None:
        found["default"] = key.default
    return found


def _table(keys: tuple[Key, ...]) -> Schema:
    return {
        "type": "object",
        "properties": {key.name: value_schema(key) for key in keys},
        "required": [key.name for key in keys if key.required],
        "additionalProperties": False,
    }


def document() -> Schema:
    """Return the schema of a campaign file.

    The tables depend on ``engine.kind``. An engine of someone else has keys that are unknown here,
    so that its tables accept any keys.
    """
    kinds = [_of_kind(kind) for kind in ENGINES]
    return {
        "$schema": DRAFT,
        "title": "A campaign file of fuzztui",
        "type": "object",
        "properties": {
            **{name: {"type": "object"} for name in TABLES},
            **{name: _table(keys) for name, keys in COMMON.items()},
            HOSTS: _table_of(_table(HOST)) | {"minProperties": 1},
            "engine": {
                "type": "object",
                "properties": {
                    "kind": {
                        "anyOf": [{"enum": [*ENGINES]}, _TEXT],
                        "description": "The engine.",
                    }
                },
                "required": ["kind"],
            },
        },
        "required": ["target", "engine"],
        "additionalProperties": False,
        "allOf": kinds,
    }


def _of_kind(kind: str) -> Schema:
    """Return the rules for campaigns with that kind of engine."""
    tables = {name: keys for name, keys in tables_for(kind).items() if name not in COMMON}
    other = {name: False for name in TABLES if name not in (*tables, *COMMON, HOSTS)}
    named = {"properties": {"kind": {"const": kind}}, "required": ["kind"]}
    return {
        "if": {"properties": {"engine": named}, "required": ["engine"]},
        "then": {"properties": {**{name: _table(keys) for name, keys in tables.items()}, **other}},
    }

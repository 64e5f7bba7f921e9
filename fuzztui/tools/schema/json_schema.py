"""The JSON Schema of a campaign file, for editors: ``fuzztui schema``.

``fuzztui check`` decides whether a file is valid: a schema cannot know which paths exist, or which
keys have no effect together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fuzztui.run.campaign.schema import (
    ENGINES,
    HOST,
    HOSTS,
    TARGET_PART,
    TARGETS,
    Key,
    common_tables,
    table_names,
    tables_for,
)
from fuzztui.run.campaign.table import feature_tables
from fuzztui.run.campaign.values import TEXT, Schema, table_of, type_of

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
"""The draft that editors of TOML support."""


def value_schema(key: Key) -> Schema:
    """Return the schema of the value of one key."""
    if key.choices:
        found: Schema = {"enum": [*key.choices]}
    else:
        schema = type_of(key).schema
        found = {**(schema() if callable(schema) else schema)}
    if key.type == "integer":
        found |= {} if key.minimum is None else {"minimum": key.minimum}
        found |= {} if key.maximum is None else {"maximum": key.maximum}
    form = "" if key.choices else f" Value: {type_of(key).help}."
    found["description"] = key.help + form
    if key.default is not None:
        found["default"] = key.default
    return found


def _table(keys: Sequence[Key]) -> Schema:
    return {
        "type": "object",
        "properties": {key.name: value_schema(key) for key in keys},
        "required": [key.name for key in keys if key.required],
        "additionalProperties": False,
    }


def _of_table(name: str, keys: Sequence[Key]) -> Schema:
    one, own = _table(keys), feature_tables().get(name)
    if own is None or not own.by_name:
        return one
    return {"anyOf": [{"type": "array", "items": one}, table_of(one)]}  # a frozen copy has names


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
            **{name: {"type": "object"} for name in table_names()},
            **{name: _of_table(name, keys) for name, keys in common_tables().items()},
            HOSTS: table_of(_table(HOST)) | {"minProperties": 1},
            "engine": {
                "type": "object",
                "properties": {
                    "kind": {
                        "anyOf": [{"enum": [*ENGINES]}, TEXT],
                        "description": "The engine.",
                    }
                },
            },
            TARGETS: _targets(),
        },
        "additionalProperties": False,
        "if": {"required": [TARGETS]},
        # Then the other tables are defaults for targets, and none has to be complete.
        "else": {
            "properties": {"engine": {"required": ["kind"]}},
            "required": ["target", "engine"],
            "allOf": kinds,
        },
    }


def _targets() -> Schema:
    """Return the schema of ``[[targets]]``: entries with keys of their own, and any tables."""
    one = _table(TARGET_PART)
    tables: Schema = {name: {"type": "object"} for name in (*table_names(), "campaign", "stop")}
    tables |= {name: {} for name, own in feature_tables().items() if own.by_name}
    return {
        "type": "array",
        "minItems": 1,
        "items": {**one, "properties": {**tables, **one["properties"]}},
    }


def _of_kind(kind: str) -> Schema:
    """Return the rules for campaigns with that kind of engine."""
    common = common_tables()
    tables = {name: keys for name, keys in tables_for(kind).items() if name not in common}
    other = {name: False for name in table_names() if name not in (*tables, *common, HOSTS)}
    named = {"properties": {"kind": {"const": kind}}, "required": ["kind"]}
    return {
        "if": {"properties": {"engine": named}, "required": ["engine"]},
        "then": {"properties": {**{name: _table(keys) for name, keys in tables.items()}, **other}},
    }

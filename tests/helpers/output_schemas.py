"""What commands print as JSON, compared with its schema; keys that the schema lacks are errors."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema

from fuzztui.tools.schema.outputs import output_schema


def closed(schema: Any) -> Any:
    """The same schema, but objects have no further keys: so that none comes without a row."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(part) for key, part in schema.items()}
    if isinstance(made.get("properties"), dict) and "required" in made:
        made.setdefault("additionalProperties", False)
    return made


@cache
def _validator(name: str) -> jsonschema.Draft7Validator:
    schema = output_schema(name)
    jsonschema.Draft7Validator.check_schema(schema)
    # The fields of an event depend on its kind.
    return jsonschema.Draft7Validator(schema if name == "events" else closed(schema))


def check(name: str, data: Any) -> None:
    """Raise if the data is not what the schema ``name`` says."""
    plain = json.loads(json.dumps(data))
    error = jsonschema.exceptions.best_match(_validator(name).iter_errors(plain))
    if error is not None:
        where = ".".join(map(str, error.absolute_path))
        raise AssertionError(f"{name}: {where}: {error.message[:300]}")

"""The key ``target.binaries``: more builds of an AFL++ target, each a table of keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.keys import Key, ValueType
from fuzztui.run.campaign.binaries import VARIANTS
from fuzztui.run.campaign.values import Schema, check, nearest, type_of, wrong

BINARY: Final = (
    Key(
        "build",
        "string",
        "The shell command that builds it, in `RUN/build-NAME`. Default: `target.build`.",
        default="",
    ),
    Key(
        "command",
        "command",
        "The program and its arguments, relative to its build directory or, if it is built "
        "already, to the campaign file. Default: `target.command`.",
        default=[],
    ),
    Key(
        "instances",
        "integer",
        "How many secondaries run it, the first ones; 0: it only runs findings once more.",
        default=1,
        minimum=0,
        maximum=1000,
    ),
    Key(
        "memory",
        "size",
        "Memory limit of the program; 0: no limit. Default: `target.memory`; 0 with a sanitizer.",
    ),
    Key(
        "env",
        "table",
        "Environment variables for its build, its instances and the program.",
        default={},
    ),
    Key(
        "optional",
        "boolean",
        "Whether the campaign goes on, with a warning, if it cannot be built.",
        default=False,
    ),
    Key(
        "options",
        "arguments",
        "Options of afl-fuzz for its instances, in place of those by which instances differ.",
        default=[],
    ),
)
"""The keys of one binary: ``asan = { instances = 2 }`` in ``target.binaries``."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,11}")


def _binaries(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if not isinstance(value, dict) or not all(isinstance(one, dict) for one in value.values()):
        raise wrong(key, value)
    known = {one.name: one for one in BINARY}
    frozen: dict[str, Any] = {}
    resolved: dict[str, Any] = {}
    for name, keys in value.items():
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} is no name of a binary: write up to 12 lower-case letters, digits "
                "and dashes"
            )
        if unknown := next((one for one in keys if one not in known), ""):
            raise ValueError(
                f"{name}: unknown key {unknown!r}{nearest(unknown, known)}; a binary takes: "
                f"{', '.join(known)}"
            )
        kept: dict[str, Any] = {}
        used: dict[str, Any] = {}
        for one in BINARY:
            given = keys.get(one.name, one.default)
            try:
                as_given, as_used = check(one, given, base) if one.name in keys else (None, given)
            except ValueError as e:
                raise ValueError(f"{name}.{one.name}: {e}") from None
            used[one.name] = as_used
            kept |= {one.name: as_given} if one.name in keys else {}
        frozen[name], resolved[name] = kept, used
    return frozen, resolved


def _schema() -> Schema:
    def of(one: Key) -> Schema:
        schema = type_of(one).schema
        return {**(schema() if callable(schema) else schema), "description": one.help}

    binary = {
        "type": "object",
        "properties": {one.name: of(one) for one in BINARY},
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "patternProperties": {f"^{_NAME.pattern}$": binary},
        "additionalProperties": False,
    }


BINARIES = Key(
    "binaries",
    ValueType(
        "a table of tables, one for each binary, such as { asan = {}, laf = { instances = 2 } }",
        _binaries,
        _schema,
    ),
    "More binaries of the same program, which secondaries run and which run findings once more "
    f"(docs/afl.md). `{'`, `'.join(VARIANTS)}` are built by `target.build` with AFL++'s own "
    "environment variables; others have a `build` or an `env` of their own, or are built already. "
    "Each takes " + ", ".join(f"`{one.name}`" for one in BINARY) + ". "
    "Default, of at least four instances with `build`: `asan` and `cmplog`, both optional; "
    "`{}`: none.",
    default={},
)

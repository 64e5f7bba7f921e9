"""Print results as JSON, each with the version of its schema."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fuzztui.cli.output import say
from fuzztui.kernel.base import versions

ARRAYS: Final = "FUZZTUI_JSON_ARRAYS"
"""A variable: if it is 1, lists are printed as bare arrays, as until 0.1. It goes in 0.3.0."""


def print_json(name: str, data: Mapping[str, Any], indent: int | None = 1) -> None:
    """Print an object with the schema ``name``; without ``indent`` as one line, at once."""
    print(json.dumps(versions.versioned(name, data), indent=indent), flush=indent is None)


def print_rows(
    name: str, key: str, rows: Sequence[Mapping[str, Any]], problems: Sequence[str] = ()
) -> None:
    """Print an object with the schema ``name`` that has a list as ``key``; see :data:`ARRAYS`."""
    if os.environ.get(ARRAYS) == "1":
        say(f"{ARRAYS} goes in 0.3.0: read {key!r} of the object that --json prints without it")
        print(json.dumps(rows, indent=1))
        return
    print_json(name, {key: rows, "problems": [*problems]})

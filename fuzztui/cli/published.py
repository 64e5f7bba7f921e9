"""What is written for others: paths without the user's home directory, and sources only."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

SUFFIXES: Final = frozenset({
    ".py", ".pyi", ".pyx", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inc", ".y",
    ".l", ".m", ".rs", ".go", ".java", ".js", ".ts", ".swift", ".zig", ".v", ".sol",
})  # fmt: skip
"""What source files end in. A log can name any file, and a report is for others to read."""

_T = TypeVar("_T")


def published(data: _T, root: Path) -> _T:
    """Shorten paths in texts of ``data``: those in ``root`` to relative ones, the home to ``~``.

    Texts may be in dataclasses, mappings, lists and tuples; other objects are left unchanged.
    """
    places = [(os.path.realpath(root), ""), (str(root.absolute()), "")]
    home = os.path.expanduser("~")  # noqa: PTH111 - no error without a home
    places += [(os.path.realpath(home), "~/"), (home, "~/")]
    shorter = {
        place: short for place, short in reversed(places) if place.count("/") and place != "/"
    }
    if not shorter:
        return data
    names = "|".join(map(re.escape, sorted(shorter, key=len, reverse=True)))
    # A place counts at the start of a path, also behind a compiler's -I or -L; not inside a path.
    pattern = re.compile(rf"(?:(?<![\w/.~-])|(?<=-[IL]))({names})(/|(?![\w.-]))")

    def short(match: re.Match[str]) -> str:
        return shorter[match[1]] if match[2] else shorter[match[1]].rstrip("/") or "."

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(short, value) if "/" in value else value
        if isinstance(value, Mapping):
            return {walk(key): walk(one) for key, one in value.items()}
        if type(value) in (list, tuple):
            return type(value)(map(walk, value))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [field.name for field in dataclasses.fields(value) if field.init]
            before = {name: getattr(value, name) for name in fields}
            after = {name: walk(one) for name, one in before.items()}
            return value if after == before else dataclasses.replace(value, **after)
        return value

    found: _T = walk(data)
    return found

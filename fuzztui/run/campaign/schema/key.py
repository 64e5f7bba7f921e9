"""What a key is, and the kinds of values that keys have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fuzztui.kernel.base.shards import SHARD_HELP
from fuzztui.kernel.base.units import BUDGET_HELP, DURATION_HELP, SIZE_HELP

Kind = Literal[
    "string", "integer", "boolean", "duration", "size", "budget", "strings", "operators", "table",
    "aliases", "directory", "file", "paths", "files", "directories", "callable", "targets",
    "python", "output",
    "choice", "command", "program", "arguments", "options", "part", "weights", "sources",
    "templates", "edits", "pattern", "seeds", "news",
    "filename", "host-path", "host-python", "shard", "settings",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Key:
    """One key: the kind of its value, its default, and a description for users."""

    name: str
    kind: Kind
    doc: str
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    without: str = ""
    """Advice for users whom none of ``choices`` fits: what happens without the key."""
    once: bool = False
    """Whether only the first start reads the key: a run continues if the named file is gone."""


KIND_HELP: dict[str, str] = {
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
    "duration": DURATION_HELP,
    "size": SIZE_HELP,
    "budget": BUDGET_HELP,
    "strings": "a list of strings",
    "table": 'a table of strings such as { NAME = "value" }',
    "aliases": 'a table of names, or lists of names, such as { "a.A" = ["b.B", "c.C"] }',
    "directory": "a directory that exists",
    "file": "a file that exists",
    "operators": "a list of mutation operators",
    "paths": "a list of files or directories that exist",
    "seeds": 'a list of files or directories that exist, or "$BUILD/NAME"',
    "files": "a list of files that exist",
    "directories": "a list of directories that exist",
    "callable": '"module:function" or "file.py:function"',
    "targets": '"module:function" or "file.py:function"; or a list of these, of directories, files '
    "and node ids of tests",
    "python": "a Python interpreter: a path or a command on PATH",
    "output": "a path; it is created",
    "filename": "a path of a file; it is created",
    "shard": SHARD_HELP,
    "host-path": 'a path on the host: absolute, or "~/..." below the home directory there',
    "host-python": "a Python interpreter on the host: a path, or a command on PATH there",
    "choice": "one of the allowed names",
    "command": "a list of strings, or one string that is split as in a shell",
    "program": "a program: a path or a command on PATH",
    "arguments": "a list of strings",
    "part": "a number from 0 to 1",
    "weights": "a table of numbers such as { edit = 5.0, line = 0 }",
    "sources": 'a list of files, each "FILE" or "FILE:LINES" such as "parse.c:12,40-60"',
    "edits": "a list of text mutators",
    "pattern": "a regular expression of Python",
    "settings": "a table of strings, whole numbers and lists of strings",
    "news": 'a list of "findings", "stall", "end"',
    "options": 'a table of lists, one for each instance, such as { s1 = ["-p", "rare"] }',
}

"""The TOML files of campaigns: which file has one, its tables, and the lines of its keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import tomli

CAMPAIGN_FILE: Final = "campaign.toml"
"""The name of the campaign file that ``fuzztui init`` writes, and of the copy in a run."""
PYPROJECT: Final = "pyproject.toml"
PREFIX: Final = "tool.fuzztui."
"""Prefix of the names of tables in ``pyproject.toml``: ``[tool.fuzztui.target]``."""
SAMPLES: Final = Path(__file__).parents[2] / "sample_campaigns"
"""The sample campaigns inside the package."""
NAME: Final = "fuzztui"
"""The beginning of the names of files next to ``pyproject.toml``: ``fuzztui.verdicts.toml``."""


def is_pyproject(file: Path) -> bool:
    """Whether a file is a project's ``pyproject.toml``, not a campaign file."""
    return file.name == PYPROJECT


def tables_of(data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the tables below ``[tool.fuzztui]``; None if there are none."""
    tool = data.get("tool")
    tables = tool.get("fuzztui") if isinstance(tool, dict) else None
    return tables if isinstance(tables, dict) else None


def project_name(data: dict[str, Any], file: Path) -> str:
    """Return the project's name; that of the directory if it has none."""
    project = data.get("project")
    name = project.get("name") if isinstance(project, dict) else None
    return name if isinstance(name, str) and name else file.absolute().parent.name


def nearest_file(directory: Path) -> Path | None:
    """Return the nearest file that a command without FILE reads; None if there is none.

    It is :data:`CAMPAIGN_FILE` or ``pyproject.toml``, in a directory or above it. If a directory
    has both, the first.
    """
    folders = (directory, *directory.parents)
    found = (path / name for path in folders for name in (CAMPAIGN_FILE, PYPROJECT))
    return next((file for file in found if file.is_file()), None)


_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_KEY = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")


_ENDS = ("]", '"""', "'''")
"""The last line of a statement of several lines contains one of these."""


def key_lines(text: str, prefix: str = "") -> dict[str, int]:
    """Return the line (from 1) of every dotted key and table header of a valid TOML text.

    The entries of ``[[t]]`` are ``t.1``, ``t.2``. With a ``prefix``: only of those that begin with
    the prefix, which is removed from their names.

    A line begins a statement exactly if the lines since the last beginning parse. This test needs
    no second TOML grammar. It is made only at lines where a statement of several lines can end:
    otherwise a list of a thousand dependencies would take a second.
    """
    found: dict[str, int] = {}
    entries: dict[str, int] = {}
    """How many each ``[[t]]`` has."""
    table = statement = ""
    # Not splitlines, which also divides at characters that may stand in a comment.
    for number, line in enumerate(re.findall(r"[^\n]*\n|[^\n]+", text), start=1):
        begins = not statement
        if begins:
            if header := _HEADER.match(line):
                above, dot, last = _dotted(header.group(1)).rpartition(".")
                table = f"{_numbered(above, entries)}{dot}{last}"
                found.setdefault(table, number)
                if line.lstrip().startswith("[["):
                    entries[table] = entries.get(table, 0) + 1
                    table += f".{entries[table]}"
                    found[table] = number
            elif key := _KEY.match(line):
                name = _dotted(key.group(1))
                found.setdefault(f"{table}.{name}" if table else name, number)
        statement += line
        if (begins or any(end in line for end in _ENDS)) and _parses(statement):
            statement = ""
    return {k.removeprefix(prefix): n for k, n in found.items() if k.startswith(prefix)}


def _dotted(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))


def _numbered(name: str, entries: Mapping[str, int]) -> str:
    """A dotted name in which the last entry stands for each ``[[t]]``."""
    whole = ""
    for part in name.split("."):
        whole = f"{whole}.{part}".removeprefix(".")
        whole += f".{entries[whole]}" if whole in entries else ""
    return whole


def _parses(text: str) -> bool:
    try:
        tomli.loads(text)
    except tomli.TOMLDecodeError:
        return False
    return True

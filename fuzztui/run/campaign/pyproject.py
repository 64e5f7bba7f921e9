"""A campaign in ``pyproject.toml``: the tables of ``[tool.fuzztui]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

CAMPAIGN_FILE: Final = "campaign.toml"
"""The name of the campaign file that ``fuzztui init`` writes, and of the copy in a run."""
PYPROJECT: Final = "pyproject.toml"
PREFIX: Final = "tool.fuzztui."
"""What comes before the name of a table, ``[tool.fuzztui.target]``."""
NAME: Final = "fuzztui"
"""The name of files next to it: ``fuzztui.verdicts.toml``."""


def is_pyproject(file: Path) -> bool:
    """Whether a file is read as a project's, not as a campaign file."""
    return file.name == PYPROJECT


def tables_of(data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the campaign's tables; None if there are none, or they are no table."""
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

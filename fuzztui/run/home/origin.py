"""Which campaign file a run is of, or which project's tests it fuzzes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import read_json

TEST_FILE: Final = "fuzztui-test.toml"
"""The name that stands for the campaign file of ``fuzztui test``; nothing is written there."""

WRITE_EXAMPLES: Final = "fuzztui test --write-examples | patch -p1"
"""Adds the findings to the tests; in the project's root."""


def campaign_file(run: Path) -> Path | None:
    """Return the campaign file that a run was started with; None if that is unknown."""
    file = (read_json(run / "supervisor" / "origin.json") or {}).get("file")
    return Path(file) if isinstance(file, str) else None


def tested_project(file: Path | None) -> Path | None:
    """Return the root of the project whose tests ``fuzztui test`` fuzzes; None: another file."""
    return file.parent if file is not None and file.name == TEST_FILE else None

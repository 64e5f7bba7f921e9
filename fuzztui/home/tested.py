"""The runs of ``fuzztui test``: which project's tests they fuzz."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fuzztui.base.files import read_json

TEST_FILE: Final = "fuzztui-test.toml"
"""The name that stands for the campaign file of ``fuzztui test``; nothing is written there."""

WRITE_EXAMPLES: Final = "fuzztui test --write-examples | patch -p1"
"""Adds the findings to the tests; in the project's root."""


def tested_project(run: Path) -> Path | None:
    """Return the root of the project whose tests ``fuzztui test`` fuzzes; None: another run."""
    file = (read_json(run / "supervisor" / "origin.json") or {}).get("file")
    found = Path(file) if isinstance(file, str) else None
    return found.parent if found is not None and found.name == TEST_FILE else None

"""Find the campaign of a corpus."""

from __future__ import annotations

from pathlib import Path

import tomli

from fuzztui.run.campaign.files import CAMPAIGN_FILE, PYPROJECT, tables_of


def campaign_file(directory: Path) -> Path | None:
    """Return the nearest campaign file in a directory or above it; None if there is none.

    It is called ``campaign.toml``, as in a run, or is a ``pyproject.toml`` with a campaign.
    """
    for path in (directory, *directory.parents):
        if (file := path / CAMPAIGN_FILE).is_file():
            return file
        if _has_campaign(file := path / PYPROJECT):
            return file
    return None


def _has_campaign(file: Path) -> bool:
    try:
        return tables_of(tomli.loads(file.read_text(encoding="utf-8"))) is not None
    except (OSError, ValueError, RecursionError):
        return False

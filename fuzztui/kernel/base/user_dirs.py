"""The user's directories of the XDG base directory specification."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """Return the directory of fuzztui's caches. Raises OSError without a home."""
    return _user_dir("XDG_CACHE_HOME", ".cache")


def config_dir() -> Path:
    """Return the directory of the user's configuration; without a home one that does not exist."""
    try:
        return _user_dir("XDG_CONFIG_HOME", ".config")
    except OSError:
        return Path("/nonexistent/fuzztui")


def state_dir() -> Path:
    """Return the directory of what fuzztui remembers. Raises OSError without a home."""
    return _user_dir("XDG_STATE_HOME", ".local/state")


def _user_dir(variable: str, usual: str) -> Path:
    named = Path(os.environ.get(variable, ""))
    try:
        # The specification ignores relative paths.
        return (named if named.is_absolute() else Path.home() / usual) / "fuzztui"
    except RuntimeError as e:
        raise OSError(str(e)) from None

"""Other Pythons that are installed here: engines run under the interpreter of the project."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

__all__ = ["pythons"]


def pythons(*minors: int) -> list[Path]:
    """Interpreters of Python 3.MINOR, of pyenv or on PATH, other than our own environment's."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found: list[Path] = []
    for minor in minors:
        try:
            found += sorted(root.glob(f"versions/3.{minor}.*/bin/python"))
        except OSError:  # another user's home
            continue
        named = shutil.which(f"python3.{minor}")
        # A shim of pyenv's is there also where its version is not chosen.
        if named and not Path(named).is_relative_to(root):
            found.append(Path(named))
    return found

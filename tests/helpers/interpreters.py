"""Other Pythons that are installed here: engines run under the interpreter of the project.

``FUZZTUI_TEST_PYTHONS`` names them (paths, separated as in PATH); without it they are looked for
on PATH, as ``python3.12``, also behind pyenv's shims.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

VARIABLE = "FUZZTUI_TEST_PYTHONS"


def pythons(*minors: int) -> list[Path]:
    """Interpreters of Python 3.MINOR other than the one that runs the tests.

    Raises ValueError if the variable names a program that is no Python.
    """
    named = os.environ.get(VARIABLE)
    if named is not None:
        paths = [Path(name) for name in named.split(os.pathsep) if name]
        found = [path for path in paths if _minor(path) in minors]
    else:
        found = [path for minor in minors for path in _on_path(f"python3.{minor}")]
    return [path for path in found if path.parent != Path(sys.executable).parent]


def _minor(python: Path) -> int:
    """The minor version of an interpreter."""
    asked = [python, "-c", "import sys; print(sys.version_info.minor)"]
    try:
        return int(subprocess.run(asked, capture_output=True, check=True).stdout)
    except (OSError, ValueError, subprocess.CalledProcessError) as e:
        raise ValueError(f"{VARIABLE}: {str(python)!r} is not a Python interpreter") from e


def _on_path(name: str) -> list[Path]:
    """The first one on PATH; the versions behind it if it is a shim of pyenv's."""
    first = shutil.which(name)
    if not first:
        return []
    folder = Path(first).parent
    if folder.name != "shims":
        return [Path(first)]
    # A shim exists also if its version is not chosen, and then it fails.
    version = name.removeprefix("python")
    return sorted(folder.parent.glob(f"versions/{version}.*/bin/{name}"))

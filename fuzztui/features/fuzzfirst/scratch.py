"""Read input files with untrusted names, and make temporary directories for copies of them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fuzztui.kernel.base.files import read_regular
from fuzztui.run.campaign.rundir import SupervisorError

MAX_INPUT = 1 << 20
"""Maximum size of an input in bytes, as in AFL."""


def read_input(path: Path) -> bytes | None:
    """Return the content of a file; None if AFL would not accept the file as an input."""
    try:
        data = read_regular(path, MAX_INPUT + 1)
    except (OSError, ValueError):
        return None
    return data if 0 < len(data) <= MAX_INPUT else None


@contextmanager
def scratch(run: Path) -> Iterator[Path]:
    """Context manager: a temporary directory of a run.

    If this process is killed, :func:`sweep_scratch` removes it. Raises :class:`SupervisorError`.
    """
    place = _place(run)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = tempfile.TemporaryDirectory(
            prefix=f"{os.getpid()}-", dir=place, ignore_cleanup_errors=True
        )
    except OSError as e:
        raise SupervisorError(f"{e.filename or place}: {e.strerror or e}") from None
    with made as name:
        yield Path(name)


def sweep_scratch(run: Path) -> None:
    """Remove the temporary directories that an earlier supervisor of a run left."""
    for left in _place(run).glob("*-*"):
        if not left.name.startswith(f"{os.getpid()}-"):
            shutil.rmtree(left, ignore_errors=True)


def _place(run: Path) -> Path:
    return run / "mutants" / "scratch"

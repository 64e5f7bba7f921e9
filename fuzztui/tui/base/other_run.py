"""Another run's screens, in place of the present ones until the user leaves them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path


class NotOpened(Exception):
    """The screens of the other run cannot be opened; the message is for the user."""


def open_run(screen: AbstractContextManager[None], env: Mapping[str, str], run: Path) -> None:
    """Attach to a run. Blocks until the user leaves it. ``screen``: gives the terminal free.

    Raises :class:`NotOpened`.
    """
    command = [sys.executable, "-P", "-m", "fuzztui", "attach", str(run)]
    with screen:
        try:
            done = subprocess.run(command, env=env, check=False, stderr=subprocess.PIPE, text=True)
        except OSError as e:
            raise NotOpened(f"fuzztui cannot be started: {e.strerror or e}") from None
    if done.returncode and done.stderr.strip():
        raise NotOpened(done.stderr.strip().splitlines()[-1][:500])

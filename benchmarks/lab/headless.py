"""``fuzztui`` run as a command, to its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lab.runs import RunFailed

_FINDINGS = 10
"""The exit status of a campaign with findings."""


def fuzztui(*words: str | Path) -> str:
    """What the command printed. Raises :class:`RunFailed` with the end of what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "fuzztui", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode not in (0, _FINDINGS):
        raise RunFailed(f"fuzztui {words[0]}: status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout

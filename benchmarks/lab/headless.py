"""``fuzztui`` run as a command, to its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lab.runs import RunFailed, ended_by_stop

_FINDINGS = 10
"""The exit status of a campaign with findings."""


def fuzztui(*words: str | Path) -> str:
    """What the command printed. Raises :class:`RunFailed` with the end of what it said.

    ``lab.runs.stop``, or an interruption here, ends the command: a campaign is stopped then.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "fuzztui", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with ended_by_stop(process):
        out, err = process.communicate()
    if process.returncode not in (0, _FINDINGS):
        raise RunFailed(f"fuzztui {words[0]}: status {process.returncode}\n{err[-2000:]}")
    return out

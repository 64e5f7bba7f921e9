"""Judge mutants of a campaign that has ended, by the command ``fuzztui ctl``.

The command is a separate process, because the screens import nothing that writes logs.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fuzztui.tui.base.background import in_thread
from fuzztui.wire.commands import MarkEquivalent, Verdict

TIMEOUT_S = 60.0
"""Seconds for which the command may run: it reads the whole log."""


async def record_verdict(run: Path, command: Verdict) -> tuple[bool, str]:
    """Record the verdict. Returns whether it was recorded, and the command's last line."""
    arguments = [command.name, command.select]
    if isinstance(command, MarkEquivalent):
        arguments.append(f"--because={command.because}")
    # -P: a fuzztui/ in the current directory must not be imported.
    words = [sys.executable, "-P", "-m", "fuzztui", "ctl", str(run), *arguments]
    return await in_thread(lambda: _run(words))


def _run(words: list[str]) -> tuple[bool, str]:
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="backslashreplace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer within {TIMEOUT_S:.0f} s"
    except (OSError, ValueError) as e:  # ValueError: a NUL, or half a surrogate pair
        return False, str(e)
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    last = lines[-1].removeprefix("fuzztui: ").removeprefix("recorded: ") if lines else ""
    return done.returncode == 0, last or f"ended with exit status {done.returncode}"

"""Judge findings and mutants of a campaign that has ended, by the command ``fuzztui ctl``.

The command is a separate process, because the screens import nothing that writes logs.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fuzztui.kernel.wire.commands import (
    AcceptMutants,
    CountFrames,
    JudgeFinding,
    MarkEquivalent,
    OfVerdictsFile,
    SkipFrames,
    Verdict,
)
from fuzztui.tui.base.background import in_thread

TIMEOUT_S = 60.0
"""Seconds for which the command may run: it reads the whole log."""


async def record_verdict(run: Path, command: Verdict | OfVerdictsFile) -> tuple[bool, str]:
    """Record the verdict. Returns whether it was recorded, and the command's last line."""
    match command:
        case JudgeFinding():
            named = f"{command.instance}/{command.file}"
            arguments = [named, command.verdict, f"--note={command.note}"]
        case SkipFrames() | CountFrames():
            arguments = ["--", *command.rules]
        case MarkEquivalent() | AcceptMutants():
            arguments = [command.select, f"--because={command.because}"]
        case _:
            arguments = [command.select]
    return await _ctl(run, [command.name, *arguments])


async def record_undo(run: Path) -> tuple[bool, str]:
    """Undo the user's last verdict. Returns whether that was done, and the command's last line."""
    return await _ctl(run, ["undo"])


async def _ctl(run: Path, arguments: list[str]) -> tuple[bool, str]:
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

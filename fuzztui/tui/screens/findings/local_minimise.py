"""Minimise a finding without a supervisor, by the command ``fuzztui minimise``.

The command is a separate process, because the screens import nothing that runs targets.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fuzztui.tui.base.background import in_thread

MAX_LINE = 2000
"""Maximal characters of the command's output that are read as one line."""


class LocalMinimiser:
    """One run of ``fuzztui minimise`` for one finding."""

    def __init__(self, run: Path, file: Callable[[], Path]) -> None:
        """``file`` returns the path of the finding's file; may block."""
        self._run, self._file = run, file
        self._process: subprocess.Popen[str] | None = None
        self._cancelled = False

    async def run(self, progress: Callable[[str], None]) -> tuple[bool, str]:
        """Minimise; call ``progress`` with each line of the command's output.

        Returns whether a smaller input was written, and the command's last line.
        """
        last = ""
        try:
            process = await in_thread(self._start)
        except OSError as e:
            return False, f"{sys.executable}: {e.strerror}"
        except ValueError:  # a NUL, or half a surrogate pair: a log can contain any name
            return False, "the name of the finding's file is not a valid file name"
        output = process.stdout
        assert output is not None
        while line := await in_thread(lambda: output.readline(MAX_LINE)):
            if line.strip():
                last = line.strip()
                progress(last)
        code = await in_thread(process.wait)
        return code == 0, last.removeprefix("fuzztui: ") or f"ended with exit status {code}"

    def cancel(self) -> None:
        """Stop the command, which keeps the smallest input yet; called again: interrupt it."""
        self._cancelled = True
        if self._process is None or self._process.poll() is not None:
            return
        stdin = self._process.stdin
        assert stdin is not None
        if not stdin.closed:
            stdin.close()
        else:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)

    def _start(self) -> subprocess.Popen[str]:
        # -P: a fuzztui/ in the current directory must not be imported.
        command = [sys.executable, "-P", "-m", "fuzztui", "minimise", "--progress", "--until-eof"]
        self._process = subprocess.Popen(
            [*command, str(self._run), str(self._file())],
            # Open as long as this process lives: if the app ends in any way, the command ends too.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="backslashreplace",
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        if self._cancelled:  # while the command was starting
            self.cancel()
        return self._process

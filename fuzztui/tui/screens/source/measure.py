"""Measuring which entries reach which lines, by the command ``fuzztui coverage --by-line``.

The command is a separate process, because the screens import nothing that runs targets.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, Final

from fuzztui.base import ranges
from fuzztui.base.bounds import loads
from fuzztui.model.source_lines import FileLines, FirstEntry
from fuzztui.model.state import SourceRow
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.screens.source.detail import Smallest

MAX_ANSWER: Final = 64 << 20
"""Characters of the command's answer that are read."""

MAX_MESSAGE: Final = 6
"""Lines of its error message that are shown."""

SAYS: Final = "fuzztui: "
"""The start of each of its messages."""


@dataclass(slots=True)
class MeasuredLines:
    """The result: coverage by file at one time, and the smallest entry by file and line."""

    done: bool = False
    files: dict[str, FileLines] = field(default_factory=dict)
    smallest: dict[str, dict[int, Smallest]] = field(default_factory=dict)
    _first: dict[str, dict[int, FirstEntry]] = field(default_factory=dict)
    _last: float = 0.0
    """The time of the last entry that is the first of a line."""
    _t: float = -1.0

    def at(self, t: float) -> None:
        """Show the coverage as it was at campaign time ``t``."""
        if (t := min(t, self._last)) != self._t:
            self._t = t
            for path, file in self.files.items():
                file.show({n: f for n, f in self._first[path].items() if f.t <= t})

    @classmethod
    def of(cls, data: Any) -> MeasuredLines:
        """Read the command's answer. Raises ValueError, LookupError, TypeError, AttributeError."""
        found = cls(done=True)
        for path, lines in data["by_line"].items():
            row = SourceRow(str(path), 0, statements=ranges.encode(map(int, lines["statements"])))
            found.files[path] = FileLines(row)
            found._first[path] = {
                int(n): FirstEntry(str(entry), float(t)) for n, entry, t in lines["first"]
            }
            found.smallest[path] = {
                int(n): Smallest(str(entry), int(size)) for n, entry, size in lines["smallest"]
            }
        times = (f.t for of_file in found._first.values() for f in of_file.values())
        found._last = max(times, default=0.0)
        return found


class Measurement:
    """One run of the command."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._process: subprocess.Popen[str] | None = None
        self._cancelled = False

    async def run(self, progress: Callable[[str], None]) -> tuple[MeasuredLines | None, str]:
        """Measure; ``progress`` is called with each line of the command's messages.

        Returns the result (None: there is none), and why not.
        """
        said: list[str] = []
        try:
            process = await in_thread(self._start)
        except OSError as e:
            return None, f"{sys.executable}: {e.strerror}"
        output, messages = process.stdout, process.stderr
        assert output is not None
        assert messages is not None
        answer: list[str] = []
        reader = Thread(target=lambda: answer.append(output.read(MAX_ANSWER)), daemon=True)
        reader.start()
        while line := await in_thread(lambda: messages.readline(2000)):
            if text := line.strip():
                # An error may have several lines: the first one begins with the program's name.
                said = [text] if text.startswith(SAYS) else [*said, text][:MAX_MESSAGE]
                progress(text)
        code = await in_thread(process.wait)
        await in_thread(reader.join)
        if self._cancelled:
            return None, "cancelled"
        if code:
            return None, "\n".join(said).removeprefix(SAYS) or f"exit status {code}"
        try:
            return await in_thread(lambda: MeasuredLines.of(loads(answer[0]))), ""
        except (ValueError, LookupError, TypeError, AttributeError) as e:
            return None, f"the answer of fuzztui coverage is damaged: {e}"

    def cancel(self) -> None:
        """End the command."""
        self._cancelled = True
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)

    def _start(self) -> subprocess.Popen[str]:
        # -P: a fuzztui/ in the current directory must not be imported.
        command = [sys.executable, "-P", "-m", "fuzztui", "coverage", "--by-line", "--progress"]
        self._process = subprocess.Popen(
            [*command, str(self._run)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="backslashreplace",
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        if self._cancelled:  # while the command was starting
            self.cancel()
        return self._process

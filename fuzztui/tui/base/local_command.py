"""Runs a command of fuzztui in a separate process, because the screens run no targets."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import IO, Final

from fuzztui.tui.base.background import in_thread

MAX_OUTPUT: Final = 64 << 20
"""Characters of the command's output that are read."""
MAX_LINE: Final = 2000
"""Maximal characters of the command's messages that are read as one line."""
MAX_MESSAGE: Final = 6
"""Lines of a message that are kept."""
MESSAGE_PREFIX: Final = "fuzztui: "
"""Each message begins with it."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command has ended."""

    status: int
    """The exit status; -N: the command was ended by signal N; -1 also if it could not start."""
    output: str = ""
    message: str = ""
    """The command's last message, or why it could not start; an empty string: there is none."""


class LocalCommand:
    """One run of a command, which ends with this process if it has the option ``--until-eof``."""

    def __init__(self, arguments: Callable[[], Sequence[str]], *, until_eof: bool = True) -> None:
        """``arguments`` returns name and arguments of the command; may block.

        ``until_eof``: the command has that option; others end by an interrupt only.
        """
        self._arguments = arguments
        self._until_eof = until_eof
        self._process: subprocess.Popen[str] | None = None
        self.cancelled = False

    async def run(self, progress: Callable[[str], None]) -> CommandResult:
        """Run the command; ``progress`` is called with each line of its messages."""
        try:
            return await self._run(progress)
        except asyncio.CancelledError:  # the user left, maybe before it started
            self.cancel()
            raise

    async def _run(self, progress: Callable[[str], None]) -> CommandResult:
        try:
            process = await in_thread(self._start)
        except OSError as e:
            return CommandResult(-1, message=f"{sys.executable}: {e.strerror}")
        except ValueError:  # a NUL, or half a surrogate pair: a log can contain any name
            return CommandResult(-1, message="the name of a file is not a valid file name")
        except Exception as e:  # of ``arguments``
            return CommandResult(-1, message=f"{type(e).__name__}: {e}")
        return await _ended(process, progress)

    def cancel(self) -> None:
        """Ask the command to stop by the end of its stdin; called again, or if it has no such
        option: interrupt it.
        """
        self.cancelled = True
        if self._process is None or self._process.poll() is not None:
            return
        stdin = self._process.stdin
        assert stdin is not None
        if self._until_eof and not stdin.closed:
            stdin.close()
        else:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)

    def _start(self) -> subprocess.Popen[str]:
        until_eof = ["--until-eof"] * self._until_eof
        self._process = subprocess.Popen(
            # -P: a fuzztui/ in the current directory must not be imported.
            [sys.executable, "-P", "-m", "fuzztui", *self._arguments(), *until_eof],
            # Open as long as this process lives: if the app ends in any way, the command ends too.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="backslashreplace",
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        if self.cancelled:  # while the command was starting
            self.cancel()
        return self._process


async def _ended(process: subprocess.Popen[str], progress: Callable[[str], None]) -> CommandResult:
    output, messages = process.stdout, process.stderr
    assert output is not None
    assert messages is not None
    read: list[str] = []
    reader = Thread(target=_read, args=(output, read), daemon=True)
    reader.start()
    last: list[str] = []
    while line := await in_thread(lambda: messages.readline(MAX_LINE)):
        if text := line.strip():
            last = [text] if text.startswith(MESSAGE_PREFIX) else [*last, text][:MAX_MESSAGE]
            progress(text)
    status = await in_thread(process.wait)
    await in_thread(reader.join)
    if process.stdin is not None:
        process.stdin.close()
    return CommandResult(status, "".join(read), "\n".join(last).removeprefix(MESSAGE_PREFIX))


def _read(output: IO[str], to: list[str]) -> None:
    """Read the output up to the limit; then the command cannot write any more, and ends."""
    with output:
        to.append(output.read(MAX_OUTPUT))

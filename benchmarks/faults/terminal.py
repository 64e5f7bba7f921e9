"""A screen in a pseudo-terminal that remembers which terminal modes were left switched on."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

ALTERNATE, CURSOR = 1049, 25

_LEFT = {
    47: "alternate screen", 1047: "alternate screen", ALTERNATE: "alternate screen",
    1000: "mouse", 1002: "mouse", 1003: "mouse", 1006: "mouse", 1015: "mouse", 1016: "mouse",
    1004: "focus reports", 2004: "bracketed paste",
}  # fmt: skip
"""Private modes that make a shell unusable, or unreadable, if they stay on."""

_MODE = re.compile(rb"\x1b\[(?:\?([\d;]+)([hl])|([<>])(\d*)u)")
_REST = 64
"""Bytes of the output that are looked at again: a sequence may come in two reads."""


class Screen:
    """A program in a pseudo-terminal of 120 columns."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        self._master, self._slave = os.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._before = termios.tcgetattr(self._slave)
        self._modes: dict[int, bool] = {}
        self._keyboard = 0
        self.drawn = 0
        """Bytes that the screen has written."""
        self.process = subprocess.Popen(
            command, stdin=self._slave, stdout=self._slave, stderr=self._slave, cwd=cwd,
            env={**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 (one ioctl, no lock)
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def shown(self) -> bool:
        """Whether the program has taken the terminal over and has drawn something."""
        return self._modes.get(ALTERNATE, False) and self.drawn > 4000

    def left_behind(self) -> list[str]:
        """What the program has not restored, as text. Call it when the program has ended."""
        found = {text for mode, text in _LEFT.items() if self._modes.get(mode)}
        if not self._modes.get(CURSOR, True):
            found.add("cursor hidden")
        if self._keyboard > 0:
            found.add("keyboard protocol")
        if termios.tcgetattr(self._slave) != self._before:
            found.add("line settings")
        return sorted(found)

    def drain(self) -> None:
        """Wait until everything that the ended program wrote was read."""
        while select.select([self._master], [], [], 0.2)[0]:
            time.sleep(0.02)

    def cut(self) -> None:
        """Close the terminal, as a lost connection does (SIGHUP to the program)."""
        for descriptor in (self._slave, self._master):
            with suppress(OSError):
                os.close(descriptor)

    def _read(self) -> None:
        rest = b""
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return
            if not data:
                return
            self.drawn += len(data)
            rest = self._take(rest + data)

    def _take(self, data: bytes) -> bytes:
        end = 0
        for match in _MODE.finditer(data):
            end = match.end()
            if match[1]:
                for number in match[1].split(b";"):
                    if number:
                        self._modes[int(number)] = match[2] == b"h"
            else:
                self._keyboard += 1 if match[3] == b">" else -max(1, int(match[4] or 1))
        return data[max(end, len(data) - _REST) :]


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)

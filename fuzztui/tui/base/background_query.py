"""Whether the terminal's background is light: asks the terminal (OSC 11), or reads COLORFGBG.

The answer may come late, over a slow line even after the screens were opened. None of its bytes may
reach the application as keys, or the shell as a command: :class:`Answers` removes them from all
input, before the application starts and while it runs. A second question, for the terminal's
attributes (DA1), ends the waiting: all terminals answer it, and in the order of the questions.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from threading import Event
from typing import Any

QUESTION = b"\x1b]11;?\x1b\\\x1b[c"

WAIT_S = 0.15
"""Seconds for which the screens wait for the answer before they open."""

LATE_S = 2.0
"""Seconds after the question in which the screens, when they close, still wait for the answer."""

HELD_TICKS = 10
"""Pauses in the input after which the rest of a half answer is no longer expected."""

_MAX = 64
"""Maximal bytes of an answer's content."""

_BACKGROUND = rb"\x1b\]11;([^\x07\x1b]{0,%d})(?:\x07|\x1b\\)" % _MAX
_ATTRIBUTES = rb"\x1b\[\?[\d;]{0,%d}c" % _MAX
_ANSWER = re.compile(rb"%b|(%b)" % (_BACKGROUND, _ATTRIBUTES))
_HALF = re.compile(
    rb"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b]{0,%d}\x1b?)?)?)?|\[(?:\?[\d;]{0,%d})?)?\Z" % (_MAX, _MAX)
)
_COLOR = re.compile(
    rb"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})(?:/[0-9a-f]{1,4})?", re.IGNORECASE
)
_HASH = re.compile(rb"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})", re.IGNORECASE)

_MUTE = frozenset({"", "dumb", "linux", "unknown"})
"""TERM of terminals that print questions, or never answer them."""

_LIGHT_COLORS = frozenset({"7", "9", "10", "11", "12", "13", "14", "15"})
"""Light colours of the 16 that COLORFGBG names."""


class Answers:
    """Removes the answers from input, which may come in pieces."""

    def __init__(self) -> None:
        self.light: bool | None = None
        """None: the terminal has not reported its background."""
        self.complete = Event()
        """Set when no further answer will come."""
        self._held = b""
        self._ticks = 0

    def feed(self, data: bytes) -> bytes:
        """Return ``data`` without answers. The start of one at the end is held back."""
        self._ticks = 0
        data = _ANSWER.sub(self._take, self._held + data)
        half = _HALF.search(data)
        self._held = data[half.start() :] if half else b""
        return data[: half.start()] if half else data

    def tick(self) -> bytes:
        """Return what was held back and is no answer, as no more input comes for now."""
        held = self._held
        self._ticks += 1
        if len(held) > 2 and self._ticks < HELD_TICKS:
            return b""
        self._held = b""
        return b"" if len(held) > 2 else held  # no key sends the start of an answer

    def _take(self, match: re.Match[bytes]) -> bytes:
        if match[2] is not None:
            self.complete.set()
        elif (light := is_light(match[1])) is not None:
            self.light = light
        return b""


def is_light(color: bytes) -> bool | None:
    """Return whether a colour of an OSC 11 answer is light; None if it is no colour."""
    match = _COLOR.fullmatch(color) or _HASH.fullmatch(color)
    if match is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
    return bool(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)


def light_by_variable(env: Mapping[str, str]) -> bool | None:
    """Return whether the background in COLORFGBG (last in "15;0") is light; None: unknown."""
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    return background in _LIGHT_COLORS if background.isdecimal() else None


class BackgroundQuery:
    """One question to the terminal, from :func:`asked` until the screens have closed."""

    def __init__(self, fd: int, attributes: list[Any]) -> None:
        self._fd = fd
        self.answers = Answers()
        self.typed = b""
        """Input that came while :meth:`wait` read the answer: the user's keys."""
        self.on_late: Callable[[bool], None] = lambda _: None
        """Called by the thread that reads the input when the answer comes late."""
        self._before: list[Any] | None = attributes
        self._asked = time.monotonic()

    def wait(self, seconds: float = WAIT_S) -> bool | None:
        """Wait for the answer. Returns whether the background is light; None: not known yet."""
        until = time.monotonic() + seconds
        while not self.answers.complete.is_set() and (left := until - time.monotonic()) > 0:
            if not select.select([self._fd], [], [], left)[0]:
                break
            try:
                data = os.read(self._fd, 4096)
            except OSError:
                data = b""
            if not data:  # the terminal is gone
                break
            self.typed += self.answers.feed(data)
        return self.answers.light

    def feed(self, data: bytes) -> bytes:
        """Take input of the running application. Returns it without answers."""
        known = self.answers.light
        data = self.answers.feed(data)
        if self.answers.light is not None and self.answers.light is not known:
            self.on_late(self.answers.light)
        return data

    def wait_at_end(self) -> None:
        """Wait for an answer that may still come, while another thread reads the input."""
        left = self._asked + LATE_S - time.monotonic()
        if left > 0:
            self.answers.complete.wait(left)

    def take_attributes(self) -> list[Any] | None:
        """Return the terminal's attributes before the question; None at later calls.

        The caller must restore them.
        """
        before, self._before = self._before, None
        return before


@contextlib.contextmanager
def asked(env: Mapping[str, str], fd: int, screen: int) -> Iterator[BackgroundQuery | None]:
    """Ask the terminal at ``screen``, which answers at ``fd``; None if it would not answer.

    The terminal then shows no input, until the application sets its attributes. At the end they
    are restored if no application took them.
    """
    attributes = _attributes(env, fd)
    if attributes is None:
        yield None
        return
    query = BackgroundQuery(fd, attributes)
    silent = [*attributes]
    silent[3] &= ~(termios.ICANON | termios.ECHO)
    try:
        termios.tcsetattr(fd, termios.TCSANOW, silent)
        if select.select([], [screen], [], 0)[1]:
            os.write(screen, QUESTION)
        yield query
    finally:
        if (before := query.take_attributes()) is not None:
            query.wait(max(0.0, query._asked + LATE_S - time.monotonic()))
            with contextlib.suppress(termios.error):
                termios.tcsetattr(fd, termios.TCSANOW, before)


def _attributes(env: Mapping[str, str], fd: int) -> list[Any] | None:
    """The attributes of a terminal that can be asked; None if this is none."""
    if env.get("TERM", "") in _MUTE:
        return None
    # In the background, setting attributes would stop the process.
    with contextlib.suppress(OSError):  # not the controlling terminal: nothing is stopped
        if os.tcgetpgrp(fd) != os.getpgrp():
            return None
    try:
        return termios.tcgetattr(fd)
    except termios.error:
        return None

"""Progress of slow commands: a line on the terminal; messages with seconds since the start."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import Self

from fuzztui.cli.output import duration, say
from fuzztui.kernel.base.text import visible

_EVERY_S = 0.1
_SHOWN_FROM_S = 1.0
_ROUNDED_S = 90.0
_DOUBT = 4.0
_SURE = 1.3
"""Factor of doubt below which an estimate is shown as one number, and not as a range."""


class Counter:
    """A progress line on stderr, if stderr is a terminal; rewritten at most ten times a second.

    As a context manager, the line is cleared at the end. ``lines``: print a separate line at most
    once a second, also if stderr is no terminal: for a program that reads stderr.
    """

    def __init__(self, *, lines: bool = False) -> None:
        self._lines = lines
        self._on = sys.stderr is not None and (lines or sys.stderr.isatty())
        self._due = 0.0
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def show(self, what: str, done: int, of: int = 0) -> None:
        """Show ``done``, and the total ``of`` (0: unknown), if an update is due."""
        self.show_text(f"{what}: {done:,} of {of:,}" if of else f"{what}: {done:,}")

    def show_text(self, text: str) -> None:
        """Show a text if an update is due."""
        if self._on and time.monotonic() >= self._due:
            self._due = time.monotonic() + (1.0 if self._lines else _EVERY_S)
            self.show_now(text)

    def show_now(self, text: str) -> None:
        """Show a text at once."""
        if self._lines:
            say(text)
        elif self._on:
            self._shown = True
            print(f"\r\x1b[K{visible(text)}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Clear the line, if it is shown."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def time_left(spent_s: float, done: int, left: int) -> str:
    """Format the time left: ", 12s left", or ", 1m to 4m left" while few steps are done.

    An empty string at first. Steps differ much: the mean of n steps may be wrong by a factor of
    about 1 + 4 / sqrt(n).
    """
    if spent_s < _SHOWN_FROM_S or done <= 0:
        return ""
    seconds, doubt = spent_s * left / done, 1 + _DOUBT / done**0.5
    if doubt < _SURE:
        return f", {duration(seconds)} left"
    return f", {_rounded(seconds / min(doubt, 3))} to {_rounded(seconds * doubt)} left"


def _rounded(seconds: float) -> str:
    return duration(seconds) if seconds < _ROUNDED_S else f"{seconds / 60:.0f}m"


class Estimate(Counter):
    """A counter for long work: shown after a second, with the estimated time left."""

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, *, lines: bool = False
    ) -> None:
        super().__init__(lines=lines)
        self._monotonic = monotonic
        self._since = monotonic()
        self._done = -1

    def show(self, what: str, done: int, of: int = 0) -> None:
        """Show ``done`` of ``of``, and the time left at the average speed."""
        now = self._monotonic()
        if self._done < 0:
            self._done, self._since = done, now
        left = time_left(now - self._since, done - self._done, of - done)
        self.show_text(f"{what}: {done:,} of {of:,}{left}")

    def show_text(self, text: str) -> None:
        """Show a text, for work whose progress is unknown."""
        if self._monotonic() - self._since >= _SHOWN_FROM_S:
            super().show_text(text)


PROGRESS_EVERY_S = 10.0
"""Seconds between two progress lines if stderr is not a terminal."""


class TextLine:
    """One progress line, rewritten, on a terminal; otherwise a message every ``every_s``."""

    def __init__(self, every_s: float) -> None:
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._every_s = every_s
        self._due = 0.0

    def show(self, text: str) -> None:
        """Show a text, or leave it out if a message is not due."""
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{visible(text)[:width]}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() >= self._due:
            self._due = time.monotonic() + self._every_s
            say(text)

    def clear(self) -> None:
        """Clear the line."""
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


SILENT_S = 1.0
"""Seconds without a message after which the elapsed seconds are shown."""


class Waiting:
    """Prints messages; on a terminal a line below counts the seconds.

    A compiler may be silent for minutes: the count shows that the command still works. If stderr is
    not a terminal, only the messages are printed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._began = self._last_message = time.monotonic()
        self._shown = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty():
            self._thread = threading.Thread(target=self._count, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._erase()

    def __call__(self, message: str) -> None:
        """Print a message."""
        with self._lock:
            self._erase()
            say(message)
            self._last_message = time.monotonic()

    def _count(self) -> None:
        while not self._over.wait(SILENT_S / 2):
            with self._lock:
                now = time.monotonic()
                if self._shown or now - self._last_message >= SILENT_S:
                    self._show(now)

    def _show(self, now: float) -> None:
        print(f"\r\x1b[K{now - self._began:.0f} s", end="", file=sys.stderr, flush=True)
        self._shown = True

    def _erase(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = False

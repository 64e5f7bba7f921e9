"""A line on the terminal that shows the progress of a command."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from fuzztui.base.text import visible
from fuzztui.cli.output import duration

_EVERY_S = 0.1
_SHOWN_FROM_S = 1.0


class Counter:
    """A progress line on stderr, if stderr is a terminal; rewritten at most ten times a second."""

    def __init__(self) -> None:
        self._on = sys.stderr is not None and sys.stderr.isatty()
        self._due = 0.0

    def show(self, what: str, done: int, of: int = 0) -> None:
        """Show ``done``, and the total ``of`` (0: unknown), if an update is due."""
        self.show_text(f"{what}: {done:,} of {of:,}" if of else f"{what}: {done:,}")

    def show_text(self, text: str) -> None:
        """Show a text if an update is due."""
        if self._on and time.monotonic() >= self._due:
            self._due = time.monotonic() + _EVERY_S
            self.show_now(text)

    def show_now(self, text: str) -> None:
        """Show a text at once."""
        if self._on:
            print(f"\r\x1b[K{visible(text)}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Clear the line."""
        if self._on:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class Estimate:
    """A :class:`Counter` for long work: shown after a second, with the estimated time left."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._counter = Counter()
        self._monotonic = monotonic
        self._since = monotonic()
        self._done = -1
        self._shown = False

    def show(self, what: str, done: int, of: int) -> None:
        """Show ``done`` of ``of``, and the time left at the average speed."""
        now = self._monotonic()
        if self._done < 0:
            self._done, self._since = done, now
        spent, part = now - self._since, done - self._done
        if spent < _SHOWN_FROM_S:
            return
        self._shown = True
        left = f", {duration(spent * (of - done) / part)} left" if part > 0 else ""
        self._counter.show_text(f"{what}: {done:,} of {of:,}{left}")

    def show_text(self, text: str) -> None:
        """Show a text, for work whose progress is unknown."""
        if self._monotonic() - self._since >= _SHOWN_FROM_S:
            self._shown = True
            self._counter.show_text(text)

    def clear(self) -> None:
        """Clear the line, if it is shown."""
        if self._shown:
            self._counter.clear()

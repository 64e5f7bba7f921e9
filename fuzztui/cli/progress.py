"""One line on the terminal that tells how far a command is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from fuzztui.base.text import visible
from fuzztui.cli.output import duration

__all__ = ["Counter", "Estimate"]

_EVERY_S = 0.1
_SHOWN_FROM_S = 1.0


class Counter:
    """Rewrites its line (on stderr, if that is a terminal) at most ten times a second."""

    def __init__(self) -> None:
        self._on = sys.stderr is not None and sys.stderr.isatty()
        self._due = 0.0

    def show(self, what: str, done: int, of: int = 0) -> None:
        """Say how far it is."""
        self.due_words(f"{what}: {done:,} of {of:,}" if of else f"{what}: {done:,}")

    def due_words(self, what: str) -> None:
        """As :meth:`words`, if the line has stood for long enough."""
        if self._on and time.monotonic() >= self._due:
            self._due = time.monotonic() + _EVERY_S
            self.words(what)

    def words(self, what: str) -> None:
        """Say what it is at, at once."""
        if self._on:
            print(f"\r\x1b[K{visible(what)}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Leave the line empty."""
        if self._on:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class Estimate:
    """A :class:`Counter` for long work: shown after a second, with the time left."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._counter = Counter()
        self._monotonic = monotonic
        self._since = monotonic()
        self._done = -1
        self._shown = False

    def show(self, what: str, done: int, of: int) -> None:
        """Say how far it is, and how long the rest takes at the speed so far."""
        now = self._monotonic()
        if self._done < 0:
            self._done, self._since = done, now
        spent, part = now - self._since, done - self._done
        if spent < _SHOWN_FROM_S:
            return
        self._shown = True
        left = f", {duration(spent * (of - done) / part)} left" if part > 0 else ""
        self._counter.due_words(f"{what}: {done:,} of {of:,}{left}")

    def words(self, what: str) -> None:
        """Say what it is at, where nothing says how far."""
        if self._monotonic() - self._since >= _SHOWN_FROM_S:
            self._shown = True
            self._counter.due_words(what)

    def clear(self) -> None:
        """Leave the line empty, if there is one."""
        if self._shown:
            self._counter.clear()

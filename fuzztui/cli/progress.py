"""One line on the terminal that tells how far a command is."""

from __future__ import annotations

import sys
import time

from fuzztui.wire.text import visible

__all__ = ["Counter"]

_EVERY_S = 0.1


class Counter:
    """Rewrites its line (on stderr, if that is a terminal) at most ten times a second."""

    def __init__(self) -> None:
        self._on = sys.stderr is not None and sys.stderr.isatty()
        self._due = 0.0

    def show(self, what: str, done: int, of: int = 0) -> None:
        """Say how far it is."""
        if self._on and time.monotonic() >= self._due:
            self._due = time.monotonic() + _EVERY_S
            self.words(f"{what}: {done:,} of {of:,}" if of else f"{what}: {done:,}")

    def words(self, what: str) -> None:
        """Say what it is at, at once."""
        if self._on:
            print(f"\r\x1b[K{visible(what)}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Leave the line empty."""
        if self._on:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

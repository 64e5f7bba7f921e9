"""What the person at a terminal sees while something takes its time: that it continues."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

from fuzztui.cli.output import say

__all__ = ["Waiting"]

SILENT_S = 1.0
"""After so long without a word the seconds are counted."""


class Waiting:
    """Says words as they come; on a terminal a line below them counts the seconds.

    A compiler may be silent for minutes, and nobody knows then whether anything happens. Where
    it is no terminal, or a log of one, the words are all there is.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._began = self._said = time.monotonic()
        self._shown = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty():
            self._thread = threading.Thread(target=self._count, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._erase()

    def __call__(self, words: str) -> None:
        """Something is being done, or has said something."""
        with self._lock:
            self._erase()
            say(words)
            self._said = time.monotonic()

    def _count(self) -> None:
        while not self._over.wait(SILENT_S / 2):
            with self._lock:
                now = time.monotonic()
                if self._shown or now - self._said >= SILENT_S:
                    self._show(now)

    def _show(self, now: float) -> None:
        print(f"\r\x1b[K{now - self._began:.0f} s", end="", file=sys.stderr, flush=True)
        self._shown = True

    def _erase(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = False

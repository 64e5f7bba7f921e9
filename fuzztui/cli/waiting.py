"""Show messages of slow work, and on a terminal the seconds since its start."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

from fuzztui.cli.output import say

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

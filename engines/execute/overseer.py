"""End a child process that takes too long or stays stopped, while the caller reads its output."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from fuzztui.engines.execute.forks import StopWatch

_LOOK_S: Final = 0.2


def stopped_text(signal_name: str) -> str:
    """The message about a process that was stopped by a signal while it ran the target."""
    return f"the target stopped its own process ({signal_name})"


class Overseer:
    """Watches a child of this process in a thread, from now until :meth:`close`."""

    def __init__(self, pid: int, end: Callable[[], object], limit_s: float = 0.0) -> None:
        """``end`` is called in the thread to kill the child. ``limit_s``: seconds; 0: no limit."""
        self.why = ""
        """Why the child was ended, as a message; empty if it was not ended."""
        self._stops, self._end, self._limit_s = StopWatch(pid), end, limit_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching. Must be called before the child is reaped, except by ``Popen.wait``."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        looks = 0
        while not self._over.wait(_LOOK_S):
            looks += 1
            if name := self._stops.look():
                self.why = stopped_text(name)
            elif self._limit_s and looks * _LOOK_S > self._limit_s:
                self.why = f"no answer within {self._limit_s:g} s"
            if self.why:
                self._end()
                return

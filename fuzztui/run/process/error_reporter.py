"""Report unexpected errors in the log, each kind once."""

from __future__ import annotations

from collections.abc import Callable

from fuzztui.kernel.wire.events import Event, Message

_MAX_ERRORS = 20


class ErrorReporter:
    """Records each kind of error once, because it may occur ten times per second.

    :param where: the part of the program, for the message.
    :param more: where the user finds details; an empty string if nowhere.
    """

    def __init__(self, where: str, more: str, record: Callable[[Event], object]) -> None:
        self._where, self._more, self._record = where, more, record
        self._reported: set[str] = set()

    def report(self, error: Exception) -> bool:
        """Record a message about ``error``. Returns False if it was reported, or too many were."""
        text = f"{type(error).__name__}: {error}"
        if text in self._reported or len(self._reported) >= _MAX_ERRORS:
            return False
        self._reported.add(text)
        more = f"; {self._more}" if self._more else ""
        self._record(Message("error", f"{self._where}: {text}{more}"))
        return True

"""Errors that nobody foresaw, as the log tells of them."""

from __future__ import annotations

from collections.abc import Callable

from fuzztui.wire.events import Event, Message

__all__ = ["ErrorReporter"]

_MAX_ERRORS = 20


class ErrorReporter:
    """Tells each kind of error once: it may come ten times a second.

    :param where: what was being done, in words.
    :param more: where more is said about it; "" where nowhere.
    """

    def __init__(self, where: str, more: str, record: Callable[[Event], object]) -> None:
        self._where, self._more, self._record = where, more, record
        self._reported: set[str] = set()

    def report(self, error: Exception) -> bool:
        """Record a message about ``error``; False where that has been told, or enough has."""
        words = f"{type(error).__name__}: {error}"
        if words in self._reported or len(self._reported) >= _MAX_ERRORS:
            return False
        self._reported.add(words)
        more = f"; {self._more}" if self._more else ""
        self._record(Message("error", f"{self._where}: {words}{more}"))
        return True

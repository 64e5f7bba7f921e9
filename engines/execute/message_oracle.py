"""The message oracle: an exception whose text matches a pattern is a failure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from fuzztui.engines.execute.failures import qualified
from fuzztui.engines.instrument.guard import TrialTimeout

_MAX_SEARCHED: Final = 10_000
_MAX_TEXT: Final = 80
_NUMBER: Final = re.compile(r"\d+")
_CHANCE: Final = (
    (re.compile(r"0x[0-9a-fA-F]+"), "#x#"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "#-#-#-#-#"),
    (re.compile(r"\btmp[a-z0-9_]{8}\b"), "tmp#"),
)
"""Addresses, UUIDs and names of temporary files; older versions replaced digits only."""


def without_numbers(text: str, *, digits_only: bool = False) -> str:
    """Make a text comparable: on one line, at most 80 characters, numbers replaced by ``#``.

    Addresses, UUIDs and temporary names are replaced too, unless ``digits_only``.
    """
    text = " ".join(text.split())
    for pattern, word in () if digits_only else _CHANCE:
        text = pattern.sub(word, text)
    return _NUMBER.sub("#", text)[:_MAX_TEXT]


class MessageOracle:
    """Searches a pattern in the class and message of exceptions."""

    def __init__(self, pattern: str) -> None:
        """``pattern``: a regular expression. Raises ``re.error``."""
        self._pattern = re.compile(pattern)
        self.log_message: Callable[[str, str], None] | None = None
        """Called once, with level and text, when a search takes too long."""

    def search(self, error: BaseException) -> tuple[str, str]:
        """Search ``package.Class: message``, for builtin exceptions ``Class: message``.

        Returns the match by :func:`without_numbers`, and its form in older versions; both are empty
        if nothing matches. Calls the target's ``__str__``, so must be called under the guard.
        Raises ``TrialTimeout``.
        """
        name = qualified(type(error))
        try:
            found = self._pattern.search(f"{name}: {error}"[:_MAX_SEARCHED])
        except TrialTimeout:
            raise
        except BaseException:  # __str__ failed: there is no message
            return "", ""
        if found is None:
            return "", ""
        text = found[0]
        return without_numbers(text) or name, without_numbers(text, digits_only=True) or name

    def warn_of_slow_search(self) -> None:
        """Warn, once, that a search did not end in time."""
        if self.log_message is not None:
            self.log_message(
                "warning",
                "oracle.message: a message could not be searched in time and counts as harmless;"
                " simplify the pattern, unless the exception's __str__ is slow",
            )
            self.log_message = None

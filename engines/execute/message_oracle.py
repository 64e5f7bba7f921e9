"""Messages that are bugs, whatever is raised: a compiler's "internal error"."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from fuzztui.engines.execute.failures import qualified
from fuzztui.engines.instrument.guard import TrialTimeout

__all__ = ["MessageOracle", "without_numbers"]

_TEXT: Final = 10_000
_SAID: Final = 80
_NUMBER: Final = re.compile(r"\d+")
_CHANCE: Final = (
    (re.compile(r"0x[0-9a-fA-F]+"), "#x#"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "#-#-#-#-#"),
    (re.compile(r"\btmp[a-z0-9_]{8}\b"), "tmp#"),
)
"""Addresses, UUIDs and names of temporary files. Older versions replaced the digits alone."""


def without_numbers(text: str, *, digits_only: bool = False) -> str:
    """On one line, numbers replaced: line numbers and sizes are the input's, not the cause's.

    So are addresses and names that are made up at each run, unless ``digits_only``.
    """
    text = " ".join(text.split())
    for pattern, word in () if digits_only else _CHANCE:
        text = pattern.sub(word, text)
    return _NUMBER.sub("#", text)[:_SAID]


class MessageOracle:
    """Looks for a pattern in an exception's class and message."""

    def __init__(self, pattern: str) -> None:
        """A regular expression, searched for. Raises ``re.error``."""
        self._search = re.compile(pattern).search
        self.say: Callable[[str, str], None] | None = None
        """Is told, once, that the search takes too long."""

    def said(self, error: BaseException) -> tuple[str, str]:
        """What matched: on one line, numbers replaced, at most 80 characters; "" if nothing.

        The second text is the same as older versions had it.
        The text is ``package.Class: message``, builtins without their package. Calls the
        target's ``__str__``, so only under the guard, whose timeout it lets through.
        """
        name = qualified(type(error))
        try:
            found = self._search(f"{name}: {error}"[:_TEXT])
        except TrialTimeout:
            raise
        except BaseException:  # a __str__ that fails has no message
            return "", ""
        if found is None:
            return "", ""
        text = found[0]
        return without_numbers(text) or name, without_numbers(text, digits_only=True) or name

    def was_slow(self) -> None:
        """A message was not searched to its end: then it says nothing."""
        if self.say is not None:
            self.say(
                "warning",
                "oracle.message: a message could not be searched in time and counts as harmless:"
                " the pattern has too many ways to match, or the exception's __str__ is slow",
            )
            self.say = None

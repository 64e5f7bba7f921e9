"""Quotes names that a target chose for a user's shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

_LETTERS = {0x07: "\\a", 0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r", 0x27: "\\'", 0x5C: "\\\\"}


def word(text: str) -> str:
    """Return ``text`` as one word of a POSIX shell that is safe to paste.

    The terminal would act on unprintable characters when they are pasted: a text with any is
    written as ``$'...'`` (bash, zsh, ksh), byte by byte.
    """
    if text.isprintable():
        return shlex.quote(text)
    # File names that are not UTF-8 come as surrogates; other surrogates are encoded as they are.
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", "surrogatepass")
    return "$'" + "".join(_escaped(byte) for byte in data) + "'"


def _escaped(byte: int) -> str:
    if byte in _LETTERS:
        return _LETTERS[byte]
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"


def command(words: Iterable[str]) -> str:
    """Return a command line of these words."""
    return " ".join(word(text) for text in words)


def path(text: str) -> str:
    """Return a path, quoted only if it contains unprintable characters."""
    return text if text.isprintable() else word(text)

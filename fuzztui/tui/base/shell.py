"""Words for a user's shell, made from names that a target chose."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

_LETTERS = {0x07: "\\a", 0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r", 0x27: "\\'", 0x5C: "\\\\"}


def word(text: str) -> str:
    """``text`` as one word of a POSIX shell, fit to be pasted.

    What is not printable would be acted on by the terminal that it is pasted into:
    such a word is written in the form of ``$'...'`` (bash, zsh, ksh), byte by byte.
    """
    if text.isprintable():
        return shlex.quote(text)
    # File names that are not UTF-8 come as surrogates; any other half of a pair as it is.
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
    """A command line of these words."""
    return " ".join(word(text) for text in words)


def path(text: str) -> str:
    """A path as it is; quoted only when it could not be pasted otherwise."""
    return text if text.isprintable() else word(text)

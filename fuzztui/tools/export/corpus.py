"""Corpus directories of other fuzzers: plain files named by their hash, and Go's text files.

A file of Go has a line ``go test fuzz v1``, and a line for each argument: ``[]byte("...")``,
``string("...")``.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

GO: Final = "go"
FORMATS: Final = ("libfuzzer", GO)
_HEAD: Final = b"go test fuzz v1"

_ESCAPES: Final = dict(zip("abfnrtv\\'\"", b"\a\b\f\n\r\t\v\\'\"", strict=True))
_VALUE: Final = re.compile(r"""(\[\]byte|string)\((?:"((?:[^"\\]|\\.)*)"|`([^`]*)`)\)""")
_PARTS: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|([^\\]+)", re.S
)


class NoInput(Exception):
    """A file has no input for a target of one argument; the message says why."""


def name_of(data: bytes, format_: str) -> str:
    """The name that a corpus of this format gives an input."""
    if format_ == GO:
        return hashlib.sha256(data).hexdigest()[:16]
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def encoded(data: bytes, format_: str, *, text: bool = False) -> bytes:
    """The content of the input's file. ``text``: the target takes text (Go: ``string``)."""
    if format_ != GO:
        return data
    quoted = "".join(_go_byte(b) for b in data)
    kind = "string" if text else "[]byte"
    return _HEAD + f'\n{kind}("{quoted}")\n'.encode("ascii")


def _go_byte(b: int) -> str:
    if b in (34, 92):
        return f"\\{chr(b)}"
    if b == 10:
        return "\\n"
    return chr(b) if 32 <= b < 127 else f"\\x{b:02x}"


def decoded(content: bytes) -> bytes:
    """The input in a file of either format. Raises :class:`NoInput`."""
    head, newline, rest = content.partition(b"\n")
    if head.strip() != _HEAD or not newline:
        return content
    try:
        lines = [line.strip() for line in rest.decode("utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise NoInput("is no UTF-8 after 'go test fuzz v1'") from None
    if len(lines) != 1:
        raise NoInput(f"has {len(lines)} values; a target takes one")
    found = _VALUE.fullmatch(lines[0])
    if found is None:
        raise NoInput("its value is neither []byte nor string")
    return found[3].encode() if found[3] is not None else _unquoted(found[2])


def _unquoted(text: str) -> bytes:
    made = bytearray()
    for hexa, octal, short, long, single, plain in _PARTS.findall(text):
        if hexa or octal:
            made.append(int(hexa, 16) if hexa else int(octal, 8) & 255)
        elif short or long:
            number = int(short or long, 16)
            if number > 0x10FFFF or 0xD800 <= number < 0xE000:
                raise NoInput("has an escape that is no character")
            made += chr(number).encode()
        elif single:
            if single not in _ESCAPES:
                raise NoInput("has an unknown escape")
            made.append(_ESCAPES[single])
        else:
            made += plain.encode()
    return bytes(made)

"""Lay out a ``repr()`` on several lines by its brackets. Pure text: nothing is evaluated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_TOKEN = re.compile(
    r"""
      '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*"   # a string
    | [\[\](){}] | ,\s*                       # a bracket; the end of an item
    | [^\[\](){},'"]+ | .                     # anything else
    """,
    re.DOTALL | re.VERBOSE,
)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_INDENT: Final = 2
MAX_LINES: Final = 2000


@dataclass(slots=True)
class _Open:
    """A bracket that is not closed yet. ``split``: its items have lines of their own."""

    closing: str
    split: bool


def laid_out(text: str, width: int) -> list[str]:
    """Return ``text`` in lines of about ``width`` characters, at most :data:`MAX_LINES`.

    A group in brackets without room in its line gets one line for each of its items. A string is
    never broken. Brackets may be unbalanced: the text may have been cut.
    """
    tokens = [match[0] for match in _TOKEN.finditer(text)]
    rooms = _rooms(tokens)
    lines: list[str] = []
    line = ""
    groups: list[_Open] = []

    def new_line() -> str:
        return " " * (_INDENT * sum(group.split for group in groups))

    for token, room in zip(tokens, rooms, strict=True):
        if len(lines) >= MAX_LINES:
            return lines[:MAX_LINES]
        if token in _CLOSING:
            line += token
            groups.append(_Open(_CLOSING[token], len(line) + room > width and room > 1))
            if groups[-1].split:
                lines.append(line)
                line = new_line()
        elif groups and token == groups[-1].closing:
            if groups.pop().split:
                lines.append(line)
                line = new_line()
            line += token
        elif token[0] == "," and groups and groups[-1].split:
            lines.append(line + ",")
            line = new_line()
        else:
            line += token
    return [*lines, line][:MAX_LINES]


def _rooms(tokens: list[str]) -> list[int]:
    """For each opening bracket: characters up to and with its closing one; else 0."""
    rooms = [0] * len(tokens)
    stack: list[tuple[int, int]] = []
    at = 0
    for n, token in enumerate(tokens):
        at += len(token)
        if token in _CLOSING:
            stack.append((n, at))
        elif stack and token == _CLOSING[tokens[stack[-1][0]]]:
            opened, start = stack.pop()
            rooms[opened] = at - start
    for opened, start in stack:  # never closed
        rooms[opened] = at - start
    return rooms

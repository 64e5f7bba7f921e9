"""Lines of source code around a location, shown only if the file still contains the code."""

from __future__ import annotations

import math
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 4 << 20
"""Maximal size of a source file; a larger one is not read."""

CHANGED = "the file has changed: this line contains other code now"
"""The message for a program that was edited since the analysis."""

AROUND = 2
"""Lines of context before and after the line."""

SPREAD = 12
"""Number of lines in which an expression is searched, from its first line on."""

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class SourceExcerpt:
    """Lines of a file. ``first`` is the number of the first line, ``line`` the mutant's line.

    ``problem``: why there are no lines, as text.
    """

    line: int = 0
    first: int = 0
    lines: tuple[str, ...] = ()
    problem: str = ""

    @property
    def text(self) -> str:
        """The mutant's own line; an empty string if nothing was read."""
        at = self.line - self.first
        return self.lines[at] if 0 <= at < len(self.lines) else ""


def load(path: str, line: int, before: str) -> SourceExcerpt:
    """Read the lines around ``line`` (from 1) of ``path``. Blocking.

    A log can name any file, and the program may have been edited: lines are returned only if the
    file is a regular one and contains ``before`` at that line.
    """
    data = read(path, MAX_BYTES)
    if isinstance(data, str):
        return SourceExcerpt(problem=data)
    lines = lines_of(data)
    if not 1 <= line <= len(lines) or not _starts_in(before, lines[line - 1 : line - 1 + SPREAD]):
        return SourceExcerpt(problem=CHANGED)
    return around(lines, line)


def lines_of(data: bytes) -> list[str]:
    """Split a program into lines as its compiler does: not at a form feed or U+2028."""
    lines = _LINE_END.split(data.decode(errors="replace"))
    return lines if lines[-1] else lines[:-1]


def load_at(path: str, line: int, code: str, before: float, most: int) -> SourceExcerpt:
    """Read ``line`` and ``most`` lines around it, unless the file has changed since. Blocking.

    ``code``: what the line contained; an empty string: unknown, then the file must not be newer
    than ``before`` (Unix time).
    """
    data = read(path, MAX_BYTES)
    if isinstance(data, str):
        return SourceExcerpt(problem=data)
    lines = lines_of(data)
    if not 1 <= line <= len(lines):
        return SourceExcerpt(problem=CHANGED)
    same = lines[line - 1].strip() == code if code else _mtime(path) <= before
    return around(lines, line, most) if same else SourceExcerpt(problem=CHANGED)


def _mtime(path: str) -> float:
    try:
        return Path(path).stat().st_mtime
    except OSError:
        return math.inf


def around(lines: list[str], line: int, most: int = AROUND) -> SourceExcerpt:
    """Return the lines around ``line`` (from 1), at most ``most`` before and after it."""
    first = max(1, line - most)
    return SourceExcerpt(line, first, tuple(lines[first - 1 : line + most]))


def read(path: str, most: int) -> bytes | str:
    """Return the content of a regular file, or why it cannot be read. Blocking."""
    try:
        if not path or not Path(path).is_absolute():
            return "the log does not contain the file's path"
        # The type is checked before opening, which has side effects on some devices, and after.
        if not stat.S_ISREG(Path(path).stat().st_mode):
            return "not a regular file"
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                return "not a regular file"
            if info.st_size > most:
                return f"larger than {most >> 20} MiB"
            return file.read(most)
    except FileNotFoundError:
        return "the file does not exist on this machine"
    except (OSError, ValueError) as e:
        return f"cannot be read: {getattr(e, 'strerror', None) or e}"


def _starts_in(before: str, lines: list[str]) -> bool:
    """Whether ``before``, with single blanks, starts in the first of ``lines``."""
    wanted = before.removesuffix("…")
    at = _single_blanks("\n".join(lines)).find(wanted)
    return bool(wanted) and 0 <= at < len(_single_blanks(lines[0]))


def _single_blanks(text: str) -> str:
    return " ".join(text.split())


def substitute(text: str, before: str) -> tuple[str, str] | None:
    """Return the text before and after ``before``; None unless ``before`` occurs exactly once."""
    if not before:
        return None
    left = r"(?<![\w.])" if before[0].isidentifier() else ""
    right = r"(?!\w)" if before[-1].isidentifier() else ""
    words = r"\s+".join(re.escape(word) for word in before.split())
    found = [*re.finditer(left + words + right, text)]
    if len(found) != 1:
        return None
    return text[: found[0].start()], text[found[0].end() :]

"""Reads input files and shows them as text and hexadecimal bytes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import inside, read_if_regular
from fuzztui.kernel.remote.mirrored import GONE, fetch, fetched_into
from fuzztui.kernel.wire.afl import ADOPTED_BY
from fuzztui.tui.base.text import plain_lines
from fuzztui.tui.labels.run_files import RunFile, settled

LIMIT = 16 * 1024
"""Maximal number of bytes of a file that are shown."""

_OUT: Final = "out"
"""The directory of a run's instances."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The start of a file, or why there is none. ``size`` in bytes; -1: unknown."""

    data: bytes = b""
    size: int = -1
    problem: str = ""
    moved: str = ""
    """The file's current path if it was moved; an empty string otherwise."""

    @property
    def gone(self) -> bool:
        """Whether the file does not exist."""
        return self.problem == GONE

    @property
    def is_text(self) -> bool:
        """Whether the data is text: UTF-8 with few control characters."""
        if not self.data:
            return False
        try:
            # A character may be cut at the end.
            text = self.data[:-3].decode() + self.data[-3:].decode(errors="ignore")
        except UnicodeDecodeError:
            return False
        odd = sum(not ch.isprintable() and ch not in "\n\r\t" for ch in text)
        return odd * 20 <= len(text)


def load(root: Path, relative: str, limit: int = LIMIT) -> Preview:
    """Read the start of ``root/relative``: regular files below ``root`` only. Blocking.

    A log can name any file: symbolic links out of the run, FIFOs and devices are rejected. A file
    of a run on another machine is copied from there first.
    """
    preview = _load(root, relative, limit)
    if not preview.gone or (place := fetched_into(root)) is None:
        return preview
    if place != root and not (copied := _load(place, relative, limit)).gone:
        return copied
    problem = fetch(root, relative)
    return Preview(problem=problem) if problem else _load(place, relative, limit)


def _load(root: Path, relative: str, limit: int) -> Preview:
    place, _, below = relative.partition("/")
    if place == _OUT and _is_adopted(root):
        root, relative = root / place, below
    try:
        path = inside(root, relative)
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                return Preview(problem="not a regular file")
            return Preview(file.read(limit), info.st_size)
    except FileNotFoundError:
        return Preview(problem=GONE)
    except OSError as e:
        return Preview(problem=f"cannot be read: {e.strerror or e}")


def _is_adopted(run: Path) -> bool:
    """Whether ``out`` is a link to a directory that names this run: that of an adopted fleet."""
    named = read_if_regular(run / _OUT / ADOPTED_BY, 4096) if (run / _OUT).is_symlink() else None
    return named is not None and os.fsdecode(named) == os.path.realpath(run)


def reading(place: RunFile | None) -> tuple[str, Callable[[], Preview]] | None:
    """Return the file's path and a function that loads it; None if ``place`` is None."""
    return None if place is None else (str(place.path), lambda: _load_settled(place))


def _load_settled(place: RunFile) -> Preview:
    preview = load(place.root, place.relative)
    if not preview.gone:
        return preview
    now = settled(place)
    return preview if now == place else replace(load(now.root, now.relative), moved=str(now.path))


def text_lines(preview: Preview) -> list[str]:
    """Return the file as lines of text, safe to draw."""
    return plain_lines(preview.data.decode(errors="replace"))


def hex_rows(data: bytes, per_row: int = 16) -> Iterator[tuple[str, str, str]]:
    """Yield offset, hexadecimal bytes in groups of four, and ASCII for each ``per_row`` bytes."""
    for offset in range(0, len(data), per_row):
        chunk = data[offset : offset + per_row]
        groups = [chunk[i : i + 4].hex(" ") for i in range(0, len(chunk), 4)]
        width = per_row * 3 + per_row // 4 - 2
        ascii_ = "".join(chr(b) if 0x20 <= b < 0x7F else "·" for b in chunk)
        yield f"{offset:06x}", "  ".join(groups).ljust(width), ascii_

"""Unified diffs of a file's bytes, as ``patch`` and ``git apply`` read them."""

from __future__ import annotations

import difflib
import re
from typing import Final

from fuzztui.kernel.base.text import visible

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")


def unified_diff(name: str, old: bytes, new: bytes) -> str:
    """Return the diff with three lines of context, for ``patch -p1``.

    ``name``: the file's path, relative to where the diff is applied. Bytes that are not UTF-8 are
    surrogates: :func:`patch_bytes` writes them.
    """
    before, after = (_LINE.findall(data.decode("utf-8", "surrogateescape")) for data in (old, new))
    lines = list(difflib.unified_diff(before, after))[2:]
    lines = [x if x.endswith("\n") else f"{x}\n\\ No newline at end of file\n" for x in lines]
    return _head(name) + "".join(lines)


def patch_bytes(diff: str) -> bytes:
    """Return the bytes of a :func:`unified_diff`, or of a text from a log that looks like one."""
    try:
        return diff.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # no file has this text
        return visible(diff, lines=True).encode()


def renamed_diff(diff: str, name: str) -> str:
    """Return a :func:`unified_diff` with another name of the file."""
    return _head(name) + diff.split("\n", 2)[2]


def _head(name: str) -> str:
    name = visible(name) + "\t" * (" " in name)  # else programs take the name up to the blank
    return f"--- a/{name}\n+++ b/{name}\n"

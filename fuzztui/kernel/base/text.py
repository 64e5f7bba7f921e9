"""Text for users: untrusted text escaped for a terminal; numbers, lists, times."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

_MAX_S = 1e12

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e", "\0": "\\0"}


def visible_char(ch: str) -> str:
    """An escape sequence for one character, in printable ASCII."""
    if ch in _SHORT:
        return _SHORT[ch]
    code = ord(ch)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str, *, lines: bool = False) -> str:
    """``text`` with control characters and bidirectional overrides escaped.

    ``lines``: newlines stay; otherwise the result is one line.
    """
    return "".join(
        ch if ch.isprintable() or (lines and ch == "\n") else visible_char(ch) for ch in text
    )


def brief(text: str, limit: int = 500) -> str:
    """:func:`visible` on one line of at most ``limit`` characters, cut with an ellipsis.

    For text from a log, which may contain a title of a megabyte.
    """
    shown = visible(text[: limit + 1])
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def whole_seconds(seconds: float) -> int:
    """Whole seconds to show, from 0 to 1e12, for any number including NaN and infinity."""
    return int(min(max(0, seconds), _MAX_S))  # in this order NaN is 0


def clock(seconds: float) -> str:
    """A point in campaign time or a duration: ``h:mm:ss`` or ``3d 04:05:06``."""
    s = whole_seconds(seconds)
    days, s = divmod(s, 86400)
    text = f"{s // 3600}:{s // 60 % 60:02d}:{s % 60:02d}"
    return f"{days}d {text.zfill(8)}" if days else text


def span(seconds: float) -> str:
    """A time limit: ``45 s``, ``15 min``, ``1.5 min``."""
    return f"{seconds:.3g} s" if seconds < 60 else f"{seconds / 60:.3g} min"


def several(n: int, one: str, many: str = "") -> str:
    """A number of things: ``1 hang``, ``3 hangs``. ``many``: the plural; ``one`` + s if empty."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """``a``, ``a and b``, ``a, b and c``, ``a, b, c and 2 more``; empty without names."""
    if not names:
        return ""
    left = len(names) - most
    *first, last = names if left <= 0 else (*names[:most], f"{left:,} more")
    return f"{', '.join(first)} and {last}" if first else last


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> Iterator[str]:
    """Yield the rows of a table as lines; ``right``: the columns that are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if n in right else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def without_folders(node: str) -> str:
    """A node id of pytest without the folders of its file; parameters may contain slashes."""
    file, colons, test = node.partition("::")
    return file.rpartition("/")[2] + colons + test


def ago(seconds: float) -> str:
    """An age as text: ``12 s``, ``5 min``, ``3 h``, ``4 days``."""
    seconds = min(max(0, seconds), _MAX_S)
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def common_head(one: bytes | str, other: bytes | str) -> int:
    """The length of the common prefix, by bisection: comparing slices is fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def different_parts(old: str, new: str, around: int, most: int = sys.maxsize) -> tuple[str, str]:
    """Return both texts, cut to where they differ, with ``around`` characters of context.

    A part of more than ``most`` characters loses its middle.
    """
    head = common_head(old, new)
    tail = common_head(old[head:][::-1], new[head:][::-1])
    begin, left = max(0, head - around), max(0, tail - around)

    def cut(text: str) -> str:
        part = text[begin : len(text) - left]
        if len(part) > most:
            part = f"{part[: most // 2]}…{part[len(part) - most // 2 :]}"
        return f"{'…' if begin else ''}{part}{'…' if left else ''}"

    return cut(old), cut(new)


def short_labels(paths: Iterable[str]) -> dict[str, str]:
    """Return a short unique label for each path: its name, after as many parents as needed."""
    roots = list(paths)
    parts = {root: root.strip("/").split("/") for root in roots}
    deep = dict.fromkeys(roots, 1)

    def label(root: str) -> str:
        return "/".join(parts[root][-deep[root] :]) or "root"

    while True:
        counts = Counter(map(label, deep))
        alike = [r for r, n in deep.items() if n < len(parts[r]) and counts[label(r)] > 1]
        if not alike:
            return {root: label(root) for root in roots}
        deep |= {root: deep[root] + 1 for root in alike}

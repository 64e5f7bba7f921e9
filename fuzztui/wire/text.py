"""Text for people: of targets and files, harmless for a terminal; numbers of things, ages."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ago", "clock", "listed", "several", "visible", "visible_char"]

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e", "\0": "\\0"}


def visible_char(ch: str) -> str:
    """An escape that names one character and has none but printable ASCII in it."""
    if ch in _SHORT:
        return _SHORT[ch]
    code = ord(ch)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str, *, lines: bool = False) -> str:
    """``text`` without control bytes, escapes and bidirectional overrides.

    ``lines``: line ends stay; else the result is one line.
    """
    return "".join(
        ch if ch.isprintable() or (lines and ch == "\n") else visible_char(ch) for ch in text
    )


def clock(seconds: float) -> str:
    """A point or a span of campaign time, ``h:mm:ss`` or ``3d 04:05:06``."""
    s = max(0, int(seconds))
    days, s = divmod(s, 86400)
    text = f"{s // 3600}:{s // 60 % 60:02d}:{s % 60:02d}"
    return f"{days}d {text.zfill(8)}" if days else text


def several(n: int, one: str, many: str = "") -> str:
    """An exact number: ``1 hang``, ``3 hangs``; ``many`` if that is not ``one`` and an s."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """``a``, ``a and b``, ``a, b and c``, ``a, b, c and 2 more``; "" of none."""
    if not names:
        return ""
    left = len(names) - most
    *first, last = names if left <= 0 else (*names[:most], f"{left:,} more")
    return f"{', '.join(first)} and {last}" if first else last


def ago(seconds: float) -> str:
    """``12 s``, ``5 min``, ``3 h``, ``4 days``."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"

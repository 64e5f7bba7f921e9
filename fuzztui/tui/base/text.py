"""Makes text from targets and files safe to draw.

Text in a run is chosen by a target or an input: it may contain terminal escapes, bidirectional
overrides, markup or half a surrogate pair. All drawn text goes through :func:`plain` first; nothing
is ever parsed as markup.
"""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len, set_cell_size

from fuzztui.kernel.base.text import several, visible_char

ELLIPSIS = "…"
MAX_LINE = 2000
"""Maximal number of characters of one line that are drawn: more than any terminal shows."""


@lru_cache(4096)
def _escape(text: str) -> str:
    # Not printable: controls, format characters (bidi, zero width), surrogates, unassigned
    # and private ones, separators other than the blank. Without a cell of their own: combining
    # marks, which would pile up on the character before them.
    return "".join(
        ch if ch.isprintable() and (ch.isascii() or cell_len(ch)) else visible_char(ch)
        for ch in text
    )


def plain(text: str, limit: int = MAX_LINE) -> str:
    """``text`` as one line that a terminal shows literally.

    Every character of the result is printable and at least one cell wide, so it
    can neither move the cursor nor hide or reorder its neighbours. At most
    ``limit`` characters of ``text`` are kept; a cut ends with an ellipsis.
    """
    if len(text) > limit:
        text = text[: max(0, limit - 1)] + ELLIPSIS
    if text.isascii() and text.isprintable():
        return text
    return _escape(text)


def plain_lines(text: str, limit: int = 400, width: int = MAX_LINE) -> list[str]:
    """The lines of ``text`` made :func:`plain`, tabs expanded, at most ``limit`` of them."""
    lines = text[: limit * width].split("\n")
    shown = [plain(line.rstrip("\r").expandtabs(4), width) for line in lines[:limit]]
    if len(lines) > limit:
        shown.append(f"{ELLIPSIS} {several(len(lines) - limit, 'more line')}")
    return shown


def fit(text: str, width: int, align: str = "left") -> str:
    """``text`` in exactly ``width`` cells: padded, or cut with an ellipsis.

    ``align`` is left or right. ``text`` is :func:`plain` already.
    """
    if width <= 0:
        return ""
    length = len(text) if text.isascii() else cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + ELLIPSIS
    padding = " " * (width - length)
    return padding + text if align == "right" else text + padding

"""Of a program whose types were analysed: by which analysis, and what has changed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from fuzztui.base.text import listed

__all__ = ["analysis_of", "have_changed", "remedy", "stale_words"]


def analysis_of(modules: Mapping[str, str]) -> str:
    """Eight digits that tell an analysis from others; "" for one of nothing.

    ``modules``: hashes of their sources by name.
    """
    if not modules:
        return ""
    lines = sorted(f"{name} {sha}\n" for name, sha in modules.items())
    return sha256("".join(lines).encode("utf-8", "backslashreplace")).hexdigest()[:8]


def have_changed(files: Sequence[str]) -> str:
    """``a.py has changed``, ``a.py and b.py have changed``."""
    return f"{listed(files)} {'has' if len(files) == 1 else 'have'} changed"


def stale_words(files: Sequence[str], *, over: bool = False) -> str:
    """That their targets are not known any more, and what helps. ``over``: nobody fuzzes now."""
    its = "its" if len(files) == 1 else "their"
    return f"{have_changed(files)} since {its} types were analysed: {remedy(files, over=over)}"


def remedy(files: Sequence[str], *, over: bool = False) -> str:
    """What helps."""
    start, it = "start" if over else "stop and start", "it" if len(files) == 1 else "them"
    return f"{start} the campaign to have {it} analysed again"

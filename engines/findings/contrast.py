"""Show two values next to each other: bounded, and from their first difference on."""

from __future__ import annotations

import reprlib
from typing import Final

from fuzztui.engines.inputs.shape import without_addresses

_LEAD: Final = 3
"""1 / this share of the text is shown from before the difference."""


def _long() -> reprlib.Repr:
    made = reprlib.Repr()
    made.maxlevel = 12
    made.maxlist = made.maxtuple = made.maxset = made.maxfrozenset = made.maxdeque = 40
    made.maxdict = made.maxarray = 40
    made.maxstring = made.maxlong = made.maxother = 400
    return made


_LONG: Final = _long()


def long_repr(value: object) -> str:
    """A long but bounded ``repr()``. Calls target code, so must be called under the guard."""
    return without_addresses(_LONG.repr(value))


def from_difference(a: str, b: str, shown: int) -> tuple[str, str]:
    """At most ``shown`` characters of both texts, from a little before the first difference."""
    at = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    start = max(0, at - shown // _LEAD) if max(len(a), len(b)) > shown else 0
    lead = "..." if start else ""
    return lead + cut(a[start:], shown), lead + cut(b[start:], shown)


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters; a cut text ends with dots."""
    return text if len(text) <= limit else text[: limit - 3] + "..."

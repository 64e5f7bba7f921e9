"""Suggest names for a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 80
"""Characters of a name that are compared; the time grows with the square of their number."""


def near(name: str, known: Iterable[str], most: int = 1, least: float = 0.6) -> list[str]:
    """At most ``most`` of the known names, the most similar first; upper and lower case are equal.

    ``least``: the smallest similarity, from 0 to 1.
    """
    import difflib  # only for a mistake: each start of an engine imports this module

    by_folded: dict[str, str] = {}
    for one in known:
        by_folded.setdefault(one.casefold(), one)
    found = difflib.get_close_matches(name[:_LONGEST].casefold(), by_folded, most, least)
    return [by_folded[one] for one in found]


def near_last(name: str, known: Iterable[str], before: str = ".", most: int = 1) -> list[str]:
    """Similar names with parts (``module.Type``): similar as a whole, or else in the last part.

    ``before``: the separator of the parts.
    """
    names = list(known)
    if found := near(name, names, most, 0.7):
        return found
    last = name.rpartition(before)[2]
    by_last = {one.rpartition(before)[2]: one for one in reversed(names)}
    return [by_last[one] for one in near(last, by_last, most)] or near(name, names, most, 0.5)


def meant(names: Iterable[str]) -> str:
    """The end of an error about an unknown name: "; did you mean a or b?"; empty without names."""
    offered = " or ".join(names)
    return f"; did you mean {offered}?" if offered else ""

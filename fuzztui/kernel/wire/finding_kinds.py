"""The kinds of findings: one row for each. Engines, model, screens and commands loop over them.

Standard library only: engines import this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CRASHES: Final = "crashes"
HANGS: Final = "hangs"
FOLDERS: Final = (CRASHES, HANGS)
"""AFL's directories of findings in an instance directory, where other tools look. The number of
files in each is a figure of each engine, with a series of the same name; those in ``crashes`` count
for ``stop.crashes``."""


@dataclass(frozen=True, slots=True, eq=False)
class FindingKind:
    """One kind of findings, such as crashes or hangs."""

    category: str
    """The kind's name in events and JSON; also the name of its colour."""
    folder: str
    """The directory in which its inputs are saved."""
    noun: str
    plural: str
    label: str
    """The name of the number of such findings: key in ``status --json``, row, tile and column."""
    default: bool = False
    """Whether files in its folder are of this kind until they are described. The numbers of these
    kinds are shown also if they are 0."""


CRASH: Final = FindingKind("crash", CRASHES, "crash", "crashes", "crashes", default=True)
HANG: Final = FindingKind("hang", HANGS, "hang", "hangs", "hangs", default=True)
DIFFERS: Final = FindingKind("differs", CRASHES, "difference", "differences", "differs")
"""Two implementations disagree."""
OTHER: Final = FindingKind("other", CRASHES, "other finding", "other findings", "other")
"""Findings of a category that this version does not know, from the log of a later version."""

KINDS: Final = (CRASH, HANG, DIFFERS, OTHER)
"""All kinds, in the order in which they are listed."""

UNDESCRIBED: Final = {kind.folder: kind for kind in KINDS if kind.default}
"""The default kind of each folder."""

_BY_CATEGORY: Final = {kind.category: kind for kind in KINDS}


def kind_of(category: str) -> FindingKind:
    """Return the kind with this name; ``OTHER`` if it is unknown."""
    return _BY_CATEGORY.get(category, OTHER)

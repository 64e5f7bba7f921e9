"""A user's verdicts about groups of findings and about mutants: names and limits."""

from __future__ import annotations

from typing import Final

NEW: Final = "new"
"""No verdict."""
KNOWN: Final = "known"
FIXED: Final = "fixed"
WONT_FIX: Final = "wont-fix"
REGRESSION: Final = "regression"
"""Not a verdict of a user: a group that was fixed has been found again."""

VERDICTS: Final = (KNOWN, FIXED, WONT_FIX)
"""The verdicts that a file can contain."""

CHOICES: Final = (NEW, *VERDICTS)
"""What a user can choose; :data:`NEW` takes a verdict back."""

OPEN: Final = frozenset({NEW, REGRESSION})
"""Groups that a user should look at."""

LABELS: Final = {WONT_FIX: "won't fix"}
"""Names on screens that differ from those in files."""

EQUIVALENT: Final = "equivalent"
"""A verdict about a mutant: no input can kill it."""
ACCEPTED: Final = "accepted"
"""A verdict about a mutant: it survives, and nobody need look at it."""
MUTANT_VERDICTS: Final = (EQUIVALENT, ACCEPTED)

MAX_NOTE: Final = 1000
"""Characters of a note."""

MAX_NAME: Final = 200
"""Characters of an author, a date and a signature."""


def label(verdict: str) -> str:
    """Return the name of a verdict on screens."""
    return LABELS.get(verdict, verdict)


def is_same_change(change: str, before: str, after: str) -> bool:
    """Whether ``change`` in a verdict is that from ``before`` to ``after``; empty: always.

    ``change`` is ``BEFORE -> AFTER``; how much white space it has does not matter.
    """
    return not change or change.split() == f"{before} -> {after}".split()

"""The limit of saved findings: a target may raise a distinct exception for each input."""

from __future__ import annotations

from collections import Counter, deque
from typing import Final

WINDOW_TRIALS: Final = 1_000_000
"""Executions within which at most ``most`` findings are saved. Not a time, so that a campaign
with the same seed saves the same files on a slower machine."""

_TOTAL: Final = 50
"""The limit for the whole life of an instance, in multiples of ``most``: 5,000 findings by default,
as in AFL."""

_CROWDED: Final = 4
"""A class or location is frequent if at least ``most`` / this many saved findings have it."""


class FindingLimit:
    """Decides which new findings are saved.

    A flood of findings has one exception class at many locations, or many classes at one location.
    A finding whose class and location are both rare may be another bug. For rare findings the
    limit is twice as high, so that a flood leaves space for them.
    """

    def __init__(self, most: int) -> None:
        """``most``: findings saved within :data:`WINDOW_TRIALS` executions; 0: no limit."""
        self.most = most
        self._recent: deque[int] = deque()
        self._total = 0
        self._classes, self._places = Counter[str](), Counter[str]()

    def note(self, signature: str, place: str, trial: int) -> None:
        """Record a saved finding. ``trial``: its execution, not before the last recorded one."""
        self._recent.append(trial)
        self._total += 1
        self._classes[_class_of(signature)] += 1
        self._places[place] += 1

    def allows(self, signature: str, place: str, trial: int) -> bool:
        """Whether a new finding of execution ``trial`` may be saved."""
        if not self.most:
            return True
        while self._recent and self._recent[0] <= trial - WINDOW_TRIALS:
            self._recent.popleft()
        alike = max(self._classes[_class_of(signature)], self._places[place])
        limit = self.most if alike >= max(1, self.most // _CROWDED) else 2 * self.most
        return len(self._recent) < limit and self._total < _TOTAL * limit


def _class_of(signature: str) -> str:
    """The part before the location: the exception's class, or how the process died."""
    return signature.partition(" @ ")[0]

"""How many distinct findings are saved: a target may raise a new exception for each input."""

from __future__ import annotations

from collections import Counter, deque
from typing import Final

__all__ = ["WINDOW_TRIALS", "FindingLimit"]

WINDOW_TRIALS: Final = 1_000_000
"""Executions within which ``most`` findings are saved. By executions, not by time: a campaign
with the same seed saves the same files on a slower machine."""

_TOTAL: Final = 50
"""Times ``most``: the limit for the whole life of an instance, 5,000 by default, as AFL's."""

_CROWDED: Final = 4
"""A class or place is crowded if ``most`` / this many saved findings have it."""


class FindingLimit:
    """Decides which new findings are saved.

    A flood has one class at ever new places, or ever new classes at one place. A finding whose
    class and place are both rare may be another bug: for those the limit is twice as high, so a
    flood never uses up their room.
    """

    def __init__(self, most: int) -> None:
        """``most``: findings saved within :data:`WINDOW_TRIALS` executions; 0: no limit."""
        self.most = most
        self._recent: deque[int] = deque()
        self._total = 0
        self._classes, self._places = Counter[str](), Counter[str]()

    def note(self, signature: str, place: str, trial: int) -> None:
        """A finding was saved at this execution, at the latest saved or a later one."""
        self._recent.append(trial)
        self._total += 1
        self._classes[_class_of(signature)] += 1
        self._places[place] += 1

    def allows(self, signature: str, place: str, trial: int) -> bool:
        """Whether a new finding of execution ``trial`` is to be saved."""
        if not self.most:
            return True
        while self._recent and self._recent[0] <= trial - WINDOW_TRIALS:
            self._recent.popleft()
        alike = max(self._classes[_class_of(signature)], self._places[place])
        limit = self.most if alike >= max(1, self.most // _CROWDED) else 2 * self.most
        return len(self._recent) < limit and self._total < _TOTAL * limit


def _class_of(signature: str) -> str:
    """The part before the place: the exception's class, or how the process died."""
    return signature.partition(" @ ")[0]

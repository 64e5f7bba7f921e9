"""The yields of a campaign, which take too long to be computed for each status."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.yields import CampaignYields, campaign_yields

EVERY_S = 2.0
"""Minimum number of seconds between two computations."""

_SHARE = 50
"""They take at most this part of the time: a fiftieth."""


class KeptYields:
    """Caches yields for two seconds or more; a step back in a replay computes them again."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._due = 0.0
        self._seq = -1
        self._state = ""
        self._yields = CampaignYields()

    def of(self, state: State) -> CampaignYields:
        """Return the yields of ``state``, or cached ones of the campaign from a little earlier."""
        began = self._clock()
        later = state.seq >= self._seq and state.state == self._state
        if (began < self._due and later) or (state.seq == self._seq and later):
            return self._yields
        self._yields = campaign_yields(state)
        self._seq, self._state = state.seq, state.state
        now = self._clock()
        self._due = now + max(EVERY_S, _SHARE * (now - began))
        return self._yields

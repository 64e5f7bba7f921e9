"""Campaign time: seconds since the campaign first started, on a clock that nobody sets.

It goes on over restarts of the supervisor. While engines survived their supervisor
they worked, so the gap counts; while nothing lived, time stands still
(:class:`~fuzztui.wire.events.Record`). Wall time plays no part: it jumps.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from fuzztui.supervise.files import read_json, replace_text
from fuzztui.supervise.identity import boot_id

__all__ = ["CampaignClock"]


class CampaignClock:
    """``now()`` is campaign time, ``running()`` the part of it that was not paused.

    A time budget is spent by running time: pausing for the night does not end a
    campaign. The bearings are kept in ``path`` (``supervisor/clock.json``): on the
    machine's monotonic clock, which all processes of one boot share.

    :param last_t: campaign time of the last record in the log.
    :param paused: whether the log ends in a pause.
    """

    def __init__(
        self,
        path: Path,
        last_t: float,
        *,
        paused: bool,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._monotonic = monotonic
        self._bearings = read_json(path) or {}
        self._zero = monotonic() - last_t
        self._paused_s = min(self._number("paused_s"), last_t)
        self._paused_at: float | None = None
        if paused:
            self._paused_at = min(self._number("paused_at", last_t), last_t)

    def count_gap(self) -> None:
        """Engines lived while no supervisor did: let the time since then count."""
        if self._bearings.get("boot") == boot_id():
            # Never back: the log may hold later records than the bearings.
            self._zero = min(self._zero, self._number("zero", self._zero))

    def save(self) -> None:
        """Write the bearings down. Raises OSError."""
        bearings = {
            "boot": boot_id(),
            "zero": self._zero,
            "paused_s": self._paused_s,
            "paused_at": self._paused_at,
        }
        replace_text(self._path, json.dumps(bearings))

    def now(self) -> float:
        """Campaign time in seconds."""
        return self._monotonic() - self._zero

    def running(self) -> float:
        """Campaign time that was not spent in a pause of the whole campaign."""
        until = self.now() if self._paused_at is None else self._paused_at
        return until - self._paused_s

    def pause(self) -> None:
        """The campaign pauses now."""
        if self._paused_at is None:
            self._paused_at = self.now()

    def resume(self) -> None:
        """The campaign goes on now."""
        if self._paused_at is not None:
            self._paused_s += self.now() - self._paused_at
            self._paused_at = None

    def _number(self, key: str, default: float = 0.0) -> float:
        value = self._bearings.get(key)
        return float(value) if isinstance(value, (int, float)) else default

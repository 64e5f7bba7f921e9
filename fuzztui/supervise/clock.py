"""Campaign time: seconds since the campaign first started, on a clock that nobody sets.

It continues over restarts of the supervisor. While engines survived their supervisor
they worked, so the gap counts; while nothing lived, time stands still
(:class:`~fuzztui.wire.events.Record`). Wall time plays no part: it jumps.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzztui.base.files import read_json, replace_text
from fuzztui.process.identity import boot_id

__all__ = ["CampaignClock"]


class CampaignClock:
    """``now()`` is campaign time.

    Its bearings are kept in ``path`` (``supervisor/clock.json``): on the machine's
    monotonic clock, which all processes of one boot share.

    :param last_t: campaign time of the last record in the log.
    """

    def __init__(
        self,
        path: Path,
        last_t: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._monotonic = monotonic
        self._bearings = read_json(path) or {}
        self._last_t = last_t
        self._stopped_at: float | None = None
        self.start()

    def start(self) -> None:
        """Go on now, from the last record or where it was stopped: since then nothing has lived."""
        since = self._last_t if self._stopped_at is None else self._stopped_at
        self._zero = self._monotonic() - since
        self._stopped_at = None

    def stop(self) -> None:
        """Nothing lives any more: time stands still from now on."""
        self._stopped_at = self.now()

    def count_gap(self, most: float = math.inf) -> float:
        """Engines lived while no supervisor did: let the time since then count.

        But no more than ``most`` of it, in seconds; returns how much more there was.
        """
        zero: Any = self._bearings.get("zero")
        if self._bearings.get("boot") != boot_id() or type(zero) not in (int, float):
            return 0.0
        # Never back: the log may hold later records than the bearings. Nor can there have been
        # more time than since the machine was started: the bearings may be damaged.
        gap = min(max(0.0, self._zero - float(zero)), self._monotonic())
        self._zero -= min(gap, most)
        return max(0.0, gap - most)

    @contextlib.contextmanager
    def unpaid(self) -> Iterator[None]:
        """No budget pays for what is done in it: campaign time stands still."""
        self.stop()
        try:
            yield
        finally:
            self.start()
            self.save()

    def save(self) -> None:
        """Write the bearings down, if the disk takes them: else the next start counts no gap."""
        with contextlib.suppress(OSError):
            replace_text(self._path, json.dumps({"boot": boot_id(), "zero": self._zero}))

    def now(self) -> float:
        """Campaign time in seconds."""
        return self._monotonic() - self._zero if self._stopped_at is None else self._stopped_at

"""Campaign time: seconds since the campaign first started, on a monotonic clock.

Campaign time continues over restarts of the supervisor. A gap without a supervisor counts if
engines ran in it, and not otherwise (:class:`~fuzztui.kernel.wire.events.Record`). Wall time is not
used, because it jumps.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_json
from fuzztui.run.process.identity import boot_id


class CampaignClock:
    """Campaign time, see :meth:`now`.

    The zero point is kept in ``path`` (``supervisor/clock.json``), as a time of the machine's
    monotonic clock, which all processes of one boot share.

    :param last_t: campaign time of the last record in the log, in seconds.
    """

    def __init__(
        self,
        path: Path,
        last_t: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._monotonic = monotonic
        self._saved = read_json(path) or {}
        self._last_t = last_t
        self._stopped_at: float | None = None
        self.start()

    def start(self) -> None:
        """Let time run from now on, beginning at the last record or where it was stopped."""
        since = self._last_t if self._stopped_at is None else self._stopped_at
        self._zero = self._monotonic() - since
        self._stopped_at = None

    def stop(self) -> None:
        """Let time stand still from now on: no engine runs."""
        self._stopped_at = self.now()

    def stay(self) -> None:
        """Let time stand still at the last record: no engine has run since."""
        self._stopped_at = self._last_t

    def count_gap(self, most: float = math.inf) -> float:
        """Count the time without a supervisor, because engines ran in it.

        At most ``most`` seconds are counted. Returns the seconds beyond that.
        """
        zero: Any = self._saved.get("zero")
        if self._saved.get("boot") != boot_id() or type(zero) not in (int, float):
            return 0.0
        # Not negative: the log can contain later records than the file. At most the time since the
        # boot: the file may be damaged.
        gap = min(max(0.0, self._zero - float(zero)), self._monotonic())
        self._zero -= min(gap, most)
        return max(0.0, gap - most)

    @contextlib.contextmanager
    def unpaid(self) -> Iterator[None]:
        """Context manager: campaign time stands still, so that no budget is used."""
        self.stop()
        try:
            yield
        finally:
            self.start()
            self.save()

    def save(self) -> None:
        """Write the zero point. If that fails, the next start counts no gap."""
        with contextlib.suppress(OSError):
            replace_text(self._path, json.dumps({"boot": boot_id(), "zero": self._zero}))

    def now(self) -> float:
        """Return the campaign time in seconds."""
        return self._monotonic() - self._zero if self._stopped_at is None else self._stopped_at

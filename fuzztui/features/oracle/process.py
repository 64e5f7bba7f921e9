"""The supervisor's side of the program oracle: keeps its process running, counts its backlog."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.passive import ORACLE
from fuzztui.kernel.wire.events import Event, Stats
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.process.helper import HelperProcess
from fuzztui.run.process.service import ServiceContext

REPORT_S = 2.0
"""Minimum seconds between two reports of the backlog; an empty one is reported at once."""

LAST_S = 1.0
"""Seconds for the last step after :meth:`OracleProcess.finish` was cancelled."""


class OracleProcess(HelperProcess):
    """The process of :mod:`fuzztui.features.oracle.queue`."""

    directory = ORACLE

    def __init__(self, run_dir: RunDir, record: Callable[[Event], object]) -> None:
        super().__init__(
            run_dir,
            record,
            "fuzztui.features.oracle.queue",
            [],
            label=ORACLE,
            undone="oracle: entries are not judged",
        )
        self._reported = 0
        self._due = 0.0

    @property
    def left(self) -> int:
        """Number of entries that are known and not judged yet."""
        pending = self.stats.get("pending", 0)
        return pending if type(pending) is int else 0

    @property
    def pending(self) -> str:
        """The number of entries not judged yet, as text; an empty string if there are none."""
        return several(self.left, "entry", "entries") if self.left else ""

    async def finish(self) -> None:
        """Let the process judge the entries that are left. If cancelled, end the process."""
        self.end()
        try:
            await self._over.wait()
        except asyncio.CancelledError:
            self.end()
            await asyncio.wait([asyncio.ensure_future(self._over.wait())], timeout=LAST_S)
            raise

    def _on_stats(self) -> None:
        left, now = self.left, time.monotonic()
        if left != self._reported and (now >= self._due or not left):
            self._reported, self._due = left, now + REPORT_S
            self._record(Stats(ORACLE, pending=left))


def services(context: ServiceContext) -> list[OracleProcess]:
    """The process, if the campaign has an oracle that its engine does not run itself."""
    campaign = context.campaign
    wanted = campaign.kind == "afl" and campaign.table("oracle") and not context.is_hub
    return [OracleProcess(context.run_dir, context.record)] if wanted else []

"""The oracle of programs as the supervisor sees it: kept running, and how far it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir
from fuzztui.model.oracle import ORACLE
from fuzztui.process.helper import HelperProcess
from fuzztui.wire.events import Event, Stats

__all__ = ["OracleProcess"]

TELL_S = 2.0
"""Between two words on how much is left, at least; nothing is left is told at once."""

LAST_S = 1.0
"""For the last step, when nobody waits any more."""


class OracleProcess(HelperProcess):
    """The process of :mod:`fuzztui.oracle.queue`. :meth:`run` it in a task."""

    def __init__(self, run_dir: RunDir, record: Callable[[Event], object]) -> None:
        super().__init__(
            run_dir,
            record,
            "fuzztui.oracle.queue",
            [],
            label=ORACLE,
            undone="oracle: entries are not looked at",
        )
        self._told = 0
        self._due = 0.0
        self._over = asyncio.Event()

    @staticmethod
    def wanted(campaign: Campaign) -> bool:
        """Whether there is one, of an engine that has not got it itself."""
        return campaign.kind == "afl" and bool(campaign.oracle)

    @property
    def left(self) -> int:
        """How many entries are to be looked at, as far as is known."""
        pending = self.figures.get("pending", 0)
        return pending if type(pending) is int else 0

    async def run(self) -> None:
        """As :meth:`HelperProcess.run`."""
        try:
            await super().run()
        finally:
            self._over.set()

    async def finish(self) -> None:
        """Have it look at what is left. Given up, it ends without that."""
        self.end()
        try:
            await self._over.wait()
        except asyncio.CancelledError:
            self.end()
            await asyncio.wait([asyncio.ensure_future(self._over.wait())], timeout=LAST_S)
            raise

    def _news(self) -> None:
        left, now = self.left, time.monotonic()
        if left != self._told and (now >= self._due or not left):
            self._told, self._due = left, now + TELL_S
            self._record(Stats(ORACLE, pending=left))

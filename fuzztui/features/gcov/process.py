"""The supervisor's side of the build for gcov: keeps its process running, records its events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, Final

from fuzztui.kernel.wire.codec import CodecError, decode_event
from fuzztui.kernel.wire.events import CoverageBuild, Event, LinesCovered, SourceFile
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.process.helper import HelperProcess
from fuzztui.run.process.service import ServiceContext

FINISH_S: Final = 15.0
"""Seconds for the entries that are left when the engines have ended."""


class GcovProcess(HelperProcess):
    """The process of :mod:`fuzztui.features.gcov.queue`."""

    LONGEST_LINE: ClassVar[int] = 4 << 20

    def __init__(self, run_dir: RunDir, record: Callable[[Event], object]) -> None:
        super().__init__(
            run_dir,
            record,
            "fuzztui.features.gcov.queue",
            [],
            label="gcov",
            undone="target.coverage: lines are not measured",
        )

    async def close(self) -> None:
        """Wait a limited time for the process to measure the remaining entries, then end it."""
        self.end()
        try:
            async with asyncio.timeout(FINISH_S):
                await self._over.wait()
        except TimeoutError:
            self.end()

    def _on_line(self, printed: Any) -> None:
        match printed:
            case {"event": str(line)}:
                try:
                    event = decode_event(line.encode())
                except CodecError:
                    return
                if isinstance(event, SourceFile | LinesCovered | CoverageBuild):
                    self._record(event)


def services(context: ServiceContext) -> list[GcovProcess]:
    """The process, if the target's lines are to be measured by a build for gcov."""
    campaign = context.campaign
    wanted = campaign.kind == "afl" and campaign.target.get("coverage")
    return [GcovProcess(context.run_dir, context.record)] if wanted else []

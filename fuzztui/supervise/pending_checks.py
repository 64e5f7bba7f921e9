"""What is still to be looked at once all instances have ended: findings, entries for an oracle."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from fuzztui.base.text import several
from fuzztui.instances.launcher import Triage
from fuzztui.oracle.process import OracleProcess
from fuzztui.wire.events import Event, Message

__all__ = ["PendingChecks"]

MAX_WAIT_S: Final = 10.0
"""Who stops a campaign waits for that."""


class PendingChecks:
    """Findings that are to be described, and entries that an oracle is to judge."""

    def __init__(
        self, triage: Triage | None, oracle: OracleProcess | None, record: Callable[[Event], object]
    ) -> None:
        self._triage, self._oracle, self._record = triage, oracle, record

    def message(self) -> str:
        """What is still to be done, in words; "" for nothing."""
        left = " and ".join(self._left())
        return f"looking at {left}" if left else ""

    async def finish(self) -> None:
        """Do that, or say what was not done in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MAX_WAIT_S):
                await asyncio.gather(
                    *(one.finish() for one in (self._triage, self._oracle) if one is not None)
                )
        for words in self._left():
            later = "resuming the campaign continues with that"
            later += ", fuzztui repro runs one" if "finding" in words else ""
            self._record(Message("info", f"{words} could not be looked at: {later}"))

    def _left(self) -> list[str]:
        findings = self._triage.left if self._triage else 0
        entries = self._oracle.left if self._oracle else 0
        left = [several(findings, "finding")] if findings else []
        return [*left, several(entries, "entry", "entries")] if entries else left

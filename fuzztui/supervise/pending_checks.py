"""Work left after the last instance has ended: findings to describe, entries to judge."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from fuzztui.base.text import several
from fuzztui.instances.launcher import Triage
from fuzztui.oracle.process import OracleProcess
from fuzztui.wire.events import Event, Message

MAX_WAIT_S: Final = 10.0
"""Seconds by which pending checks may delay the end of a campaign."""


class PendingChecks:
    """Findings that triage has not described yet, and entries that the oracle has not judged."""

    def __init__(
        self, triage: Triage | None, oracle: OracleProcess | None, record: Callable[[Event], object]
    ) -> None:
        self._triage, self._oracle, self._record = triage, oracle, record

    def message(self) -> str:
        """Return what is left to do, as text; an empty string if nothing is."""
        left = " and ".join(self._left())
        return f"checking {left}" if left else ""

    async def finish(self) -> None:
        """Do what is left. After ``MAX_WAIT_S``, record what was not done."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MAX_WAIT_S):
                await asyncio.gather(
                    *(one.finish() for one in (self._triage, self._oracle) if one is not None)
                )
        for left in self._left():
            later = "resume the campaign to continue"
            later += ", or run one with fuzztui repro" if "finding" in left else ""
            self._record(Message("info", f"{left} not checked in time: {later}"))

    def _left(self) -> list[str]:
        findings = self._triage.left if self._triage else 0
        entries = self._oracle.left if self._oracle else 0
        left = [several(findings, "finding")] if findings else []
        return [*left, several(entries, "entry", "entries")] if entries else left

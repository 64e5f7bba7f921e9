"""How a campaign ends.

On request, which cancels every waiting task, or with its last instance. After that some work is
left: findings to describe, entries to judge.
"""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from fuzztui.base.text import several
from fuzztui.fuzzfirst.context import CampaignStopping
from fuzztui.instances.launcher import Triage
from fuzztui.instances.life import EndReason, InstanceLife
from fuzztui.model.state import State
from fuzztui.oracle.process import OracleProcess
from fuzztui.wire.events import Event, Message


class StopRequest:
    """Whether the campaign is being ended. Belongs to the running event loop."""

    def __init__(self) -> None:
        self.end_reason: EndReason | None = None
        """Why the campaign is being ended; None while it continues."""
        self._stopping = asyncio.Event()

    def set(self, end_reason: EndReason) -> None:
        """End the campaign: cancels every :meth:`wait`."""
        self.end_reason = end_reason
        self._stopping.set()

    async def wait(self, job: Awaitable[None]) -> None:
        """Wait for ``job``. When the campaign is ended: cancel it, raise ``CampaignStopping``."""
        task = asyncio.ensure_future(job)
        if self.end_reason:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise CampaignStopping
        halt = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({task, halt}, return_when=FIRST_COMPLETED)
            if not task.done():
                raise CampaignStopping
            await task
        finally:
            for one in (task, halt):
                one.cancel()
            await asyncio.gather(task, halt, return_exceptions=True)


def natural_end(state: State, lives: Mapping[str, InstanceLife]) -> EndReason:
    """Return the end reason of a campaign whose instances all ended without a stop request."""
    if not lives:
        return EndReason("stopped", "")
    states = {life.state for life in lives.values()}
    reasons = [state.instances[name].reason for name in lives]
    for end in ("finished", "stopped", "failed"):
        if end in states:
            return EndReason(end, next((r for r in reasons if r), ""))
    return EndReason("failed", "no instance could be kept alive")


MAX_WAIT_S: Final = 10.0
"""Seconds by which pending checks may delay the end of a campaign that a user stops."""

PATIENT_S: Final = 300.0
"""The same where no user stops it: some hundred findings can be examined."""


class PendingChecks:
    """Findings that triage has not described yet, and entries that the oracle has not judged."""

    def __init__(
        self, triage: Triage | None, oracle: OracleProcess | None, record: Callable[[Event], object]
    ) -> None:
        self._triage, self._oracle, self._record = triage, oracle, record
        self._hurry = asyncio.Event()

    def hurry(self) -> None:
        """Let :meth:`finish` return soon: a user stops the campaign."""
        self._hurry.set()

    def message(self) -> str:
        """Return what is left to do, as text; an empty string if nothing is."""
        left = " and ".join(self._left())
        return f"checking {left}" if left else ""

    async def finish(self, *, is_stopped: bool) -> None:
        """Do what is left; after a while, or :meth:`hurry`, record what was not done."""
        limit = MAX_WAIT_S if is_stopped else PATIENT_S
        every = [one.finish() for one in (self._triage, self._oracle) if one is not None]
        checks = asyncio.gather(*every)
        halt = asyncio.ensure_future(self._hurry.wait())
        both: set[asyncio.Future[Any]] = {checks, halt}
        try:
            done, _ = await asyncio.wait(both, timeout=limit, return_when=FIRST_COMPLETED)
        finally:
            for one in (checks, halt):
                one.cancel()
            await asyncio.gather(checks, halt, return_exceptions=True)
        if checks in done:
            checks.result()  # raises what a check has raised
        for left in self._left():
            later = "resume the campaign to continue"
            later += ", or run one with fuzztui repro" if "finding" in left else ""
            self._record(Message("info", f"{left} not checked in time: {later}"))

    def _left(self) -> list[str]:
        findings = self._triage.left if self._triage else 0
        entries = self._oracle.left if self._oracle else 0
        left = [several(findings, "finding")] if findings else []
        return [*left, several(entries, "entry", "entries")] if entries else left

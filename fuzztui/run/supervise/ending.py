"""How a campaign ends.

On request, which cancels every waiting task, or with its last instance.
"""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Mapping

from fuzztui.kernel.model.state import State
from fuzztui.run.instances.life import EndReason, InstanceLife
from fuzztui.run.instances.phase import CampaignStopping


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

"""Describe transferred findings of Python targets.

An engine describes the findings that it saves. A transferred finding was saved by the supervisor,
so it is run again, by the engine's code, for its title and signature.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from fuzztui.features.fuzzfirst.python_batch import PythonBatch
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Event, FindingDescribed, FindingSaved
from fuzztui.kernel.wire.frames import parse_basis, parse_frames
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.instances.launcher import Triage


class TransferTriage(Triage):
    """Describes the findings in ``out/handed``."""

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, record: Callable[[Event], None], state: State
    ) -> None:
        self._run_dir = run_dir
        self._record, self._state = record, state
        self._batch = PythonBatch(campaign, run_dir, "triage")
        self._waiting: deque[FindingSaved] = deque()
        self._known: set[str] = set()
        self._more = asyncio.Event()
        self._one = asyncio.Lock()

    @property
    def left(self) -> int:
        """Number of findings to describe, including the one that is being run."""
        return len(self._waiting) + self._one.locked()

    def saw(self, event: Event) -> None:
        """Queue a saved finding, if it was transferred."""
        if not isinstance(event, FindingSaved) or event.instance != MUTANT_INPUTS:
            return
        if event.file not in self._known:
            self._known.add(event.file)
            self._waiting.append(event)
            self._more.set()

    async def run(self) -> None:
        """Describe present and future findings until cancelled."""
        for row in list(self._state.findings.values()):
            if row.saved and not row.signature:
                self.saw(FindingSaved(row.instance, row.category, row.file))
        while True:
            await self.finish()
            self._more.clear()
            await self._more.wait()

    async def finish(self) -> None:
        """Describe the queued findings. Can be cancelled."""
        while self._waiting:
            async with self._one:
                if not self._waiting:
                    return
                finding = self._waiting[0]
                description = await self._describe(finding)
                made_of = parse_basis(description.get("basis"))
                self._waiting.popleft()
                self._record(
                    FindingDescribed(
                        finding.instance,
                        finding.category,
                        finding.file,
                        str(description.get("signature", "")),
                        str(description.get("title", "")),
                        str(description.get("place", "")),
                        str(description.get("detail", "")),
                        str(description.get("input", "")),
                        frames=[f.row() for f in parse_frames(description.get("frames"))],
                        basis=made_of.row() if made_of is not None else {},
                    )
                )

    async def _describe(self, finding: FindingSaved) -> dict[str, Any]:
        try:
            description = await self._batch.describe(
                self._run_dir.instance(MUTANT_INPUTS) / finding.file
            )
        except SupervisorError as e:
            # No signature: the next supervisor tries again.
            return {"title": "could not be run again", "detail": visible(str(e), lines=True)}
        if not description:
            again = f"did not {finding.category} again"
            return {"signature": again.replace(" ", "-"), "title": again}
        return description

"""Describe transferred findings of Python targets.

An engine describes the findings that it saves. A transferred finding was saved by the supervisor,
so it is run again, by the engine's code, for its title and signature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzztui.features.fuzzfirst.python_batch import PythonBatch
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Event, FindingDescribed, FindingSaved
from fuzztui.kernel.wire.frames import parse_basis, parse_frames
from fuzztui.kernel.wire.severity import NONE, severity_in_python
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.triage.waiting import Triage


class TransferTriage(Triage):
    """Describes the findings in ``out/handed``."""

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, record: Callable[[Event], None], state: State
    ) -> None:
        super().__init__(record, state)
        self._run_dir = run_dir
        self._batch = PythonBatch(campaign, run_dir, "triage")

    def _is_for(self, finding: FindingSaved) -> bool:
        return finding.instance == MUTANT_INPUTS

    async def _describe(self, finding: FindingSaved) -> FindingDescribed:
        description = await self._run_again(finding)
        made_of = parse_basis(description.get("basis"))
        signature = str(description.get("signature", ""))
        severity = severity_in_python(finding.category, signature) if signature else NONE
        described = FindingDescribed(
            finding.instance,
            finding.category,
            finding.file,
            signature,
            str(description.get("title", "")),
            str(description.get("place", "")),
            str(description.get("detail", "")),
            str(description.get("input", "")),
            frames=[f.row() for f in parse_frames(description.get("frames"))],
            basis=made_of.row() if made_of is not None else {},
        )
        return severity.put_in(described)

    async def _run_again(self, finding: FindingSaved) -> dict[str, Any]:
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

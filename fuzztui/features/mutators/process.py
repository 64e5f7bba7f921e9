"""The supervisor's side of the fragment collector."""

from __future__ import annotations

from collections.abc import Callable

from fuzztui.kernel.wire.events import Event
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.process.helper import HelperProcess
from fuzztui.run.process.service import ServiceContext


class CollectorProcess(HelperProcess):
    """The process of :mod:`fuzztui.features.mutators.fragments`.

    Its numbers are those of the last written pool: entries, kinds, fragments, bytes.
    """

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, record: Callable[[Event], object]
    ) -> None:
        text = campaign.table("text")
        super().__init__(
            run_dir,
            record,
            "fuzztui.features.mutators.fragments",
            [text["language"], str(int(text["rules"])), *text["templates"]],
            label="harvest",
            undone="fragments are not collected",
        )


def services(context: ServiceContext) -> list[CollectorProcess]:
    """The process, if the campaign uses fragments, templates or rules under AFL++.

    In-process engines parse entries themselves.
    """
    campaign, text = context.campaign, context.campaign.table("text")
    used = text and (text["language"] or text["templates"] or text["rules"])
    wanted = campaign.kind == "afl" and used and not context.is_hub
    return [CollectorProcess(campaign, context.run_dir, context.record)] if wanted else []

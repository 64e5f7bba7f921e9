"""The supervisor's side of the fragment collector."""

from __future__ import annotations

from collections.abc import Callable

from fuzztui.engines.text.syntax import idle
from fuzztui.kernel.wire.events import Event, Message
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
        super().__init__(
            run_dir,
            record,
            "fuzztui.features.mutators.fragments",
            [campaign.table("text")["language"], *campaign.table("text")["templates"]],
            label="harvest",
            undone="fragments are not collected",
        )
        self._text = campaign.table("text")

    async def run(self) -> None:
        """As :meth:`HelperProcess.run`; first record a message if the grammar has no effect."""
        text = self._text
        if note := idle(text["language"], text["splice"], text["adaptive"], text["templates"]):
            self._record(Message("info", note))
        await super().run()


def services(context: ServiceContext) -> list[CollectorProcess]:
    """The process, if the campaign uses fragments or templates, and its engine does not parse."""
    campaign, text = context.campaign, context.campaign.table("text")
    used = text and (text["language"] or text["templates"])
    wanted = campaign.kind == "afl" and used and not context.is_hub
    return [CollectorProcess(campaign, context.run_dir, context.record)] if wanted else []

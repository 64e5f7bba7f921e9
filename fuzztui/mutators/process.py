"""The harvest of fragments as the supervisor sees it."""

from __future__ import annotations

from collections.abc import Callable

from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir
from fuzztui.engines.text.syntax import idle
from fuzztui.process.helper import HelperProcess
from fuzztui.wire.events import Event, Message

__all__ = ["CollectorProcess"]


class CollectorProcess(HelperProcess):
    """The process of :mod:`fuzztui.mutators.fragments`. :meth:`run` it in a task.

    Its figures are of the pool as it was written last: entries, kinds, fragments, bytes.
    """

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, record: Callable[[Event], object]
    ) -> None:
        super().__init__(
            run_dir,
            record,
            "fuzztui.mutators.fragments",
            [campaign.text["language"], *campaign.text["templates"]],
            label="harvest",
            undone="fragments are not harvested",
        )
        self._text = campaign.text

    @staticmethod
    def wanted(campaign: Campaign) -> bool:
        """Whether there is something to be found, by an engine that cannot do it itself."""
        text = campaign.text
        return campaign.kind == "afl" and bool(text and (text["language"] or text["templates"]))

    async def run(self) -> None:
        """See :meth:`HelperProcess.run`; that a grammar has nothing to do is told first."""
        text = self._text
        if words := idle(text["language"], text["splice"], text["adaptive"], text["templates"]):
            self._record(Message("info", words))
        await super().run()

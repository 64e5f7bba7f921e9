"""What corpus care does with the seeds before the first start of a campaign."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.kernel.model.passive import SEEDS
from fuzztui.kernel.wire.events import Message
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.process.service import Service, ServiceContext


class SeedMinimiser(Service):
    """Leaves only the seeds that are needed."""

    def __init__(self, context: ServiceContext) -> None:
        self._campaign, self._run_dir = context.campaign, context.run_dir

    def setup(self, progress: Callable[[str], None]) -> Sequence[Message]:
        """Minimise the seeds."""
        from fuzztui.features.corpus.seeds import minimise_seeds  # slow to import, rarely needed

        return minimise_seeds(self._campaign, self._run_dir, progress)


class SeedCheck(Service):
    """Keeps seeds on which an AFL++ target fails as findings."""

    directory = SEEDS

    def __init__(self, context: ServiceContext) -> None:
        self._campaign, self._run_dir = context.campaign, context.run_dir

    def setup(self, progress: Callable[[str], None]) -> Sequence[Message]:
        """Run the seeds."""
        from fuzztui.features.corpus.failing_seeds import keep_failing_seeds  # slow to import

        return keep_failing_seeds(self._campaign, self._run_dir, progress)


def services(context: ServiceContext) -> list[Service]:
    """Return what the campaign wants; nothing at a hub, where no instance runs."""
    campaign = context.campaign
    if context.is_hub or not campaign.engine.get("seeds"):
        return []
    checks = [SeedCheck(context)] if campaign.kind == AFL else []
    wanted = campaign.engine.get("minimise_seeds")
    return [*checks, *([SeedMinimiser(context)] if wanted else [])]

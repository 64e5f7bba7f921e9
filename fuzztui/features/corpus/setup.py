"""What corpus care does before the first start of a campaign: ``engine.minimise_seeds``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.kernel.wire.events import Message
from fuzztui.run.process.service import Service, ServiceContext


class SeedMinimiser(Service):
    """Leaves only the seeds that are needed."""

    def __init__(self, context: ServiceContext) -> None:
        self._campaign, self._run_dir = context.campaign, context.run_dir

    def setup(self, progress: Callable[[str], None]) -> Sequence[Message]:
        """Minimise the seeds."""
        from fuzztui.features.corpus.seeds import minimise_seeds  # slow to import, rarely needed

        return minimise_seeds(self._campaign, self._run_dir, progress)


def services(context: ServiceContext) -> list[SeedMinimiser]:
    """Return the minimiser if the campaign wants it; none at a hub, where no instance runs."""
    wanted = context.campaign.engine.get("minimise_seeds") and not context.is_hub
    return [SeedMinimiser(context)] if wanted else []

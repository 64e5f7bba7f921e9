"""The services: of a campaign of several targets, and of the campaign of one of them."""

from __future__ import annotations

from fuzztui.features.targets.reporter import TargetReporter
from fuzztui.features.targets.turns import TargetTurns
from fuzztui.run.process.service import Service, ServiceContext
from fuzztui.run.supervise.target_launcher import part_directory


def services(context: ServiceContext) -> list[Service]:
    """Return the service of the campaign, if it has several targets or is one of several."""
    if context.campaign.targets:
        return [TargetTurns(context)]
    directory = part_directory(context.run_dir)
    return [TargetReporter(context, directory)] if directory is not None else []

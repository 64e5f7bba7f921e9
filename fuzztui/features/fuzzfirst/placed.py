"""Turns on a cluster: each engine of a turn is a job, and a stand-in is its process here.

Everything else stays as it is: the worklist, budgets, skipping and promoting are the supervisor's,
and what engines write is read from their directories, which all machines have in common.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fuzztui.features.jobs.opening import check_workers, connected
from fuzztui.features.jobs.standin import write_standin
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.cluster import ClusterConfig, ClusterError
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.instances.launcher import Launch, Launcher, instance_names


class PlacedLauncher:
    """A launcher whose engines run on a cluster; everything else is the inner launcher's."""

    def __init__(self, inner: Launcher, config: ClusterConfig) -> None:
        self._inner, self._config = inner, config

    def __getattr__(self, name: str) -> Any:
        """All that is not about starting."""
        return getattr(self._inner, name)

    def prepare(self, campaign: Campaign, run_dir: RunDir, index: int) -> Launch:
        """As :meth:`Launcher.prepare`: the stand-in's command."""
        launch = self._inner.prepare(campaign, run_dir, index)
        directory = run_dir.instance(instance_names(campaign)[index])
        argv = write_standin(directory, launch.argv, launch.env, launch.cwd, self._config)
        return Launch(argv, {}, directory)


def refuse_unfit_workers(campaign: Campaign, run_dir: RunDir) -> None:
    """Raise :class:`SupervisorError` if the cluster cannot run turns. Blocks for some seconds."""
    config = ClusterConfig.of(campaign.cluster)
    target = campaign.target
    needed = [target["python"], *target["path"]]
    try:
        place = connected(config, config.python)
        try:
            lacking = check_workers(place, [str(Path(p)) for p in needed], run_dir.supervisor)
        finally:
            place.close()
    except ClusterError as e:
        raise SupervisorError(str(e)) from None
    if lacking:
        raise SupervisorError(f"{config.scheduler}: {lacking[0]}")

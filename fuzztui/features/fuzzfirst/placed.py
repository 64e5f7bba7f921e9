"""Turns on a cluster: each engine of a turn is a job, and a stand-in is its process here.

Everything else stays as it is: the worklist, budgets, skipping and promoting are the supervisor's,
and what engines write is read from their directories, which all machines have in common.
"""

from __future__ import annotations

from pathlib import Path

from fuzztui.features.jobs.config import ClusterConfig, ClusterError
from fuzztui.features.jobs.opening import check_workers, connected
from fuzztui.features.jobs.standin import write_standin
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.instances.launcher import Launch, instance_names
from fuzztui.run.supervise.launchers import InProcess


class PlacedLauncher(InProcess):
    """The launcher of engines that run on a cluster."""

    def __init__(self, finish_signal: int, config: ClusterConfig) -> None:
        super().__init__(finish_signal)
        self._config = config

    def prepare(self, campaign: Campaign, run_dir: RunDir, index: int) -> Launch:
        """As :meth:`InProcess.prepare`, but the command is the stand-in's."""
        launch = super().prepare(campaign, run_dir, index)
        directory = run_dir.instance(instance_names(campaign)[index])
        argv = write_standin(directory, launch.argv, launch.env, launch.cwd, self._config)
        return Launch(argv, {}, directory)


def refuse_unfit_workers(campaign: Campaign, run_dir: RunDir) -> None:
    """Raise :class:`SupervisorError` if the cluster cannot run turns. Blocks for some seconds."""
    config = ClusterConfig.of(campaign.table("cluster"))
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

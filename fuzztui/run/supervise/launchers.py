"""The launchers of in-process engines, and the launcher of each engine kind."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

from fuzztui.engines.base.errors import STUCK
from fuzztui.engines.kinds import UnknownKind, kind_named
from fuzztui.kernel.base.files import read_json
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.stall import stuck_text
from fuzztui.run.afl.launcher import AflFuzz
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.campaign.schema import AFL, TARGETS
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.run.instances.launcher import Launch, Launcher, instance_names, trials_share
from fuzztui.run.instances.process import last_reason
from fuzztui.run.supervise.target_launcher import TargetRuns

CANNOT_START = 3
"""Exit status of an in-process engine that must not be started again (engines/README.md)."""


class InProcess(Launcher):
    """In-process engines, which the Python interpreter of the target runs."""

    def __init__(self, finish_signal: int = 0) -> None:
        self.finish_signal = finish_signal

    def refusal(self, directory: Path, status: int | None) -> str:
        """Return the last ``fuzztui: `` line of ``worker.log`` if the exit status is 3."""
        if status != CANNOT_START:
            return ""
        return last_reason(directory) or f"cannot start: see {directory.name}/worker.log"

    def limit_reached(self, directory: Path, status: int | None) -> str:
        """Return that the target is stuck, if the exit status says so."""
        if status != STUCK:
            return ""
        match (read_json(directory / "spec.json") or {}).get("stuck_trials"):
            case int(trials) if trials:
                return stuck_text(several(trials, "trial"))
        return ""

    def prepare(self, campaign: Campaign, run_dir: RunDir, index: int) -> Launch:
        """Write ``spec.json`` (engines/README.md).

        ``budget_s`` stays 0: only the supervisor can subtract pauses.
        """
        directory = run_dir.instance(instance_names(campaign)[index])
        path = directory / "spec.json"
        if campaign.table("mutants") or campaign.engine.get("minimise_seeds"):
            seeds = (
                [str(run_dir.seeds)]
                if run_dir.seeds.is_dir() and any(run_dir.seeds.iterdir())
                else []
            )
            campaign = replace(campaign, engine={**campaign.engine, "seeds": seeds})
        write_spec(path, campaign, directory, trials_share(campaign, index))
        package = run_dir.expose_package(campaign.kind)
        # -P: the working directory belongs to the target and must not be on the path.
        return Launch(
            [campaign.target["python"], "-P", "-m", "fuzztui.engines", str(path)],
            {"PYTHONPATH": str(package)},
        )


def launcher_for(kind: str) -> Launcher:
    """The launcher of that kind. Raises :class:`SupervisorError`."""
    if kind == AFL:
        return AflFuzz()
    if kind == TARGETS:
        return TargetRuns()
    try:
        row = kind_named(kind)
    except UnknownKind as e:
        raise SupervisorError(str(e)) from None
    return InProcess(signal.SIGUSR2 if row.finishes else 0)

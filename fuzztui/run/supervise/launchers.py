"""The launchers of in-process engines, and the launcher of each engine kind."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fuzztui.engines.kinds import UnknownKind, kind_named
from fuzztui.kernel.model.state import Instance
from fuzztui.kernel.wire.events import InstanceHello, Message
from fuzztui.run.afl.launcher import AflFuzz
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.run.instances.launcher import Launch, Launcher, Triage, instance_names, trials_share
from fuzztui.run.instances.process import last_reason
from fuzztui.run.observe.stats_reader import FileStats, StatsSource
from fuzztui.run.process.service import ServiceContext

CANNOT_START = 3
"""Exit status of an in-process engine that must not be started again (engines/README.md)."""


class InProcess:
    """In-process engines, which the Python interpreter of the target runs."""

    says_hello = True
    signals: Mapping[str, int] = {}
    stall_s = 30.0

    def __init__(self, finish_signal: int = 0) -> None:
        self.finish_signal = finish_signal

    def setup(
        self, campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]
    ) -> Sequence[Message]:
        """Do nothing: what in-process engines need, services prepare."""
        return ()

    def hello(self, campaign: Campaign, run_dir: RunDir, index: int) -> InstanceHello:
        """Never called: in-process engines say hello themselves."""
        raise NotImplementedError

    def has_finished(self, directory: Path, status: int | None) -> bool:
        """Return False: in-process engines have no limits of their own."""
        return False

    def refusal(self, directory: Path, status: int | None) -> str:
        """Return the last ``fuzztui: `` line of ``worker.log`` if the exit status is 3."""
        if status != CANNOT_START:
            return ""
        return last_reason(directory) or f"cannot start: see {directory.name}/worker.log"

    def shortage(self, directory: Path) -> str:
        """Return an empty string: in-process engines report shortages in messages."""
        return ""

    def clean_up(self, directory: Path) -> None:
        """Do nothing: in-process engines leave nothing outside their directories."""

    def tidy(self, directory: Path) -> None:
        """Do nothing: in-process engines write little besides their saved inputs."""

    def stats_source(self, run_dir: RunDir, name: str, known: Instance) -> StatsSource:
        """Return the reader of ``fuzzer_stats``, which the engine replaces once a second."""
        return FileStats(run_dir.instance(name), name)

    def triage(self, context: ServiceContext) -> Triage | None:
        """Return None: engines describe their findings."""
        return None

    def prepare(self, campaign: Campaign, run_dir: RunDir, index: int) -> Launch:
        """Write ``spec.json`` (engines/README.md).

        ``budget_s`` stays 0: only the supervisor can subtract pauses.
        """
        directory = run_dir.instance(instance_names(campaign)[index])
        path = directory / "spec.json"
        if campaign.mutants or campaign.engine.get("minimise_seeds"):
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
    try:
        row = kind_named(kind)
    except UnknownKind as e:
        raise SupervisorError(str(e)) from None
    return InProcess(signal.SIGUSR2 if row.finishes else 0)

"""The services of fuzz-first: the worklist, the seeds of all turns, transferred findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.features.fuzzfirst.handlers import WorklistKeeper
from fuzztui.features.fuzzfirst.python_triage import TransferTriage
from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.wire.events import Message
from fuzztui.run.afl.seeds import gather_seeds
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.run.process.service import Service, ServiceContext


class PythonSeeds(Service):
    """The seeds from which all mutants of a Python target, and the target, start."""

    def __init__(self, campaign: Campaign, run_dir: RunDir) -> None:
        self._campaign, self._run_dir = campaign, run_dir

    def setup(self, progress: Callable[[str], None]) -> Sequence[Message]:
        """Gather the seeds; without any, engines start from their built-in ones."""
        campaign, run_dir = self._campaign, self._run_dir
        if seeds := campaign.engine["seeds"]:
            gather_seeds(seeds, run_dir.seeds, progress)
        handed = run_dir.instance(MUTANT_INPUTS)
        try:  # findings there can be run again, although no engine is ever started there
            handed.mkdir(mode=0o700, exist_ok=True)
            write_spec(handed / "spec.json", campaign, handed)
        except OSError as e:
            raise SupervisorError(f"{e.filename or handed}: {e.strerror or e}") from None
        return ()


def services(context: ServiceContext) -> list[Service]:
    """The services of a campaign whose mutants are fuzzed first."""
    campaign, run_dir, state, record = (
        context.campaign, context.run_dir, context.state, context.record,
    )  # fmt: skip
    if not campaign.table("mutants"):
        return []
    seeds = [] if campaign.kind == AFL else [PythonSeeds(campaign, run_dir)]
    if context.is_hub:
        return [*seeds]
    triage = [] if campaign.kind == AFL else [TransferTriage(campaign, run_dir, record, state)]
    return [WorklistKeeper(campaign, state, record), *seeds, *triage]

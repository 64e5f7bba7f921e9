"""The launchers of in-process engines, and the launcher of each engine kind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fuzztui.engines.kinds import UnknownKind, kind_named
from fuzztui.features.targeting.run_analysis import analyse, analyse_again
from fuzztui.features.targeting.run_constants import keep_constants
from fuzztui.kernel.model.fuzzfirst import MUTANT_INPUTS
from fuzztui.kernel.model.state import Instance
from fuzztui.kernel.wire.commands import AddSeed, CancelMinimise, Minimise
from fuzztui.kernel.wire.events import InstanceHello, Message
from fuzztui.run.afl.launcher import AflFuzz
from fuzztui.run.afl.seeds import gather_seeds
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.inprocess.ask import ready, unknown_aliases
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.run.instances.add_seed import seeder
from fuzztui.run.instances.launcher import (
    Launch,
    Launcher,
    Triage,
    instance_names,
    trials_share,
)
from fuzztui.run.instances.process import last_reason
from fuzztui.run.minimise.python_inputs import engine_minimiser
from fuzztui.run.observe.stats_reader import FileStats, StatsSource
from fuzztui.run.process.service import Handler, ServiceContext

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
        """Write the constants that a generator draws, if it does. With fuzz-first: gather the seeds
        from which all mutants and the target start; without seeds the engine starts from its
        built-in ones.
        """
        if campaign.draws_constants:
            keep_constants(campaign, run_dir, progress)
        if not campaign.mutants:
            return ()
        if seeds := campaign.engine["seeds"]:
            gather_seeds(seeds, run_dir.seeds, progress)
        handed = run_dir.instance(MUTANT_INPUTS)
        try:  # findings there can be run again, although no engine is ever started there
            handed.mkdir(mode=0o700, exist_ok=True)
            write_spec(handed / "spec.json", campaign, handed)
        except OSError as e:
            raise SupervisorError(f"{e.filename or handed}: {e.strerror or e}") from None
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

    def handlers(self, campaign: Campaign, run_dir: RunDir) -> Mapping[str, Handler]:
        """Return the handlers of add-seed, minimise and cancel-minimise."""
        minimiser = engine_minimiser(run_dir)
        return {
            AddSeed.name: seeder(run_dir),
            Minimise.name: minimiser,
            CancelMinimise.name: minimiser.cancel,
        }

    def triage(self, context: ServiceContext) -> Triage | None:
        """Return the triage of transferred findings; engines describe their own ones."""
        if not context.campaign.mutants:
            return None
        from fuzztui.features.fuzzfirst.python_triage import (
            TransferTriage,  # only fuzz-first needs it
        )

        return TransferTriage(context.campaign, context.run_dir, context.record, context.state)

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


class Spoton(InProcess):
    """The engine that needs to know which types decide about branches (docs/spoton.md)."""

    def setup(
        self, campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]
    ) -> Sequence[Message]:
        """Check that an engine can start, then analyse the target; again if its files changed.

        Returns messages about the analysis; the first time also about the generator and the
        aliases. Raises also :class:`Unfit`.
        """
        messages = self._analyse(campaign, run_dir, progress)
        return [*messages, *super().setup(campaign, run_dir, progress)]

    def _analyse(
        self, campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]
    ) -> Sequence[Message]:
        if run_dir.targets.exists():
            return analyse_again(campaign, run_dir, progress)
        aliases = campaign.engine["aliases"]
        checked = ready(campaign, progress)
        unused = checked.aliases
        progress("finding the types that decide about branches")
        found, messages = analyse(campaign, run_dir, progress)
        if known := [t.name for t in found.types]:  # the analysis also knows types without a class
            unused = {name: why for name, why in unused.items() if name not in known}
            unused = unknown_aliases(aliases, known) | unused
        problems = [diagnostic.words for diagnostic in checked.diagnostics if diagnostic.warns]
        problems += [f'engine.aliases: "{name}": {why}' for name, why in unused.items()]
        return [*messages, *(Message("warning", problem) for problem in problems)]

    def prepare(self, campaign: Campaign, run_dir: RunDir, index: int) -> Launch:
        """Add the analysis to the spec, as a relative path, because runs can be moved."""
        directory = run_dir.instance(instance_names(campaign)[index])
        engine = {**campaign.engine, "targets": os.path.relpath(run_dir.targets, directory)}
        return super().prepare(replace(campaign, engine=engine), run_dir, index)


def launcher_for(kind: str) -> Launcher:
    """The launcher of that kind. Raises :class:`SupervisorError`."""
    if kind == AFL:
        return AflFuzz()
    try:
        row = kind_named(kind)
    except UnknownKind as e:
        raise SupervisorError(str(e)) from None
    return (Spoton if row.analysis else InProcess)(signal.SIGUSR2 if row.finishes else 0)


def service(context: ServiceContext) -> Triage | None:
    """The triage of the campaign's findings, where its instances run."""
    return None if context.is_hub else launcher_for(context.campaign.kind).triage(context)

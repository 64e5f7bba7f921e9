"""The launchers: how each kind of engine is started."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fuzztui.afl.launcher import AflFuzz
from fuzztui.afl.seeds import gather_seeds
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.inprocess.ready import ready, unknown_aliases
from fuzztui.inprocess.spec import write_spec
from fuzztui.instances.add_seed import seeder
from fuzztui.instances.launcher import (
    Handler,
    Launch,
    Launcher,
    Triage,
    instance_names,
    trials_share,
)
from fuzztui.instances.process import last_reason
from fuzztui.minimise.python_inputs import engine_minimiser
from fuzztui.model.fuzzfirst import HANDED
from fuzztui.model.state import Instance, State
from fuzztui.observe.stats_reader import FiguresSource, FileFigures
from fuzztui.targeting.run_analysis import analyse, analyse_again
from fuzztui.wire.commands import AddSeed, CancelMinimise, Minimise
from fuzztui.wire.events import Event, InstanceHello, Message

__all__ = ["launcher_for"]


CANNOT_START = 3
"""Exit status of an engine of ours that must not be started again (docs/house.md)."""


class InProcess:
    """Our own engines: run by the interpreter of the project under test."""

    says_hello = True
    signals: Mapping[str, int] = {}
    stall_s = 30.0

    def __init__(self, finish_signal: int = 0) -> None:
        self.finish_signal = finish_signal

    def setup(
        self, campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]
    ) -> Sequence[Message]:
        """Where mutants are fuzzed first, gather the seeds: all start from those.

        Without any the engine starts from its own.
        """
        if not campaign.mutants:
            return ()
        if seeds := campaign.engine["seeds"]:
            gather_seeds(seeds, run_dir.seeds, progress)
        handed = run_dir.instance(HANDED)
        try:  # what is found there can be run again, though no engine is ever started there
            handed.mkdir(mode=0o700, exist_ok=True)
            write_spec(handed / "spec.json", campaign, handed)
        except OSError as e:
            raise SupervisorError(f"{e.filename or handed}: {e.strerror or e}") from None
        return ()

    def hello(self, campaign: Campaign, run_dir: RunDir, index: int) -> InstanceHello:
        """It says hello itself."""
        raise NotImplementedError

    def has_finished(self, directory: Path, status: int | None) -> bool:
        """They have no limits but the supervisor's."""
        return False

    def refusal(self, directory: Path, status: int | None) -> str:
        """The last ``fuzztui: `` line of ``worker.log``, with exit status 3."""
        if status != CANNOT_START:
            return ""
        return last_reason(directory) or f"it cannot start: see {directory.name}/worker.log"

    def shortage(self, directory: Path) -> str:
        """They tell of shortages in messages."""
        return ""

    def clean_up(self, directory: Path) -> None:
        """They leave nothing outside their directories."""

    def tidy(self, directory: Path) -> None:
        """They write little but their finds."""

    def figures(self, run_dir: RunDir, name: str, known: Instance) -> FiguresSource:
        """``fuzzer_stats``, which it replaces about once a second."""
        return FileFigures(run_dir.instance(name), name)

    def handlers(self, campaign: Campaign, run_dir: RunDir) -> Mapping[str, Handler]:
        """They take seeds from a sibling's queue, as AFL does; another process minimises."""
        minimiser = engine_minimiser(run_dir)
        return {
            AddSeed.name: seeder(run_dir),
            Minimise.name: minimiser,
            CancelMinimise.name: minimiser.cancel,
        }

    def triage(
        self, campaign: Campaign, run_dir: RunDir, record: Callable[[Event], None], state: State
    ) -> Triage | None:
        """They describe what they find themselves, but not what mutants' inputs do."""
        if not campaign.mutants:
            return None
        from fuzztui.fuzzfirst.python_triage import TransferTriage  # it writes specs, too

        return TransferTriage(campaign, run_dir, record, state)

    def prepare(self, campaign: Campaign, run_dir: RunDir, index: int) -> Launch:
        """Write ``spec.json`` (docs/house.md).

        Its ``budget_s`` stays 0: only the supervisor knows how long was paused.
        """
        directory = run_dir.instance(instance_names(campaign)[index])
        path = directory / "spec.json"
        if campaign.mutants:
            seeds = (
                [str(run_dir.seeds)]
                if run_dir.seeds.is_dir() and any(run_dir.seeds.iterdir())
                else []
            )
            campaign = replace(campaign, engine={**campaign.engine, "seeds": seeds})
        write_spec(path, campaign, directory, trials_share(campaign, index))
        package = run_dir.expose_package()
        # -P: the directory it is started in is the target's business, not on the path.
        return Launch(
            [campaign.target["python"], "-P", "-m", "fuzztui.engines", str(path)],
            {"PYTHONPATH": str(package)},
        )


class Spoton(InProcess):
    """The engine that wants to know which types decide about branches (docs/spoton.md)."""

    def setup(
        self, campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]
    ) -> Sequence[Message]:
        """Find the goals, if an engine could start at all; again for a changed program.

        Returns what became of that, the first time also what is wrong with the generator and with
        aliases. Raises :class:`Unfit`, too.
        """
        if run_dir.targets.exists():
            return analyse_again(campaign, run_dir, progress)
        aliases = campaign.engine["aliases"]
        asked = ready(campaign, progress)
        nothing = asked.aliases
        progress("finding the types that decide about branches")
        found, told = analyse(campaign, run_dir, progress)
        if known := [t.name for t in found.types]:  # of types without a class the analysis knows
            needless = aliases.keys() & known
            nothing = {name: words for name, words in nothing.items() if name not in needless}
            nothing = unknown_aliases(aliases, known) | nothing
        wrong = [remark.words for remark in asked.remarks if remark.warns]
        wrong += [f'engine.aliases: "{name}": {words}' for name, words in nothing.items()]
        return [*told, *(Message("warning", words) for words in wrong)]

    def prepare(self, campaign: Campaign, run_dir: RunDir, index: int) -> Launch:
        """Name the document in the spec, by where it lies from there: runs are moved."""
        directory = run_dir.instance(instance_names(campaign)[index])
        engine = {**campaign.engine, "targets": os.path.relpath(run_dir.targets, directory)}
        return super().prepare(replace(campaign, engine=engine), run_dir, index)


_LAUNCHERS: Mapping[str, Launcher] = {
    "zest": InProcess(),
    "spoton": Spoton(),
    "text": InProcess(),
    "mu2": InProcess(signal.SIGUSR2),
    "afl": AflFuzz(),
}
"""Launchers by ``[engine] kind``."""


def launcher_for(kind: str) -> Launcher:
    """The launcher of that kind. Raises :class:`SupervisorError`."""
    try:
        return _LAUNCHERS[kind]
    except KeyError:
        known = ", ".join(_LAUNCHERS)
        raise SupervisorError(f"engine.kind = {kind!r}: this version can start {known}") from None

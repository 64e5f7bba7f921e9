"""What type targeting does before instances start: the analysis (docs/spoton.md), and constants."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fuzztui.engines.kinds import kind_named
from fuzztui.features.targeting.run_analysis import analyse, analyse_again, hashes_file
from fuzztui.features.targeting.run_constants import keep_constants
from fuzztui.kernel.wire.events import Message
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.inprocess.ask import ready, unknown_aliases
from fuzztui.run.process.service import Service, ServiceContext


class TargetingSetup(Service):
    """Writes ``targets.json`` of a run, and ``constants.json`` if its generator draws constants."""

    def __init__(self, campaign: Campaign, run_dir: RunDir) -> None:
        self._campaign, self._run_dir = campaign, run_dir

    def setup(self, progress: Callable[[str], None]) -> Sequence[Message]:
        """Analyse the target before the first start, and again if its files have changed.

        Before the first analysis, checks that an engine can start; raises
        :class:`~fuzztui.run.campaign.rundir.Unfit` if not. Returns messages for the log about the
        analysis, the first time also about the generator and the aliases.
        """
        messages = self._analyse(progress) if _is_targeted(self._campaign) else ()
        if self._campaign.draws_constants:
            keep_constants(self._campaign, self._run_dir, progress)
        return messages

    def _analyse(self, progress: Callable[[str], None]) -> Sequence[Message]:
        campaign, run_dir = self._campaign, self._run_dir
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


def services(context: ServiceContext) -> list[TargetingSetup]:
    """The setup, if the engine aims at types or the generator draws constants."""
    campaign = context.campaign
    wanted = _is_targeted(campaign) or campaign.draws_constants
    return [TargetingSetup(campaign, context.run_dir)] if wanted else []


def spec(campaign: Campaign, directory: Path, path: Path) -> Mapping[str, Any]:
    """Return the path of the analysis, relative to ``spec.json``, because runs can be moved.

    Also if the file was deleted, so that the engine reports that and does not start.
    """
    home = RunDir(directory.parent.parent)
    targets, hashes = home.targets, hashes_file(home)
    if not _is_targeted(campaign) or not (targets.exists() or hashes.exists()):
        return {}
    return {"engine": {"targets": os.path.relpath(targets, path.parent)}}


def _is_targeted(campaign: Campaign) -> bool:
    return campaign.kind != AFL and kind_named(campaign.kind).analysis

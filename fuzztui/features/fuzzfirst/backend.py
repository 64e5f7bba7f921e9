"""The interface between fuzz-first and one kind of target: C programs for AFL++, or Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import psutil

from fuzztui.features.fuzzfirst.batch import AflBatch, BatchRunner
from fuzztui.features.fuzzfirst.build import Build, MutantBuilder
from fuzztui.features.fuzzfirst.duplicates import DuplicateMutants
from fuzztui.features.fuzzfirst.program_output import Outputs
from fuzztui.features.fuzzfirst.prune import Input
from fuzztui.features.fuzzfirst.python_backend import PythonBackend
from fuzztui.features.fuzzfirst.reach import BuildReach, reach_by_gcov
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.instances.phase import ReportStep
from fuzztui.run.triage.program import keeps_shadow

MIN_MEMORY = 1 << 30
"""Lower bound of a mutant's memory limit, in bytes, if the campaign sets no limit."""


class Comparison(Protocol):
    """Compares the output of mutants with the output of the target."""

    async def differing(self, command: Sequence[str], inputs: Sequence[Input]) -> dict[str, str]:
        """Return digests of inputs on which the mutant's output differs, each with "output"."""


class MutantBackend(Protocol):
    """Builds and runs the mutants of one kind of target."""

    duplicates: DuplicateMutants
    """The digests of the mutants that were compiled."""

    @property
    def tree(self) -> Path:
        """Directory with a copy of the sources, as they were when the run first started."""

    @property
    def sources(self) -> list[tuple[str, str]]:
        """The mutated files of the tree, each with its lines ("": all); after :meth:`prepare`."""

    async def prepare(self, progress: ReportStep) -> None:
        """Prepare for building. Raises :class:`~fuzztui.run.campaign.rundir.SupervisorError`."""

    async def build(self, mutant: SourceMutant, into: Path) -> Build:
        """Build one mutant into the directory ``into``; a failed build is part of the result."""

    def target(self, command: Sequence[str]) -> dict[str, Any]:
        """Return the campaign's ``target`` with ``command``, a mutant's, instead of its own."""

    def batch(self, command: Sequence[str], label: str) -> BatchRunner:
        """Return a runner for inputs on the mutant with this command; (): on the target."""

    async def reach(self, seeds: Sequence[Path]) -> BuildReach:
        """Find all functions, and the lines that these seeds execute. Raises SupervisorError."""

    def outputs(self) -> Comparison:
        """Return a comparison of outputs, which compares one mutant at a time."""


class AflBackend:
    """The backend for programs that are built with afl-cc and run by AFL++."""

    def __init__(self, campaign: Campaign, run_dir: RunDir) -> None:
        self._campaign = campaign
        self._run_dir = run_dir
        self._builder = MutantBuilder(campaign, run_dir)
        self.prepare = self._builder.prepare
        self.build = self._builder.build
        self.duplicates = self._builder.duplicates

    @property
    def tree(self) -> Path:
        """The source of the builder's private copy."""
        return self._run_dir.mutants / "work" / "origin" / "source"

    @property
    def sources(self) -> list[tuple[str, str]]:
        """The campaign's ``mutants.sources``."""
        return list(self._campaign.mutants["sources"])

    def target(self, command: Sequence[str]) -> dict[str, Any]:
        """As :class:`MutantBackend`; without a CmpLog binary, which would double the cost."""
        target = self._campaign.target
        cmplog = target["cmplog"] if target["cmplog"] == "0" else ""
        memory: int = target["memory_bytes"]
        if not memory and not keeps_shadow(command[0]):  # a mutant may allocate without end
            memory = max(MIN_MEMORY, psutil.virtual_memory().total // 4)
        own = {"command": list(command), "cmplog": cmplog, "memory_bytes": memory}
        return {**target, **own}

    def batch(self, command: Sequence[str], label: str) -> BatchRunner:
        """As :class:`MutantBackend`, with afl-showmap."""
        campaign = self._campaign
        if not command:
            return AflBatch(campaign, self._run_dir, campaign.target["command"], label)
        target = self.target(command)
        if campaign.mutants["cwd"] == "private":
            target["cwd"] = ""
        return AflBatch(replace(campaign, target=target), self._run_dir, command, label)

    async def reach(self, seeds: Sequence[Path]) -> BuildReach:
        """As :class:`MutantBackend`, with gcov."""
        return await reach_by_gcov(self._campaign, self._run_dir, self.tree, seeds)

    def outputs(self) -> Comparison:
        """As :class:`MutantBackend`: compares exit status and stdout."""
        return Outputs(self._campaign, self._run_dir, "oracle")


def backend_for(campaign: Campaign, run_dir: RunDir) -> MutantBackend:
    """Return the backend for the campaign's kind of target."""
    if "command" in campaign.target:
        return AflBackend(campaign, run_dir)
    return PythonBackend(campaign, run_dir)

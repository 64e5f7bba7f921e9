"""The backend for AFL++ targets that are given as source (``target.build``).

A mutant is first compiled without AFL++'s passes, which is several times cheaper. This build shows
whether the mutant compiles, and whether its program is that of the original or of another mutant.
Only the remaining mutants are built to be fuzzed. Both builds run the user's own command, each in
its own build environment (:mod:`.build_environment`), in ``RUN/mutants/work``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil

from fuzztui.features.fuzzfirst.baseline import CHECKS, Baseline
from fuzztui.features.fuzzfirst.batch import AflBatch, BatchRunner
from fuzztui.features.fuzzfirst.build import MutantBackend, directory_name, duplicate_of
from fuzztui.features.fuzzfirst.build_environment import BuildEnvironment
from fuzztui.features.fuzzfirst.build_tree import BuildTreeError, mutated
from fuzztui.features.fuzzfirst.failed_builds import made
from fuzztui.features.fuzzfirst.program_output import Outputs
from fuzztui.features.fuzzfirst.python_backend import PythonBackend
from fuzztui.features.fuzzfirst.reach import BuildReach, reach_by_gcov
from fuzztui.features.fuzzfirst.repair import NearMissRepair
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.features.fuzzfirst.threads import in_thread
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.instances.phase import ReportStep
from fuzztui.run.triage.program import keeps_shadow

MIN_MEMORY = 1 << 30
"""Lower bound of a mutant's memory limit, in bytes, if the campaign sets no limit."""


class AflBackend(MutantBackend):
    """Programs that are built with afl-cc and run by AFL++."""

    def __init__(self, campaign: Campaign, run_dir: RunDir) -> None:
        super().__init__(campaign, run_dir)
        self.baseline = Baseline(campaign, run_dir)

    @property
    def tree(self) -> Path:
        """The source of the builder's private copy."""
        return self._run_dir.mutants / "work" / "origin" / "source"

    @property
    def checks(self) -> Path:
        """As :class:`MutantBackend`."""
        return self._run_dir.mutants / "work" / CHECKS

    @property
    def sources(self) -> list[tuple[str, str]]:
        """The campaign's ``mutants.sources``."""
        return list(self._campaign.table("mutants")["sources"])

    async def prepare(self, progress: ReportStep) -> None:
        """Prepare the original: see :meth:`Baseline.prepare`."""
        async with self._lock:
            await self.baseline.prepare(progress)

    @cached_property
    def repair(self) -> NearMissRepair:
        """As :class:`MutantBackend`: afl-fuzz does not study inputs that are no entries."""
        of = (self._campaign, self._run_dir, self.baseline.origin, self.baseline.product.name)
        return NearMissRepair(*of, limit=self.baseline.limit)

    async def _build(self, mutant: SourceMutant, into: Path) -> str:
        baseline, digest = self.baseline, ""
        name, text = await in_thread(lambda: self._text(mutant))
        plain, environment = baseline.environments()
        if plain:
            await self._make(plain, mutant, name, text)
            digest = await in_thread(lambda: baseline.product.digest(plain.tree))
            if duplicate := duplicate_of(mutant.id, digest, self.digests, baseline.original):
                self.digests[mutant.id] = digest
                return duplicate
        await self._make(environment, mutant, name, text)
        await in_thread(
            lambda: baseline.product.settle(environment.program, environment.tree, into)
        )
        if digest:
            self.digests[mutant.id] = digest
        return ""

    def _text(self, mutant: SourceMutant) -> tuple[str, bytes]:
        """Return the name of the file that the mutant changes, and the changed text."""
        origin = self.baseline.origin
        name = origin.name_of(mutant.file)
        return name, mutated(origin.text(name), mutant)

    async def _make(
        self, environment: BuildEnvironment, mutant: SourceMutant, name: str, text: bytes
    ) -> None:
        """Run the build. Raises :class:`BuildTreeError` if it makes no program."""
        outcome = await environment.mutant(name, text, self.baseline.limit)
        if not made(outcome, environment.program):
            raise BuildTreeError(
                await self.baseline.failure(directory_name(mutant.id), outcome, environment)
            )

    def _command(self, into: Path) -> tuple[str, ...]:
        program = into / self.baseline.product.name
        return (str(program), *self._campaign.target["command"][1:])

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
        if campaign.table("mutants")["cwd"] == "private":
            target["cwd"] = ""
        return AflBatch(replace(campaign, target=target), self._run_dir, command, label)

    async def reach(self, seeds: Sequence[Path]) -> BuildReach:
        """As :class:`MutantBackend`, with gcov."""
        return await reach_by_gcov(self._campaign, self._run_dir, self.tree, seeds)

    def outputs(self) -> Outputs:
        """As :class:`MutantBackend`: compares exit status and stdout."""
        return Outputs(self._campaign, self._run_dir)


def backend_for(campaign: Campaign, run_dir: RunDir) -> MutantBackend:
    """Return the backend for the campaign's kind of target."""
    if "command" in campaign.target:
        return AflBackend(campaign, run_dir)
    return PythonBackend(campaign, run_dir)

"""What the mutant phase must know of a kind of target: the seam where Python stands beside C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import psutil

from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir
from fuzztui.fuzzfirst.batch import AflBatch, BatchRunner
from fuzztui.fuzzfirst.build import Build, MutantBuilder
from fuzztui.fuzzfirst.context import Told
from fuzztui.fuzzfirst.program_output import Outputs
from fuzztui.fuzzfirst.prune import Input
from fuzztui.fuzzfirst.python_backend import PythonBackend
from fuzztui.fuzzfirst.reach import BuildReach, reach_by_gcov
from fuzztui.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.triage.program import keeps_shadow

__all__ = ["MutantBackend", "ground_for"]


MIN_MEMORY = 1 << 30
"""Bytes that a mutant may have at least, where the campaign sets no limit."""


class Comparison(Protocol):
    """Tells mutants by what they answer."""

    async def differing(self, command: Sequence[str], inputs: Sequence[Input]) -> dict[str, str]:
        """Digests of inputs on which the mutant with that command answers otherwise: "output"."""


class MutantBackend(Protocol):
    """How mutants of one kind of target are made and run."""

    @property
    def tree(self) -> Path:
        """Where the sources are that mutants are made of: as they were at the first start."""

    @property
    def sources(self) -> list[tuple[str, str]]:
        """What is mutated: files of the tree, and which of their lines ("": all of them).

        Known once it is made ready.
        """

    async def prepare(self, told: Told) -> None:
        """Make ready for building. Raises :class:`~fuzztui.campaign.rundir.SupervisorError`."""

    async def build(self, mutant: SourceMutant, into: Path) -> Build:
        """Build one mutant; what is wrong with it is in the answer."""

    def known(self, digests: dict[str, str]) -> None:
        """What was built before: the linked binary's digest by mutant id."""

    @property
    def digests(self) -> dict[str, str]:
        """The same, of all so far."""

    def target(self, command: Sequence[str]) -> dict[str, Any]:
        """The campaign's ``target`` for the mutant that is run by ``command``."""

    def batch(self, command: Sequence[str], label: str) -> BatchRunner:
        """Runs corpora on the mutant with that command; on the target itself for ()."""

    async def reach(self, seeds: Sequence[Path]) -> BuildReach:
        """Where functions are, and what these seeds execute. Raises SupervisorError."""

    def outputs(self) -> Comparison:
        """Tells mutants by their output. One at a time."""


class AflBackend:
    """Programs that are built with afl-cc and run by AFL++."""

    def __init__(self, campaign: Campaign, home: RunDir) -> None:
        self._campaign = campaign
        self._home = home
        self._builder = MutantBuilder(campaign, home)
        self.prepare = self._builder.prepare
        self.build = self._builder.build

    @property
    def tree(self) -> Path:
        """The builder's private copy."""
        return self._home.mutants / "work" / "origin" / "source"

    @property
    def sources(self) -> list[tuple[str, str]]:
        """As the campaign names them."""
        return list(self._campaign.mutants["sources"])

    def known(self, digests: dict[str, str]) -> None:
        """See :class:`MutantBackend`."""
        self._builder.known(digests)

    @property
    def digests(self) -> dict[str, str]:
        """See :class:`MutantBackend`."""
        return dict(self._builder.digests)

    def target(self, command: Sequence[str]) -> dict[str, Any]:
        """Its own program, and no CmpLog binary: that would double what a mutant costs."""
        target = self._campaign.target
        cmplog = target["cmplog"] if target["cmplog"] == "0" else ""
        memory: int = target["memory_bytes"]
        if not memory and not keeps_shadow(command[0]):  # who knows what a mutant wants of it
            memory = max(MIN_MEMORY, psutil.virtual_memory().total // 4)
        own = {"command": list(command), "cmplog": cmplog, "memory_bytes": memory}
        return {**target, **own}

    def batch(self, command: Sequence[str], label: str) -> BatchRunner:
        """By afl-showmap."""
        campaign = self._campaign
        if not command:
            return AflBatch(campaign, self._home, campaign.target["command"], label)
        target = self.target(command)
        if campaign.mutants["cwd"] == "private":
            target["cwd"] = ""
        return AflBatch(replace(campaign, target=target), self._home, command, label)

    async def reach(self, seeds: Sequence[Path]) -> BuildReach:
        """By gcov."""
        return await reach_by_gcov(self._campaign, self._home, self.tree, seeds)

    def outputs(self) -> Comparison:
        """By exit status and stdout."""
        return Outputs(self._campaign, self._home, "oracle")


def ground_for(campaign: Campaign, home: RunDir) -> MutantBackend:
    """The one that fits the campaign. Raises :class:`~fuzztui.campaign.rundir.SupervisorError`."""
    if "command" in campaign.target:
        return AflBackend(campaign, home)
    return PythonBackend(campaign, home)

"""Build the mutants of an AFL++ target that is given as source (``target.build``).

A mutant is first compiled without AFL++'s passes, which is several times cheaper. This build shows
whether the mutant compiles, and whether its program is that of the original or of another mutant.
Only the remaining mutants are built to be fuzzed. Both builds run the user's own command, each in
its own build environment (:mod:`.build_environment`).
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fuzztui.features.fuzzfirst.baseline import Baseline
from fuzztui.features.fuzzfirst.build_environment import BuildEnvironment
from fuzztui.features.fuzzfirst.build_tree import BuildTreeError, mutated
from fuzztui.features.fuzzfirst.duplicates import DuplicateMutants
from fuzztui.features.fuzzfirst.failed_builds import made
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.features.fuzzfirst.threads import in_thread
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessResult


@dataclass(frozen=True, slots=True)
class Build:
    """The result of building a mutant.

    ``command``: target.command with the mutant's program; () if there is no program to fuzz. The
    reason is then ``error``, the printable message of the compiler, or ``duplicate_of``:
    "original", or the id of an earlier mutant with the same linked binary.
    """

    command: tuple[str, ...]
    error: str
    seconds: float
    duplicate_of: str


class _Failed(Exception):
    """A mutant cannot be built; the message is the reason."""


class MutantBuilder:
    """Builds mutants of a campaign's target, one at a time, in ``RUN/mutants/work``."""

    def __init__(self, campaign: Campaign, run_dir: RunDir) -> None:
        self.baseline = Baseline(campaign, run_dir)
        self._campaign = campaign
        self._lock = asyncio.Lock()
        self.duplicates = DuplicateMutants()

    async def prepare(self, progress: Callable[[str], None]) -> None:
        """Prepare the original: see :meth:`Baseline.prepare`."""
        async with self._lock:
            await self.baseline.prepare(progress)

    async def build(self, mutant: SourceMutant, into: Path) -> Build:
        """Build a mutant: put its program, and the files that it needs, into ``into``.

        Can be cancelled at any moment without harm to the next build. Raises OSError for errors
        that the mutant did not cause, such as a full disk.
        """
        async with self._lock:
            began = time.monotonic()
            built: list[str] = []
            duplicate = error = ""
            try:
                name, text = await in_thread(lambda: self._text(mutant))
                duplicate = await self._build(mutant, name, text, into)
                if not duplicate:
                    program = into / self.baseline.product.name
                    built = [str(program), *self._campaign.target["command"][1:]]
            except (BuildTreeError, _Failed, SupervisorError) as e:
                error = str(e)
            finally:
                if not built:
                    shutil.rmtree(into, ignore_errors=True)
            return Build(tuple(built), error, time.monotonic() - began, duplicate)

    def _text(self, mutant: SourceMutant) -> tuple[str, bytes]:
        """Return the name of the file that the mutant changes, and the changed text."""
        origin = self.baseline.origin
        name = origin.name_of(mutant.file)
        return name, mutated(origin.text(name), mutant)

    async def _build(self, mutant: SourceMutant, name: str, text: bytes, into: Path) -> str:
        """Return the duplicate's id. Raises :class:`_Failed`, OSError, :class:`SupervisorError`."""
        baseline, digest = self.baseline, ""
        plain, environment = baseline.environments()
        if plain:
            outcome = await plain.mutant(name, text, baseline.limit)
            await self._check(mutant, outcome, plain.program, plain)
            digest = await in_thread(lambda: baseline.product.digest(plain.tree))
            if duplicate := self._duplicate(mutant, digest):
                return duplicate
        outcome = await environment.mutant(name, text, baseline.limit)
        await self._check(mutant, outcome, environment.program, environment)
        await self._settle(environment.program, environment, into)
        if digest:
            self.duplicates.add(mutant.id, digest)
        return ""

    def _duplicate(self, mutant: SourceMutant, digest: str) -> str:
        """Return the mutant with the same program, and record that; an empty string: none."""
        duplicate = self.duplicates.of(mutant.id, digest, self.baseline.original)
        if duplicate:
            self.duplicates.add(mutant.id, digest)
        return duplicate

    async def _check(
        self,
        mutant: SourceMutant,
        outcome: ProcessResult,
        program: Path,
        environment: BuildEnvironment,
    ) -> None:
        """Raise :class:`_Failed` if a build made no program."""
        if not made(outcome, program):
            raise _Failed(
                await self.baseline.failure(directory_name(mutant.id), outcome, environment)
            )

    async def _settle(self, program: Path, environment: BuildEnvironment, into: Path) -> None:
        await in_thread(lambda: self.baseline.product.settle(program, environment.tree, into))


def directory_name(mutant: str) -> str:
    """Return the directory name of a mutant: a hash, because its id may contain any characters."""
    return hashlib.sha256(mutant.encode(errors="backslashreplace")).hexdigest()[:24]

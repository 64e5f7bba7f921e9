"""Build the mutants of an AFL++ target that is given as source (``target.build``).

A mutant is first compiled without AFL++'s passes, which is several times cheaper. That build shows
whether the mutant compiles, and whether it is equivalent or a duplicate. Only the other mutants are
built for fuzzing: incrementally (:mod:`.incremental_build`), or by the user's command.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.fuzzfirst.baseline import FAST, WHOLE, Baseline
from fuzztui.fuzzfirst.build_environment import BuildEnvironment
from fuzztui.fuzzfirst.build_tree import BuildTreeError, mutated
from fuzztui.fuzzfirst.duplicates import DuplicateMutants, digest_of
from fuzztui.fuzzfirst.failed_builds import made
from fuzztui.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.fuzzfirst.threads import in_thread
from fuzztui.process.execute import ProcessResult

__all__ = ["Build", "MutantBuilder", "directory_name"]


@dataclass(frozen=True, slots=True)
class Build:
    """The result of building a mutant.

    ``command``: target.command with the mutant's program; () if the mutant is not fuzzed.
    ``error``: why the build failed, printable, with the compiler's output; "" if it did not fail.
    ``twin``: "original" or the id of an earlier mutant with the same linked binary; "" for none.
    ``how``: "fast" (incremental) or "whole".
    """

    command: tuple[str, ...]
    error: str
    seconds: float
    how: str
    twin: str


class _Failed(Exception):
    """A mutant cannot be built; the message is the reason."""


class MutantBuilder:
    """Builds mutants of a campaign's target, one at a time, in ``RUN/mutants/work``."""

    def __init__(self, campaign: Campaign, run_dir: RunDir) -> None:
        self.baseline = Baseline(campaign, run_dir)
        self._campaign = campaign
        self._lock = asyncio.Lock()
        self._twins = DuplicateMutants()

    @property
    def digests(self) -> Mapping[str, str]:
        """Digest of the linked binary of each compiled mutant, to be kept over restarts."""
        return self._twins.digests

    def restore_digests(self, twins: Mapping[str, str]) -> None:
        """Restore the digests of an earlier start."""
        self._twins.restore_digests(twins)

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
            how = "whole"
            built: list[str] = []
            twin = error = ""
            try:
                name, text = await in_thread(lambda: self._text(mutant))
                if steps := self.baseline.steps_of(name):
                    how = "fast"
                    twin = await self._fast_build(mutant, name, text, steps, into)
                else:
                    twin = await self._whole_build(mutant, name, text, into)
                if not twin:
                    program = into / self.baseline.product.name
                    built = [str(program), *self._campaign.target["command"][1:]]
            except (BuildTreeError, _Failed, SupervisorError) as e:
                error = str(e)
            finally:
                if not built:
                    shutil.rmtree(into, ignore_errors=True)
            return Build(tuple(built), error, time.monotonic() - began, how, twin)

    def _text(self, mutant: SourceMutant) -> tuple[str, bytes]:
        """Return the name of the file that the mutant changes, and the changed text."""
        origin = self.baseline.origin
        name = origin.name_of(mutant.file)
        return name, mutated(origin.text(name), mutant)

    async def _fast_build(
        self, mutant: SourceMutant, name: str, text: bytes, steps: list[int], into: Path
    ) -> str:
        """Return the duplicate's original, or "". Raises :class:`_Failed`, OSError."""
        digest = ""
        for path, room in self.baseline.fast:
            with room.tree.holding(name, text):
                outcome = await path.mutant(steps, self.baseline.limit)
            await self._check(mutant, outcome, path.program, room)
            if not digest:
                digest = await in_thread(functools.partial(digest_of, [path.program]))
                if twin := self._twin(mutant, digest, FAST):
                    return twin
        await self._settle(path.program, room, into)
        self._twins.add(mutant.id, digest)
        return ""

    async def _whole_build(self, mutant: SourceMutant, name: str, text: bytes, into: Path) -> str:
        """As :meth:`_fast_build`; raises :class:`SupervisorError`, too."""
        baseline, digest = self.baseline, ""
        plain, room = await baseline.whole_environments()
        if plain:
            outcome = await plain.mutant(name, text, baseline.limit)
            await self._check(mutant, outcome, plain.program, plain)
            digest = await in_thread(lambda: baseline.product.digest(plain.tree))
            if twin := self._twin(mutant, digest, WHOLE):
                return twin
        outcome = await room.mutant(name, text, baseline.limit)
        await self._check(mutant, outcome, room.program, room)
        await self._settle(room.program, room, into)
        if digest:
            self._twins.add(mutant.id, digest)
        return ""

    def _twin(self, mutant: SourceMutant, digest: str, way: str) -> str:
        """Return what the mutant duplicates, and record its digest if so; "" for no duplicate."""
        twin = self._twins.of(mutant.id, digest, self.baseline.originals[way])
        if twin:
            self._twins.add(mutant.id, digest)
        return twin

    async def _check(
        self, mutant: SourceMutant, outcome: ProcessResult, program: Path, room: BuildEnvironment
    ) -> None:
        """Raise :class:`_Failed` if a build made no program."""
        if not made(outcome, program):
            raise _Failed(await self.baseline.failure(directory_name(mutant.id), outcome, room))

    async def _settle(self, program: Path, room: BuildEnvironment, into: Path) -> None:
        await in_thread(lambda: self.baseline.product.settle(program, room.tree, into))


def directory_name(mutant: str) -> str:
    """Return the directory name of a mutant: a hash, because its id may contain any characters."""
    return hashlib.sha256(mutant.encode(errors="backslashreplace")).hexdigest()[:24]

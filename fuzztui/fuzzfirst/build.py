"""Build the mutants of an AFL++ target that is given as source (``target.build``).

A mutant is compiled without AFL++'s passes first, which is several times cheaper: that tells
whether it compiles, and whether its program is the original's or another mutant's. Only what is
left is built to be fuzzed. Both by the user's own command, in a room each (:mod:`.room`).
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.fuzzfirst.baseline import Baseline
from fuzztui.fuzzfirst.build_environment import BuildEnvironment
from fuzztui.fuzzfirst.build_tree import BuildTreeError, mutated
from fuzztui.fuzzfirst.duplicates import DuplicateMutants
from fuzztui.fuzzfirst.failed_builds import made
from fuzztui.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.fuzzfirst.threads import in_thread
from fuzztui.process.execute import ProcessResult


@dataclass(frozen=True, slots=True)
class Build:
    """The result of building a mutant.

    ``command`` is target.command with the mutant's program, () if there is none to be fuzzed;
    ``error`` tells why in the compiler's words, printable, "" where ``twin`` does: "original",
    or the id of an earlier mutant with the same linked binary.
    """

    command: tuple[str, ...]
    error: str
    seconds: float
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
            built: list[str] = []
            twin = error = ""
            try:
                name, text = await in_thread(lambda: self._text(mutant))
                twin = await self._build(mutant, name, text, into)
                if not twin:
                    program = into / self.baseline.product.name
                    built = [str(program), *self._campaign.target["command"][1:]]
            except (BuildTreeError, _Failed, SupervisorError) as e:
                error = str(e)
            finally:
                if not built:
                    shutil.rmtree(into, ignore_errors=True)
            return Build(tuple(built), error, time.monotonic() - began, twin)

    def _text(self, mutant: SourceMutant) -> tuple[str, bytes]:
        """Return the name of the file that the mutant changes, and the changed text."""
        origin = self.baseline.origin
        name = origin.name_of(mutant.file)
        return name, mutated(origin.text(name), mutant)

    async def _build(self, mutant: SourceMutant, name: str, text: bytes, into: Path) -> str:
        """Returns the twin. Raises :class:`_Failed`, OSError, :class:`SupervisorError`."""
        baseline, digest = self.baseline, ""
        plain, room = baseline.rooms()
        if plain:
            outcome = await plain.mutant(name, text, baseline.limit)
            await self._check(mutant, outcome, plain.program, plain)
            digest = await in_thread(lambda: baseline.product.digest(plain.tree))
            if twin := self._twin(mutant, digest):
                return twin
        outcome = await room.mutant(name, text, baseline.limit)
        await self._check(mutant, outcome, room.program, room)
        await self._settle(room.program, room, into)
        if digest:
            self._twins.add(mutant.id, digest)
        return ""

    def _twin(self, mutant: SourceMutant, digest: str) -> str:
        """Whom it is the twin of, which is noted then; "" for nobody."""
        twin = self._twins.of(mutant.id, digest, self.baseline.original)
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

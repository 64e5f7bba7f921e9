"""The interface between fuzz-first and one kind of target, and how one mutant is built."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fuzztui.features.fuzzfirst.batch import BatchRunner
from fuzztui.features.fuzzfirst.build_tree import BuildTreeError
from fuzztui.features.fuzzfirst.prune import Input
from fuzztui.features.fuzzfirst.reach import BuildReach
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.features.fuzzfirst.threads import in_thread
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.instances.phase import ReportStep


@dataclass(frozen=True, slots=True)
class Build:
    """The result of building a mutant.

    ``command``: runs the mutant; () if there is no program to fuzz. The reason is then ``error``,
    the printable message of the compiler, or ``duplicate_of``: "original", or the id of an earlier
    mutant with the same program.
    """

    command: tuple[str, ...]
    error: str
    seconds: float
    duplicate_of: str


class Comparison(Protocol):
    """Compares the output of mutants with the output of the target."""

    async def differing(self, command: Sequence[str], inputs: Sequence[Input]) -> dict[str, str]:
        """Return digests of inputs on which the mutant's output differs, each with "output"."""


class Repair(Protocol):
    """Makes inputs of near misses."""

    async def __call__(
        self, near: Iterable[Input], take: Callable[[Input, list[Input]], Awaitable[None]]
    ) -> None:
        """Call ``take`` with each near miss and the inputs made of it. Raises SupervisorError."""


class MutantBackend(ABC):
    """Builds and runs the mutants of one kind of target: C programs for AFL++, or Python."""

    def __init__(self, campaign: Campaign, run_dir: RunDir) -> None:
        self._campaign = campaign
        self._run_dir = run_dir
        self._lock = asyncio.Lock()
        self.digests: dict[str, str] = {}
        """Digests of the mutants that were compiled, by id; to be kept over restarts."""

    async def build(self, mutant: SourceMutant, into: Path) -> Build:
        """Build one mutant into the directory ``into``; a failed build is part of the result.

        Can be cancelled at any moment without harm to the next build. Raises OSError for errors
        that the mutant did not cause, such as a full disk.
        """
        async with self._lock:
            began = time.monotonic()
            built: tuple[str, ...] = ()
            duplicate = error = ""
            try:
                duplicate = await self._build(mutant, into)
                if not duplicate:
                    built = self._command(into)
            except (BuildTreeError, SupervisorError) as e:
                error = str(e)
            finally:
                if not built:
                    await in_thread(functools.partial(shutil.rmtree, into, ignore_errors=True))
            return Build(built, error, time.monotonic() - began, duplicate)

    @abstractmethod
    async def _build(self, mutant: SourceMutant, into: Path) -> str:
        """Return what the mutant duplicates, or "".

        Raises OSError, :class:`BuildTreeError`, :class:`SupervisorError`.
        """

    @abstractmethod
    def _command(self, into: Path) -> tuple[str, ...]:
        """Return the command of the mutant that was built into ``into``."""

    @property
    @abstractmethod
    def tree(self) -> Path:
        """Directory with a copy of the sources, as they were when the run first started."""

    @property
    def checks(self) -> Path | None:
        """Directory of :class:`BuildCheck`; None: the language has no compiler calls."""
        return None

    @property
    @abstractmethod
    def sources(self) -> list[tuple[str, str]]:
        """The mutated files of the tree, each with its lines ("": all); after :meth:`prepare`."""

    @abstractmethod
    async def prepare(self, progress: ReportStep) -> None:
        """Prepare for building. Raises :class:`SupervisorError`."""

    @abstractmethod
    def target(self, command: Sequence[str]) -> dict[str, Any]:
        """Return the campaign's ``target`` with ``command``, a mutant's, instead of its own."""

    @abstractmethod
    def batch(self, command: Sequence[str], label: str) -> BatchRunner:
        """Return a runner for inputs on the mutant with this command; (): on the target."""

    @abstractmethod
    async def reach(self, seeds: Sequence[Path]) -> BuildReach:
        """Find all functions, and the lines that these seeds execute. Raises SupervisorError."""

    @property
    def repair(self) -> Repair | None:
        """What repairs near misses; None: the target's engine does that itself."""
        return None

    @abstractmethod
    def outputs(self) -> Comparison:
        """Return a comparison of outputs, which compares one mutant at a time."""


def duplicate_of(mutant: str, digest: str, digests: Mapping[str, str], original: str) -> str:
    """Return what a mutant duplicates: "original", the first mutant with its digest, or ""."""
    if digest == original:
        return "original"
    first = next((other for other, known in digests.items() if known == digest), mutant)
    return "" if first == mutant else first


def directory_name(mutant: str) -> str:
    """Return the directory name of a mutant: a hash, because its id may contain any characters."""
    return hashlib.sha256(mutant.encode(errors="backslashreplace")).hexdigest()[:24]

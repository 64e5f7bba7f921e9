"""Rank mutants: by a process of its own, or once on one machine, for hosts, into a file.

Hosts get the file with the campaign, because ranking needs packages that they may lack. Each host
takes the mutants of its shard, in the order of the whole program's ranking.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from fuzztui.features.fuzzfirst.backend import backend_for
from fuzztui.features.fuzzfirst.build import MutantBackend
from fuzztui.features.fuzzfirst.json_lines import JsonObjects
from fuzztui.features.fuzzfirst.reach import BuildReach
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.shards import parse_shard
from fuzztui.kernel.wire.events import MutantsShard
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark, execute

_LIMIT_S = 7 * 86400.0

MEASURED: Final = "reach.json"
"""File in ``RUN/mutants`` with what the corpus reached when the mutants were first ranked."""


def needs_reach(campaign: Campaign) -> bool:
    """Whether the mutants, or their order, depend on functions or on executed lines."""
    mutants = campaign.table("mutants")
    return bool(mutants["functions"] or mutants["covered"] or mutants["order"] == "roadblocks")


class Ranking:
    """Runs :mod:`fuzztui.features.fuzzfirst.ranking_process` on the sources of ``backend``.

    :param found: called with each mutant, in ranking order.
    """

    def __init__(
        self,
        run_dir: RunDir,
        backend: MutantBackend,
        reach: BuildReach,
        found: Callable[[SourceMutant], None],
        key: str = "",
    ) -> None:
        """``key``: what the ranking depends on, kept in the file :data:`MEASURED`."""
        self._run_dir = run_dir
        self._key = key
        self._backend = backend
        self._reach = reach
        self._found = found
        self._error = ""
        self.ready = asyncio.Event()
        """Set when the process has read the sources, or has ended."""
        self.notes: list[str] = []
        self.figures: Mapping[str, float] = {}
        self.excluded: list[SourceMutant] = []
        """The mutants that a pragma excludes."""
        self.program, self.program_mutants = "", 0
        """The sum of the program's mutants, and their number; set when ``ready`` is."""
        self.shard: MutantsShard | None = None
        """Which part of the mutants is ranked; None: all."""

    async def run(self) -> None:
        """Run to the end. Raises :class:`SupervisorError` if there are no mutants."""
        command = [sys.executable, "-P", "-m", "fuzztui.features.fuzzfirst.ranking_process"]
        reach = self._run_dir.mutants / MEASURED
        command += [
            str(self._run_dir.campaign),
            str(self._backend.tree),
            json.dumps(self._backend.sources),
            str(reach),
            str(self._backend.checks or ""),
        ]
        try:
            measured = {"key": self._key, **self._reach.to_json()}
            await asyncio.to_thread(replace_text, reach, json.dumps(measured))
            outcome = await execute(
                command,
                ProcessMark(self._run_dir.path, "ranking"),
                cwd=self._run_dir.path,
                limit=_LIMIT_S,
                stdout=True,
                on_output=JsonObjects(self._take).take,
            )
        finally:
            self.ready.set()
        if self._error:
            raise SupervisorError(self._error)
        if outcome.status != 0:
            last = outcome.output.decode(errors="replace").strip().splitlines()[-1:]
            raise SupervisorError(f"mutants.sources: ranking failed: {' '.join(last)}")

    def _take(self, answer: Mapping[str, Any]) -> None:
        match answer:
            case {"ready": list(notes)}:
                self.notes = [str(note) for note in notes]
                self.ready.set()
            case {"shard": [int(number), int(of), int(mutants), str(program)]}:
                self.shard = MutantsShard("", number, of, mutants, program)
            case {"program": [int(mutants), str(program)]}:
                self.program, self.program_mutants = program, mutants
            case {"mutant": dict(fields)}:
                self._found(SourceMutant(**fields))
            case {"excluded": dict(fields)}:
                self.excluded.append(SourceMutant(**fields))
            case {"figures": dict(figures)}:
                self.figures = figures
            case {"error": str(message)}:
                self._error = message


RANKED: Final = "mutants/ranked.json"
"""File in a hub's run directory with the ranked mutants of the whole program."""


class RankedMutants:
    """The mutants of a file :data:`RANKED`, with the attributes of :class:`Ranking`."""

    def __init__(
        self, data: Mapping[str, Any], shard: str, found: Callable[[SourceMutant], None]
    ) -> None:
        """``shard``: the part of the mutants that is wanted; an empty string: all.

        Raises SupervisorError for a file that is damaged.
        """
        self.ready = asyncio.Event()
        self.ready.set()
        self.notes: list[str] = []
        self.shard: MutantsShard | None = None
        self._found = found
        try:
            self.reach = BuildReach.from_json(data["reach"])
            self.figures: Mapping[str, float] = dict(data["figures"])
            program, of = str(data["program"]), int(data["of"])
            self._mutants = [SourceMutant(**row) for row in data["mutants"]]
            self.excluded = [SourceMutant(**row) for row in data.get("excluded", ())]
        except (LookupError, TypeError, ValueError, AttributeError) as e:
            raise SupervisorError(
                f"{RANKED}: is damaged ({e}); remove the file, and start the hub again"
            ) from None
        if shard:
            part = parse_shard(shard)
            self._mutants = [m for m in self._mutants if part.has(m.id)]
            self.excluded = [m for m in self.excluded if part.has(m.id)]
            self.shard = MutantsShard("", part.number, part.of, of, program)

    async def run(self) -> None:
        """Call ``found`` with each mutant."""
        for mutant in self._mutants:
            self._found(mutant)


async def rank_once(campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]) -> None:
    """Write the file :data:`RANKED` of a campaign, unless it exists. Raises SupervisorError.

    The sources must be in place, and the seeds gathered. ``campaign``: without a shard.
    """
    path = run_dir.path / RANKED
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, exist_ok=True)
    backend = backend_for(campaign, run_dir)
    progress("preparing the target's source for mutants")
    await backend.prepare(progress)
    reach = BuildReach()
    if needs_reach(campaign):
        seeds = sorted(run_dir.seeds.iterdir()) if run_dir.seeds.is_dir() else []
        progress("running the seeds on the target")
        reach = await backend.reach(seeds)
    mutants: list[SourceMutant] = []

    def found(mutant: SourceMutant) -> None:
        mutants.append(mutant)
        if len(mutants) % 100 == 0:
            most: int = campaign.table("mutants")["listed"]
            progress(f"ranking mutants: {len(mutants):,} of at most {most:,}")

    progress("ranking mutants")
    ranking = Ranking(run_dir, backend, reach, found)
    await ranking.run()
    data = {
        "reach": reach.to_json(),
        "program": ranking.program,
        "of": ranking.program_mutants,
        "figures": dict(ranking.figures),
        "mutants": [asdict(mutant) for mutant in mutants],
        "excluded": [asdict(mutant) for mutant in ranking.excluded],
    }
    await asyncio.to_thread(replace_text, Path(path), json.dumps(data))

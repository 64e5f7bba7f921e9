"""The ranked mutants of a program as a file: ranked on one machine, fuzzed on others.

Hosts get the file with the campaign, because ranking needs packages that they may lack. Each host
takes the mutants of its shard, in the order of the whole program's ranking.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from fuzztui.features.fuzzfirst.backend import backend_for
from fuzztui.features.fuzzfirst.ranking import Ranking
from fuzztui.features.fuzzfirst.reach import BuildReach
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_json
from fuzztui.kernel.base.shards import parse_shard
from fuzztui.kernel.wire.events import MutantsShard
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError

RANKED: Final = "mutants/ranked.json"
"""The file, in a run directory."""


class RankedMutants:
    """The mutants of such a file, as :class:`~fuzztui.features.fuzzfirst.ranking.Ranking` has
    them."""

    def __init__(self, data: Mapping[str, object]) -> None:
        """Raises SupervisorError for a file that is damaged."""
        self.ready = asyncio.Event()
        self.ready.set()
        self.notes: list[str] = []
        self.shard: MutantsShard | None = None
        try:
            self.reach = BuildReach.from_json(data["reach"])  # type: ignore[arg-type]
            rows: Sequence[Mapping[str, str]] = data["mutants"]  # type: ignore[assignment]
            self.figures: Mapping[str, float] = dict(data["figures"])  # type: ignore[call-overload]
            self._program = str(data["program"])
            self._of = int(data["of"])  # type: ignore[call-overload]
            self._mutants = [SourceMutant(**row) for row in rows]  # type: ignore[arg-type]
        except (LookupError, TypeError, ValueError, AttributeError) as e:
            raise SupervisorError(
                f"{RANKED}: is damaged ({e}); remove the file, and start the hub again"
            ) from None
        self._found: Callable[[SourceMutant], None] = lambda mutant: None

    @classmethod
    def of_run(
        cls, run_dir: RunDir, campaign: Campaign, found: Callable[[SourceMutant], None]
    ) -> RankedMutants | None:
        """Return the mutants that were ranked elsewhere for this run; None: it ranks its own."""
        data = read_json(run_dir.path / RANKED)
        if data is None:
            return None
        ranked = cls(data)
        ranked._found = found
        if text := campaign.mutants["shard"]:
            shard = parse_shard(text)
            ranked._mutants = [m for m in ranked._mutants if shard.has(m.id)]
            of = ranked._of
            ranked.shard = MutantsShard("", shard.number, shard.of, of, ranked._program)
        return ranked

    async def run(self) -> None:
        """Call ``found`` with each mutant."""
        for mutant in self._mutants:
            self._found(mutant)


async def rank_once(campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]) -> None:
    """Rank the mutants of a campaign into the file, unless it is there. Raises SupervisorError.

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
    if campaign.mutants["functions"] or campaign.mutants["covered"]:
        seeds = sorted(run_dir.seeds.iterdir()) if run_dir.seeds.is_dir() else []
        progress("running the seeds on the target")
        reach = await backend.reach(seeds)
    mutants: list[SourceMutant] = []

    def found(mutant: SourceMutant) -> None:
        mutants.append(mutant)
        if len(mutants) % 100 == 0:
            progress(f"ranking mutants: {len(mutants):,} of at most {campaign.mutants['listed']:,}")

    progress("ranking mutants")
    ranking = Ranking(run_dir, backend.tree, backend.sources, reach, found)
    await ranking.run()
    data = {
        "reach": reach.to_json(),
        "program": ranking.program,
        "of": ranking.program_mutants,
        "figures": dict(ranking.figures),
        "mutants": [asdict(mutant) for mutant in mutants],
    }
    await asyncio.to_thread(replace_text, Path(path), json.dumps(data))

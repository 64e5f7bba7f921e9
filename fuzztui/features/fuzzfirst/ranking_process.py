"""Generate and rank the mutants of a campaign, in a separate process.

Each mutant is compiled just before it would be next, so that the first one is known at once and
only mutants that compile are ranked (paper: "Choosing the Mutants"). Ranking keeps a core busy, so
it runs outside the supervisor: ``python -m fuzztui.features.fuzzfirst.ranking_process
RUN/campaign.toml TREE SOURCES REACH`` prints mutants as JSON lines. SOURCES: ``[[FILE, LINES],
...]``; REACH: a file written by :meth:`BuildReach.to_json`.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fuzztui.features.fuzzfirst.reach import BuildReach
from fuzztui.features.fuzzfirst.source_mutants.check import Check
from fuzztui.features.fuzzfirst.source_mutants.generate import (
    Generated,
    MutantError,
    generate,
    language_of,
)
from fuzztui.features.fuzzfirst.source_mutants.rank import (
    Metric,
    rank,
    rank_as_universalmutator,
    shuffled,
)
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.kernel.base.shards import ProgramSum, Shard, parse_shard
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.base.units import parse_ranges
from fuzztui.run.campaign import Campaign, load
from fuzztui.run.campaign.rundir import SupervisorError

_TOLD = 200


@dataclass(slots=True)
class RankingProcess:
    """Iterates over the mutants of files below ``tree``, in ranking order.

    :param sources: the files, each with its lines ("": all).
    :param reach: the functions of the files, and the lines that the seeds execute.
    """

    campaign: Campaign
    tree: Path
    sources: Sequence[tuple[str, str]]
    reach: BuildReach = field(default_factory=BuildReach)
    notes: list[str] = field(default_factory=list)
    """Messages for the user."""
    program_sum: ProgramSum = field(default_factory=ProgramSum)
    """The mutants of all shards."""
    made: int = 0
    blank: int = 0
    rejected: int = 0
    """Mutants that were compiled without success."""
    _mutants: list[SourceMutant] = field(init=False)
    _checker: Check | None = field(init=False)

    def __post_init__(self) -> None:
        """Read the sources now: later a build may have put a mutant in their place.

        Raises :class:`SupervisorError`.
        """
        self._mutants = self._generate()
        self._checker = self._check()

    def __iter__(self) -> Iterator[SourceMutant]:
        """Yield each mutant as it is ranked. Raises :class:`SupervisorError`."""
        mutants, check = self._mutants, self._checker

        def accept(index: int) -> bool:
            if check is None:
                return True
            mutant = mutants[index]
            good = check.compiles(mutant, self.tree / mutant.file, self._language)
            self.rejected = check.rejected
            return good

        try:
            for index in itertools.islice(self._order(mutants, accept), self._most):
                yield mutants[index]
        except MutantError as e:
            raise SupervisorError(f"mutants.sources: {e}") from None

    @property
    def _language(self) -> str:
        return str(self.campaign.mutants["language"] or "")

    @property
    def _most(self) -> int:
        return int(self.campaign.mutants["listed"])

    def _generate(self) -> list[SourceMutant]:
        found = Generated()
        try:
            for name, lines in self.sources:
                if not self._language and language_of(Path(name)) == "none":
                    raise MutantError(f"{name}: unknown language; set mutants.language")
                generate(
                    self.tree / name,
                    name=name,
                    language=self._language,
                    lines=set(itertools.chain(*parse_ranges(lines))),
                    into=found,
                )
        except MutantError as e:
            raise SupervisorError(f"mutants.sources: {e}") from None
        self.made, self.blank = len(found.mutants), found.blank
        mutants = [mutant for mutant in found.mutants if self._wants(mutant)]
        if not mutants:
            where = " within mutants.functions and mutants.covered" if found.mutants else ""
            known = ", ".join(f[0] for rows in self.reach.functions.values() for f in rows)
            there = f"; the functions are: {visible(known)[:_TOLD]}" if known else ""
            if not found.mutants and any(lines for _, lines in self.sources):
                where = " in these lines"
            elif found.mutants and not known:
                there = "; no function was found in the compiled sources"
            raise SupervisorError(f"mutants.sources: nothing to mutate{where}{there}")
        for mutant in mutants:
            self.program_sum.add(mutant.id, mutant.before, mutant.after)
        if self.shard is not None:
            mutants = [mutant for mutant in mutants if self.shard.has(mutant.id)]
            if not mutants:
                raise SupervisorError(
                    f"mutants.shard: none of the {self.program_sum.mutants:,} mutants is in "
                    f"{self.shard}; take fewer shards"
                )
        return mutants

    @property
    def shard(self) -> Shard | None:
        """The part of the mutants that is ranked; None: all."""
        text = self.campaign.mutants["shard"]
        return parse_shard(text) if text else None

    def _wants(self, mutant: SourceMutant) -> bool:
        """Whether a mutant is in the campaign's functions and covered lines."""
        functions: list[str] = self.campaign.mutants["functions"]
        covered: bool = self.campaign.mutants["covered"]
        return self.reach.wants(mutant.file, mutant.line, functions, covered=covered)

    def _check(self) -> Check | None:
        """Return the compile check; None if a file cannot be compiled on its own."""
        check = Check()
        for name in dict.fromkeys(name for name, _ in self.sources):
            try:
                check.prepare(self.tree / name, self._language)
            except MutantError as e:
                self.notes.append(
                    "mutants are ranked without a compile check, so some of them may not build: "
                    f"{visible(str(e))[:_TOLD]}"
                )
                return None
        return check

    def _order(
        self, mutants: Sequence[SourceMutant], accept: Callable[[int], bool]
    ) -> Iterator[int]:
        order = self.campaign.mutants["order"]
        by_chance = shuffled(len(mutants), self.campaign.seed)
        if order == "random":
            yield from (index for index in by_chance if accept(index))
        elif order == "universalmutator":
            yield from (pick.index for pick in rank_as_universalmutator(mutants, accept=accept))
        else:
            metric = Metric(**self.campaign.mutants["weights"])
            picks = rank(mutants, metric=metric, first=by_chance[0], accept=accept)
            yield from (pick.index for pick in picks)


def main(arguments: list[str]) -> int:
    """Print ``{"ready"}``, ``{"mutant"}`` lines and ``{"figures"}``; or ``{"error"}``.

    Before ``ready``, ``{"program"}``, the sum of all mutants, and ``{"shard"}`` if only a part of
    them is wanted.

    Reads no source after ``ready``: a build may then put a mutant in its place.
    """

    def say(**line: object) -> None:
        print(json.dumps(line), flush=True)

    try:
        sources = [(name, lines) for name, lines in json.loads(arguments[2])]
        reach = BuildReach.from_json(json.loads(Path(arguments[3]).read_bytes()))
        picks = RankingProcess(
            load(Path(arguments[0])).campaign, Path(arguments[1]), sources, reach
        )
        if (shard := picks.shard) is not None:
            whole = picks.program_sum
            say(shard=[shard.number, shard.of, whole.mutants, whole.hex])
        say(program=[picks.program_sum.mutants, picks.program_sum.hex])
        say(ready=picks.notes)
        for mutant in picks:
            say(mutant=asdict(mutant))
    except SupervisorError as e:
        say(error=str(e))
        return 1
    say(figures={"made": picks.made, "blank": picks.blank, "rejected": picks.rejected})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

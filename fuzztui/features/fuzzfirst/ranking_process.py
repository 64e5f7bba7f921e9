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
from dataclasses import asdict
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
from fuzztui.kernel.base.shards import ProgramSum, parse_shard
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.base.units import parse_ranges
from fuzztui.run.campaign import Campaign, load
from fuzztui.run.campaign.rundir import SupervisorError

_TOLD = 200


def _rank(
    campaign: Campaign, tree: Path, sources: Sequence[tuple[str, str]], reach: BuildReach
) -> None:
    """Print the mutants of files below ``tree``, in ranking order.

    ``sources``: the files, each with its lines ("": all). ``reach``: the functions of the files,
    and the lines that the seeds execute. Raises :class:`MutantError`, :class:`SupervisorError`.
    """
    wanted = campaign.table("mutants")
    language = str(wanted["language"] or "")
    found = _generated(tree, sources, language)
    mutants = [
        m
        for m in found.mutants
        if reach.wants(m.file, m.line, wanted["functions"], covered=wanted["covered"])
    ]
    if not mutants:
        raise MutantError(f"nothing to mutate{_why(found, sources, reach)}")
    program = ProgramSum()
    for mutant in mutants:
        program.add(mutant.id, mutant.before, mutant.after)
    if wanted["shard"]:
        shard = parse_shard(wanted["shard"])
        mutants = [mutant for mutant in mutants if shard.has(mutant.id)]
        if not mutants:
            raise SupervisorError(
                f"mutants.shard: none of the {program.mutants:,} mutants is in {shard}; take fewer "
                "shards"
            )
        _say(shard=[shard.number, shard.of, program.mutants, program.hex])
    _say(program=[program.mutants, program.hex])
    check, notes = _check(tree, sources, language)
    _say(ready=notes)

    def accept(index: int) -> bool:
        mutant = mutants[index]
        return check is None or check.compiles(mutant, tree / mutant.file, language)

    for index in itertools.islice(_order(campaign, mutants, accept), int(wanted["listed"])):
        _say(mutant=asdict(mutants[index]))
    rejected = check.rejected if check is not None else 0
    _say(figures={"made": len(found.mutants), "blank": found.blank, "rejected": rejected})


def _generated(tree: Path, sources: Sequence[tuple[str, str]], language: str) -> Generated:
    found = Generated()
    for name, lines in sources:
        if not language and language_of(Path(name)) == "none":
            raise MutantError(f"{name}: unknown language; set mutants.language")
        generate(
            tree / name,
            name=name,
            language=language,
            lines=set(itertools.chain(*parse_ranges(lines))),
            into=found,
        )
    return found


def _why(found: Generated, sources: Sequence[tuple[str, str]], reach: BuildReach) -> str:
    """Return why no mutant is wanted."""
    if not found.mutants:
        where = " in these lines" if any(lines for _, lines in sources) else ""
    else:
        where = " within mutants.functions and mutants.covered"
    if known := ", ".join(f[0] for rows in reach.functions.values() for f in rows):
        return f"{where}; the functions are: {visible(known)[:_TOLD]}"
    return f"{where}; no function was found in the compiled sources" if found.mutants else where


def _check(
    tree: Path, sources: Sequence[tuple[str, str]], language: str
) -> tuple[Check | None, list[str]]:
    """Return the compile check (None: a file cannot be compiled on its own), and notes."""
    check = Check()
    for name in dict.fromkeys(name for name, _ in sources):
        try:
            check.prepare(tree / name, language)
        except MutantError as e:
            why = visible(str(e))[:_TOLD]
            return None, [
                f"mutants are ranked without a compile check, so some of them may not build: {why}"
            ]
    return check, []


def _order(
    campaign: Campaign, mutants: Sequence[SourceMutant], accept: Callable[[int], bool]
) -> Iterator[int]:
    order = campaign.table("mutants")["order"]
    by_chance = shuffled(len(mutants), campaign.seed)
    if order == "random":
        yield from (index for index in by_chance if accept(index))
    elif order == "universalmutator":
        yield from (pick.index for pick in rank_as_universalmutator(mutants, accept=accept))
    else:
        metric = Metric(**campaign.table("mutants")["weights"])
        picks = rank(mutants, metric=metric, first=by_chance[0], accept=accept)
        yield from (pick.index for pick in picks)


def _say(**line: object) -> None:
    print(json.dumps(line), flush=True)


def main(arguments: list[str]) -> int:
    """Print ``{"ready"}``, ``{"mutant"}`` lines and ``{"figures"}``; or ``{"error"}``.

    Before ``ready``, ``{"program"}``, the sum of all mutants, and ``{"shard"}`` if only a part of
    them is wanted.

    Reads no source after ``ready``: a build may then put a mutant in its place.
    """
    file, tree, sources, reach = arguments
    try:
        _rank(
            load(Path(file)).campaign,
            Path(tree),
            [(name, lines) for name, lines in json.loads(sources)],
            BuildReach.from_json(json.loads(Path(reach).read_bytes())),
        )
    except MutantError as e:
        _say(error=f"mutants.sources: {e}")
        return 1
    except SupervisorError as e:
        _say(error=str(e))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

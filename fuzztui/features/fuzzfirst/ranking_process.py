"""Generate and rank the mutants of a campaign, in a separate process.

Each mutant is compiled just before it would be next, so that the first one is known at once and
only mutants that compile are ranked (paper: "Choosing the Mutants"). Ranking keeps a core busy, so
it runs outside the supervisor: ``python -m fuzztui.features.fuzzfirst.ranking_process
RUN/campaign.toml TREE SOURCES REACH CHECKS`` prints mutants as JSON lines. SOURCES: ``[[FILE,
LINES], ...]``; REACH: a file written by :meth:`BuildReach.to_json`; CHECKS: the directory of
:class:`BuildCheck`, or an empty text.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from fuzztui.features.fuzzfirst.build_tree import MAX_SOURCE
from fuzztui.features.fuzzfirst.compile_check import BuildCheck
from fuzztui.features.fuzzfirst.conditions import mutants_by_roadblock
from fuzztui.features.fuzzfirst.reach import BuildReach
from fuzztui.features.fuzzfirst.roadblocks import Roadblocks, SourceLayout
from fuzztui.features.fuzzfirst.source_mutants.check import Check
from fuzztui.features.fuzzfirst.source_mutants.generate import (
    Generated,
    MutantError,
    generate,
    language_of,
    read_source,
)
from fuzztui.features.fuzzfirst.source_mutants.rank import (
    Metric,
    Pick,
    rank_by_group,
    rank_in_order,
)
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.base.shards import ProgramSum, parse_shard
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.base.units import parse_ranges
from fuzztui.run.afl.build import build_environment
from fuzztui.run.campaign import Campaign, load
from fuzztui.run.campaign.rundir import SupervisorError

_TOLD = 200


def _rank(
    campaign: Campaign,
    tree: Path,
    sources: Sequence[tuple[str, str]],
    reach: BuildReach,
    checks: str,
) -> None:
    """Print the mutants of files below ``tree``, in ranking order.

    ``sources``: the files, each with its lines ("": all). ``reach``: the functions of the files,
    and the lines that the seeds execute. ``checks``: as CHECKS above. Raises :class:`MutantError`,
    :class:`SupervisorError`.
    """
    wanted = campaign.table("mutants")
    language = str(wanted["language"] or "")
    found = _generated(tree, sources, language)

    def is_here(m: SourceMutant) -> bool:
        return reach.wants(m.file, m.line, wanted["functions"], covered=wanted["covered"])

    mutants, excluded = ([*filter(is_here, of)] for of in (found.mutants, found.excluded))
    if not mutants:
        raise MutantError(f"nothing to mutate{_why(found, sources, reach)}")
    program = ProgramSum()
    for mutant in mutants:
        program.add(mutant.id, mutant.before, mutant.after)
    if wanted["shard"]:
        shard = parse_shard(wanted["shard"])
        mutants = [mutant for mutant in mutants if shard.has(mutant.id)]
        excluded = [mutant for mutant in excluded if shard.has(mutant.id)]
        if not mutants:
            raise SupervisorError(
                f"mutants.shard: none of the {program.mutants:,} mutants is in {shard}; take fewer "
                "shards"
            )
        _say(shard=[shard.number, shard.of, program.mutants, program.hex])
    _say(program=[program.mutants, program.hex])
    for mutant in excluded:
        _say(excluded=asdict(mutant))
    check = _MutantCheck(campaign, tree, [name for name, _ in sources], checks)
    _say(ready=check.notes)

    @functools.cache
    def accept(index: int) -> bool:
        return check.compiles(mutants[index])

    if wanted["order"] == "roadblocks":
        mutants, order = _roadblocks_first(campaign, mutants, tree, reach, accept)
    else:
        metric = Metric(**wanted["weights"])
        order = rank_in_order(mutants, wanted["order"], campaign.seed, metric=metric, accept=accept)
    for pick in itertools.islice(order, int(wanted["listed"])):
        _say(mutant=asdict(mutants[pick.index]))
    left_out = {"blank": found.blank, "messages": found.messages, "rejected": check.rejected}
    _say(figures={"made": len(found.mutants), **left_out})


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


class _MutantCheck:
    """Checks mutants as the build would compile them; of other files, each file on its own."""

    def __init__(self, campaign: Campaign, tree: Path, names: Sequence[str], checks: str) -> None:
        """``checks``: the directory of :class:`BuildCheck`; an empty text: there is none."""
        self._tree = tree
        self._language = str(campaign.table("mutants")["language"] or "")
        self._alone = Check()
        self._build = BuildCheck(Path(checks), build_environment(campaign)) if checks else None
        self._by_file: dict[str, Callable[[SourceMutant], bool]] = {}
        self.rejected = 0
        self.notes: list[str] = []
        for name in dict.fromkeys(names):
            self._prepare(name)

    def _prepare(self, name: str) -> None:
        try:
            text = read_regular(file := self._tree / name, MAX_SOURCE)
            if self._build is not None and self._build.prepare(name, text):
                self._by_file[name] = self._build.compiles
            else:
                self._alone.prepare(file, self._language)
                self._by_file[name] = lambda m: self._alone.compiles(m, file, self._language)
        except (MutantError, OSError) as e:
            why = visible(str(e))[:_TOLD]
            self.notes.append(
                f"mutants of {visible(name)} are ranked without a compile check, so some of them "
                f"may not build: {why}"
            )

    def compiles(self, mutant: SourceMutant) -> bool:
        """Whether a mutant compiles, as far as that is known; ``rejected`` counts the others."""
        check = self._by_file.get(mutant.file)
        good = check is None or check(mutant)
        self.rejected += not good
        return good


def _roadblocks_first(
    campaign: Campaign,
    mutants: Sequence[SourceMutant],
    tree: Path,
    reach: BuildReach,
    accept: Callable[[int], bool],
) -> tuple[list[SourceMutant], Iterator[Pick]]:
    """Return the mutants with what their roadblocks hide, and their order."""
    layouts: dict[str, SourceLayout] = {}
    for name in dict.fromkeys([*(m.file for m in mutants), *reach.statements]):
        language = str(campaign.table("mutants")["language"] or language_of(Path(name)))
        with contextlib.suppress(MutantError):  # generated by the build: not in the tree
            layouts[name] = SourceLayout(read_source(tree / name), python=language == "python")
    roadblocks = Roadblocks(reach, layouts).find()
    groups = mutants_by_roadblock(mutants, roadblocks, layouts)
    marked = list(mutants)
    for roadblock, group in zip(roadblocks, groups, strict=True):
        for index in (*group.better, *group.others):
            marked[index] = replace(marked[index], roadblock=roadblock.line, hides=roadblock.hides)
    metric = Metric(**campaign.table("mutants")["weights"])
    return marked, rank_by_group(mutants, groups, metric=metric, accept=accept)


def _say(**line: object) -> None:
    print(json.dumps(line), flush=True)


def main(arguments: list[str]) -> int:
    """Print ``{"ready"}``, ``{"mutant"}`` lines and ``{"figures"}``; or ``{"error"}``.

    Before ``ready``, ``{"program"}``, the sum of all mutants, and ``{"shard"}`` if only a part of
    them is wanted.

    Reads no source after ``ready``: a build may then put a mutant in its place.
    """
    file, tree, sources, reach, checks = arguments
    try:
        _rank(
            load(Path(file)).campaign,
            Path(tree),
            [(name, lines) for name, lines in json.loads(sources)],
            BuildReach.from_json(json.loads(Path(reach).read_bytes())),
            checks,
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

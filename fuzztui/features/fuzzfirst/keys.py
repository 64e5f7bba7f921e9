"""The table ``[mutants]``, which makes a campaign fuzz mutants of its target, then the target."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fuzztui.engines.keys import SHARD, Key, ValueType
from fuzztui.engines.kinds import EngineKind
from fuzztui.kernel.base.text import several
from fuzztui.kernel.base.units import parse_ranges
from fuzztui.kernel.wire.commands import USES
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.table import CampaignLoad, CampaignTable
from fuzztui.run.campaign.values import TEXT, absolute, check_strings, nearest, one_or_list, wrong

WEIGHTS = ("edit", "source", "mutant", "file", "line", "span")
"""The terms of the distance between mutants: ``Metric`` of
``features/fuzzfirst/source_mutants/rank.py``."""

LANGUAGES = ("c", "cpp", "python")
"""Languages with rules: ``LANGUAGES`` of ``features/fuzzfirst/source_mutants/generate.py``."""

_HEAVIEST = 1e6
_LINES = re.compile(r"(?P<file>.+?)(?::(?P<lines>[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*))?")


def _weights(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if not isinstance(value, dict):
        raise wrong(key, value)
    for name, weight in value.items():
        if name not in WEIGHTS:
            hint = nearest(str(name), WEIGHTS)
            raise ValueError(f"{name!r} is not a weight{hint}; choose from {', '.join(WEIGHTS)}")
        if not isinstance(weight, (int, float)) or isinstance(weight, bool):
            raise ValueError(f"{name}: {weight!r} is not a number")
        least = 1 if name == "span" else 0
        if not least <= weight <= _HEAVIEST:
            raise ValueError(f"{name}: {weight} is not a number from {least} to {_HEAVIEST:g}")
    return value, {name: float(weight) for name, weight in value.items()}


def _sources(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if isinstance(value, str):
        value = [value]
    check_strings(key, value)
    if not value:
        raise ValueError("is empty: name at least one file")
    parsed = []
    for text in value:
        match = _LINES.fullmatch(text)
        if match is None:
            raise wrong(key, value)
        try:
            parse_ranges(match["lines"] or "")
        except ValueError as e:
            raise ValueError(f"{text!r}: {e}") from None
        parsed.append((match["file"], match["lines"] or ""))
    return value, parsed


MUTANTS = (
    Key(
        "sources",
        ValueType(
            'a list of files, each "FILE" or "FILE:LINES" such as "parse.c:12,40-60"',
            _sources,
            one_or_list(TEXT),
        ),
        "What to mutate. AFL++ targets: files in `target.source`; Python targets: modules, or "
        "their files.",
        required=True,
    ),
    Key(
        "functions",
        "strings",
        "Only mutants in these functions (`*` and `?` as in a shell).",
        default=[],
    ),
    Key(
        "covered",
        "boolean",
        "Only mutants of lines that the seeds execute.",
        default=False,
    ),
    Key(
        "order",
        "choice",
        "The order of the worklist. fpf (furthest point first): each mutant is the least "
        "similar to all before it; roadblocks: first those of conditions that always have "
        "the same outcome with the seeds, then fpf; universalmutator: its "
        "prioritize_mutants; random: by campaign.seed.",
        default="fpf",
        choices=("fpf", "roadblocks", "universalmutator", "random"),
    ),
    Key(
        "when",
        "choice",
        "When mutants have their turns. first: before the target; stuck: each time that "
        "the target finds no new edge for `stuck_after` of campaign.budget, for as long.",
        default="first",
        choices=("first", "stuck"),
    ),
    Key(
        "stuck_after",
        "part",
        'With when = "stuck": the part of campaign.budget without a new edge.',
        default=0.1,
    ),
    Key(
        "weights",
        ValueType(
            "a table of numbers such as { edit = 5.0, line = 0 }",
            _weights,
            {
                "type": "object",
                "properties": {name: {"type": "number", "minimum": 0} for name in WEIGHTS},
                "additionalProperties": False,
            },
        ),
        "Weights of the distance between mutants, for fpf and roadblocks: "
        + ", ".join(f"`{name}`" for name in WEIGHTS)
        + ".",
        default={},
    ),
    Key(
        "language",
        "choice",
        "The programming language of `sources`. Default: by the file's suffix.",
        default="",
        choices=LANGUAGES,
        aliases={"c++": "cpp", "cc": "cpp", "cxx": "cpp", "py": "python", "python3": "python"},
    ),
    Key(
        "listed",
        "integer",
        "The number of mutants to rank and show; more if the budget allows more.",
        default=500,
        minimum=1,
        maximum=100_000,
    ),
    SHARD,
    Key("share", "part", "The share of campaign.budget that mutants get.", default=0.5),
    Key(
        "per_mutant",
        "budget",
        "The budget of one mutant, in the unit of campaign.budget.",
        default="5m",
    ),
    Key(
        "adaptive",
        "boolean",
        "End a turn after a third of its budget without anything new; extend it, up to "
        "three times, while the mutant still finds new inputs.",
        default=False,
    ),
    Key(
        "use",
        "choice",
        "sequential: one mutant at a time for all instances, from the previous mutant's "
        "corpus. parallel: one mutant for each instance, from the seeds.",
        default="sequential",
        choices=USES,
    ),
    Key(
        "returns",
        "boolean",
        "With sequential use: inputs that were pruned because they crash a mutant return "
        "for the next one that they do not crash.",
        default=True,
    ),
    Key(
        "oracle",
        "choice",
        "What kills a mutant. crash: a crash or hang that the original does not have; "
        "output: also another exit status, standard output or result of a Python "
        "function.",
        default="crash",
        choices=("crash", "output"),
    ),
    Key(
        "cwd",
        "choice",
        "Where mutants run, and may write or delete any file: private, an empty directory "
        "in the run; target, where the target runs. Default: target if `target.cwd` is "
        "given.",
        default="",
        choices=("private", "target"),
    ),
    Key(
        "cluster",
        "boolean",
        "With parallel use of a Python target: workers of `cluster.scheduler` fuzz the "
        "turns, `engine.instances` at a time (docs/cluster.md).",
        default=False,
    ),
    Key("ahead", "integer", "The number of mutants built in advance.", default=2, minimum=1),
)


class MutantsTable(CampaignTable):
    """``[mutants]``, for engines that have no mutants of their own."""

    def keys_for(self, kind: EngineKind | None) -> Sequence[Key] | None:
        """The keys, for AFL++ and engines whose kind has ``mutants_first``; None for others."""
        return self.keys if kind is None or kind.mutants_first else None

    def reason_against(self, kind: str) -> str:
        """Why an engine cannot have the table: mu2 makes its own mutants; empty for others."""
        return "mu2 has its own mutants" if kind == "mu2" else ""

    def fill_in(self, campaign: Campaign, frozen: dict[str, Any], load: CampaignLoad) -> None:
        """Fill in the budget of a turn and where mutants run."""
        mutants = campaign.table(self.name)
        mutants["each_s"], mutants["each_trials"] = mutants.pop("per_mutant")
        cwd = mutants["cwd"] or ("target" if load.given("target.cwd") else "private")
        frozen["cwd"] = mutants["cwd"] = cwd

    def problems(self, campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
        """Yield problems: no build, bad sources, a budget too small for turns, no valid cluster."""
        mutants, target = campaign.table(self.name), campaign.target
        yield from _of_cluster(campaign)
        if target.get("suite"):
            yield "mutants", "is for one function; remove the table, or name one in target.function"
        if "build" in target and not target["build"]:
            yield (
                "mutants",
                "needs target.build, the command that builds the program from its source: each "
                "mutant is built with it",
            )
        if "build" in target and not of_run:  # a run has its own copy of the source
            yield from _mutated_files(mutants["sources"], Path(target["source"]))
        if not campaign.budget_s and not campaign.budget_trials:
            yield "mutants", "needs campaign.budget: mutants get a share of it (mutants.share)"
            return
        if bool(campaign.budget_trials) != bool(mutants["each_trials"]):
            example = "20000 trials" if campaign.budget_trials else "5m"
            yield (
                "mutants.per_mutant",
                "must have the unit of campaign.budget, which is in "
                f'{"trials" if campaign.budget_trials else "time"}; for example "{example}"',
            )
            return
        whole = campaign.budget_s or campaign.budget_trials
        part, each = whole * mutants["share"], mutants["each_s"] or mutants["each_trials"]
        if mutants["when"] == "stuck" and whole * mutants["stuck_after"] < 1:
            yield (
                "mutants.stuck_after",
                "is less than 1 trial or second of campaign.budget; take a larger part, such as "
                "0.1",
            )
        if each > part:
            unit = "trials" if campaign.budget_trials else "s"
            yield (
                "mutants.per_mutant",
                f"is {each:g} {unit}, but the budget of all mutants is {part:g} {unit} "
                "(campaign.budget times mutants.share), too little for one mutant; change one of "
                "them",
            )

    def without_effect(self, campaign: Campaign) -> Iterator[tuple[str, str]]:
        """Yield keys that are for another order or another use of mutants."""
        mutants = campaign.table(self.name)
        if mutants["weights"] and mutants["order"] not in ("fpf", "roadblocks"):
            yield (
                "mutants.weights",
                f'is for mutants.order = "fpf" or "roadblocks", not "{mutants["order"]}"; remove '
                "one of them",
            )
        if mutants["when"] != "stuck":
            yield (
                "mutants.stuck_after",
                'is for mutants.when = "stuck"; remove it, or set mutants.when',
            )
        if mutants["returns"] and mutants["use"] == "parallel":
            yield (
                "mutants.returns",
                'is for mutants.use = "sequential"; with "parallel" each mutant starts from the '
                "seeds alone. Remove one of them",
            )


def _of_cluster(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """Yield what a campaign lacks for fuzzing its turns on a cluster."""
    mutants = campaign.table("mutants")
    if not mutants["cluster"]:
        return
    if mutants["use"] != "parallel":
        yield "mutants.cluster", 'is for mutants.use = "parallel"'
    if "command" in campaign.target:
        yield "mutants.cluster", "is for Python targets: afl-fuzz is steered on its own machine"
    if campaign.hosts:
        yield "mutants.cluster", "contradicts [hosts]: each host fuzzes its own turns"
    if not campaign.table("cluster").get("scheduler"):
        yield (
            "mutants.cluster",
            "needs cluster.scheduler, the address of a scheduler that outlives the campaign: "
            "fuzztui cluster scheduler",
        )


def _mutated_files(sources: list[tuple[str, str]], base: Path) -> Iterator[tuple[str, str]]:
    for name, lines in sources:
        path = absolute(name, base)
        if not path.is_relative_to(base):
            yield "mutants.sources", f"{name!r} is outside target.source ({base})"
        elif not path.is_file():
            yield "mutants.sources", f"{name!r}: there is no file {path}"
        elif lines and (count := _lines_in(path)) < max(r[0] for r in parse_ranges(lines)):
            has = several(count, "line")
            yield "mutants.sources", f"'{name}:{lines}': the file has only {has}"


def _lines_in(path: Path) -> int:
    """Return the number of lines in a file; ``sys.maxsize`` if the file cannot be read."""
    try:
        with path.open("rb") as file:
            return sum(1 for _ in file)
    except OSError:
        return sys.maxsize


TABLE = MutantsTable("mutants", "fuzz mutants of the target first", MUTANTS)

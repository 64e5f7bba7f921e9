"""Keys that are valid one by one but contradict each other, and keys without effect.

A contradiction is an error in every file. A key without effect, because of other keys, is one only
in a new run: a run that was started with it continues, because the key changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fuzztui.engines.kinds import KINDS, kind_named
from fuzztui.kernel.base.text import several
from fuzztui.kernel.base.units import parse_ranges
from fuzztui.run.campaign.cluster import ClusterConfig
from fuzztui.run.campaign.model import Campaign, CampaignError, FrozenCampaign, Problem, run_of
from fuzztui.run.campaign.values import absolute

MIN_MEMORY = 64 << 20
MAX_DICTIONARIES = 4


def contradictions(campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
    """Yield a dotted key and a message for each contradiction.

    ``of_run``: the campaign is the frozen copy of a run. The run has its own copies of sources, so
    the original sources and the comby program are not checked; its cluster is checked when it is
    used, because a run of a former version (which took tcp:// on loopback) must open.
    """
    target, engine = campaign.target, campaign.engine
    for key, text in () if of_run else ClusterConfig.of(campaign.cluster).problems():
        yield f"cluster.{key}", text
    if campaign.mutants.get("cluster"):
        if campaign.mutants["use"] != "parallel":
            yield "mutants.cluster", 'is for mutants.use = "parallel"'
        if "command" in target:
            yield "mutants.cluster", "is for Python targets: afl-fuzz is steered on its own machine"
        if campaign.hosts:
            yield "mutants.cluster", "contradicts [hosts]: each host fuzzes its own turns"
        if not campaign.cluster.get("scheduler"):
            yield (
                "mutants.cluster",
                "needs cluster.scheduler, the address of a scheduler that outlives the campaign: "
                "fuzztui cluster scheduler",
            )
    suite = target.get("suite", ())
    if suite:
        yield from _suite(campaign)
    harness = not suite and target.get("function", "").partition(":")[0].endswith(".py")
    if harness and not target.get("include"):
        yield (
            "target.function",
            "is a harness file, so the modules to instrument are unknown; name the packages "
            'under test, for example target.include = ["mypackage"]',
        )
    if target.get("generator") and target.get("input", "auto") != "auto":
        yield (
            "target.input",
            "is for byte and text inputs, but target.generator makes the input; remove one of them",
        )
    if target.get("generator") and engine.get("dictionary"):
        yield (
            "engine.dictionary",
            "has tokens for byte and text inputs, but target.generator makes the input "
            "from choices; remove one of them",
        )
    if target.get("timeout_s") == 0:
        yield "target.timeout", "is 0, so a hanging trial would never end; set a time, such as 1s"
    if "python" in target and 0 < target["memory_bytes"] < MIN_MEMORY:
        yield (
            "target.memory",
            "is less than an interpreter needs; set 64MiB or more, or 0 for no limit",
        )
    if "command" in target and len(engine["dictionary"]) > MAX_DICTIONARIES:
        yield (
            "engine.dictionary",
            f"names more than {MAX_DICTIONARIES} files, the maximum of AFL++; join some of them",
        )
    most = max((host.instances for host in campaign.hosts), default=campaign.instances)
    for name in engine.get("options", {}):
        there = ["main", *(f"s{i}" for i in range(1, most))]
        if name not in there:
            last = there[-1] if len(there) > 1 else ""
            have = f"the instances are main to {last}" if last else "the only instance is main"
            yield (
                f"engine.options.{name}",
                f"there is no such instance: with engine.instances = {len(there)} {have}; "
                "remove the key, or raise engine.instances",
            )
    if campaign.mutants:
        yield from _mutants(campaign, of_run=of_run)
    if campaign.oracle:
        yield from _oracle(campaign)
    if campaign.text and campaign.text["templates"]:
        yield from _templates(campaign, of_run=of_run)
    whole = sum(host.instances for host in campaign.hosts) or campaign.instances
    if 0 < campaign.budget_trials < whole:
        are = "is" if campaign.budget_trials == 1 else "are"
        yield (
            "campaign.budget",
            f"{several(campaign.budget_trials, 'trial')} {are} too few for "
            f"{whole} instances; allow at least one trial for each",
        )


def _suite(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """What a campaign with several targets does not take."""
    target = campaign.target
    if not kind_named(campaign.kind).suites:
        kinds = " or ".join(kind for kind, row in KINDS.items() if row.suites)
        yield (
            "target.function",
            f"names several targets, which is for engine.kind = {kinds}; name one function",
        )
    if not target.get("include"):
        yield (
            "target.function",
            "names several targets, so the modules to instrument are unknown; name the packages "
            'under test, for example target.include = ["mypackage"]',
        )
    for key, table in (("target.generator", target), ("target.compare", target)):
        if table.get(key.partition(".")[2]):
            yield key, "is for one function; remove it, or name one function in target.function"
    if campaign.oracle.get("against"):
        yield "oracle.against", "is for one function; remove it"
    if campaign.mutants:
        yield "mutants", "is for one function; remove the table, or name one in target.function"


def _mutants(campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
    """Contradictions of ``[mutants]``: a missing build, bad sources, a budget without room."""
    mutants, target = campaign.mutants, campaign.target
    if "build" in target and not target["build"]:
        yield (
            "mutants",
            "needs target.build, the command that builds the program from its source: each mutant "
            "is built with it",
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
    if each > part:
        unit = "trials" if campaign.budget_trials else "s"
        yield (
            "mutants.per_mutant",
            f"is {each:g} {unit}, but the budget of all mutants is {part:g} {unit} "
            "(campaign.budget times mutants.share), too little for one mutant; change one of them",
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


def _oracle(campaign: Campaign) -> Iterator[tuple[str, str]]:
    oracle = campaign.oracle
    if not oracle["message"] and not oracle["against"]:
        yield "oracle", "has no effect without message or against; set one of them"
    if oracle.get("always") and not oracle["against"]:
        yield "oracle.always", "has no effect without oracle.against; set both or neither"
    if oracle.get("timeout_s") == 0:
        yield "oracle.timeout", "is 0, so no command would be run; set a time, such as 2s"
    command = campaign.target.get("command")
    if command and oracle["against"] == (oracle["run"] or command):
        yield "oracle.against", "is the same command as oracle.run; name another one"
    # The oracle of AFL++ targets does not judge the mutants' turns, only transferred inputs.
    if oracle["against"] and campaign.mutants and not command:
        yield (
            "oracle.against",
            "would report every mutant as a difference; remove it, or remove [mutants]",
        )


def _templates(campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
    # Slow to import.
    from fuzztui.engines.text.comby import is_comby
    from fuzztui.engines.text.syntax import template_problem

    for template in campaign.text["templates"]:
        if of_run and is_comby(template):
            continue  # without comby the engine warns, and the run continues
        if problem := template_problem(campaign.text["language"], template):
            yield "text.templates", f"{template!r}: {problem}"


def refuse_idle_keys(loaded: FrozenCampaign) -> None:
    """Raise :class:`CampaignError` with every key of the file that would have no effect.

    The frozen copy of a run is accepted as it is.
    """
    if run_of(loaded.campaign.file):
        return
    found = [(key, text) for key, text in _idle(loaded) if key in loaded.given]
    if found:
        raise CampaignError([Problem(loaded.origin(key), key, text) for key, text in found])


def _idle(loaded: FrozenCampaign) -> Iterator[tuple[str, str]]:
    """Yield dotted keys without effect, given or not: the reason and what to do."""
    campaign = loaded.campaign
    target, mutants = campaign.target, campaign.mutants
    if mutants and mutants["weights"] and mutants["order"] != "fpf":
        yield (
            "mutants.weights",
            f'is for mutants.order = "fpf", not "{mutants["order"]}"; remove one of them',
        )
    if mutants and mutants["returns"] and mutants["use"] == "parallel":
        yield (
            "mutants.returns",
            'is for mutants.use = "sequential"; with "parallel" each mutant starts from the seeds '
            "alone. Remove one of them",
        )
    if target.get("examples") and not target.get("suite"):
        yield (
            "target.examples",
            "is for a suite: let target.function name tests as pytest does, or remove "
            "target.examples",
        )
    if "source" in target and not target["build"] and not _uses(campaign.oracle, target["source"]):
        yield (
            "target.source",
            "is the source for target.build, which is not set; add target.build, or "
            "remove target.source",
        )
    if target.get("coverage") and not target["build"]:
        yield (
            "target.coverage",
            "runs target.build once more, which is not set; add target.build, or remove "
            "target.coverage",
        )


def _uses(oracle: Mapping[str, Any], source: str) -> bool:
    """Whether a command of ``[oracle]`` contains a path in ``source`` ($SOURCE is replaced)."""
    words = [*(oracle.get("run") or ()), *(oracle.get("against") or ())]
    return any(word.startswith(f"{source}/") for word in words)

"""What is wrong with a campaign though each of its keys is good: they do not go together."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from fuzztui.base.text import several
from fuzztui.campaign.model import Campaign
from fuzztui.campaign.units import parse_ranges
from fuzztui.campaign.values import absolute

__all__ = ["contradictions"]

MIN_MEMORY = 64 << 20
MAX_DICTIONARIES = 4


def contradictions(campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
    """Dotted keys, and what is wrong with each, in words.

    ``of_run``: the campaign is a run's own, which has what it needs of sources and programs that
    may be gone since.
    """
    target, engine = campaign.target, campaign.engine
    harness = target.get("function", "").partition(":")[0].endswith(".py")
    if harness and not target.get("include"):
        yield (
            "target.function",
            "is a harness file, so what to instrument is not known: name the packages "
            'under test, for example target.include = ["mypackage"]',
        )
    if target.get("generator") and target.get("input", "auto") != "auto":
        yield (
            "target.input",
            "is for byte and text inputs, but target.generator makes its own: remove one",
        )
    if target.get("generator") and engine.get("dictionary"):
        yield (
            "engine.dictionary",
            "has tokens for byte and text inputs, but target.generator makes the input "
            "from choices: remove one of them",
        )
    if target.get("timeout_s") == 0:
        yield "target.timeout", "is 0: a hanging trial would never end; say how long"
    if "python" in target and 0 < target["memory_bytes"] < MIN_MEMORY:
        yield (
            "target.memory",
            "is less than an interpreter needs: 64MiB or more, or 0 for no limit",
        )
    if "command" in target and len(engine["dictionary"]) > MAX_DICTIONARIES:
        yield (
            "engine.dictionary",
            f"names more than {MAX_DICTIONARIES} files, which AFL++ does not take: join some",
        )
    for name in engine.get("options", {}):
        there = ["main", *(f"s{i}" for i in range(1, campaign.instances))]
        if name not in there:
            last = there[-1] if len(there) > 1 else ""
            have = f"there are main to {last}" if last else "there is only main"
            yield (
                f"engine.options.{name}",
                f"there is no such instance: with engine.instances = {len(there)} {have}; "
                "remove it, or raise engine.instances",
            )
    if campaign.mutants:
        yield from _mutants(campaign, of_run=of_run)
    if campaign.oracle:
        yield from _oracle(campaign)
    if campaign.text and campaign.text["templates"]:
        yield from _templates(campaign, of_run=of_run)
    if 0 < campaign.budget_trials < campaign.instances:
        are = "is" if campaign.budget_trials == 1 else "are"
        yield (
            "campaign.budget",
            f"{several(campaign.budget_trials, 'trial')} {are} fewer than "
            f"{campaign.instances} instances",
        )


def _mutants(campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
    """What cannot be fuzzed first, and a budget that allows no mutant."""
    mutants, target = campaign.mutants, campaign.target
    if "build" in target and not target["build"]:
        yield (
            "mutants",
            "need target.build: without a command that makes the program from its source no "
            "mutant of it can be made",
        )
    if "build" in target and not of_run:  # a run has a copy of its own
        yield from _mutated_files(mutants["sources"], Path(target["source"]))
    if not campaign.budget_s and not campaign.budget_trials:
        yield "mutants", "need campaign.budget, of which they get a part (mutants.share)"
        return
    if bool(campaign.budget_trials) != bool(mutants["each_trials"]):
        example = "20000 trials" if campaign.budget_trials else "5m"
        yield (
            "mutants.per_mutant",
            "is not in the unit of campaign.budget, which is in "
            f'{"trials" if campaign.budget_trials else "time"}: such as "{example}"',
        )
        return
    whole = campaign.budget_s or campaign.budget_trials
    part, each = whole * mutants["share"], mutants["each_s"] or mutants["each_trials"]
    if each > part:
        unit = "trials" if campaign.budget_trials else "s"
        yield (
            "mutants.per_mutant",
            f"is {each:g} {unit}, but the mutants' part of the budget is {part:g} {unit} "
            "(campaign.budget times mutants.share): that is too little for one mutant",
        )


def _mutated_files(sources: list[tuple[str, str]], base: Path) -> Iterator[tuple[str, str]]:
    for name, lines in sources:
        path = absolute(name, base)
        if not path.is_relative_to(base):
            yield "mutants.sources", f"{name!r} is outside of target.source ({base})"
        elif not path.is_file():
            yield "mutants.sources", f"{name!r}: there is no file {path}"
        elif lines and (count := _lines_in(path)) < max(r[0] for r in parse_ranges(lines)):
            has = several(count, "line")
            yield "mutants.sources", f"'{name}:{lines}': the file has only {has}"


def _lines_in(path: Path) -> int:
    """How many lines the file has; as many as you like of one that cannot be read."""
    try:
        with path.open("rb") as file:
            return sum(1 for _ in file)
    except OSError:
        return sys.maxsize


def _oracle(campaign: Campaign) -> Iterator[tuple[str, str]]:
    oracle = campaign.oracle
    if not oracle["message"] and not oracle["against"]:
        yield "oracle", "says nothing: give message or against"
    if oracle.get("always") and not oracle["against"]:
        yield "oracle.always", "is about oracle.against: name that too"
    if oracle.get("timeout_s") == 0:
        yield "oracle.timeout", "is 0: nothing would be asked; say how long"
    command = campaign.target.get("command")
    if command and oracle["against"] == (oracle["run"] or command):
        yield "oracle.against", "is what oracle.run is: nothing can be different"
    # Of programs, mutants' own turns are not judged, only what they bring to the target.
    if oracle["against"] and campaign.mutants and not command:
        yield "oracle.against", "would find every mutant to differ: remove it, or [mutants]"


def _templates(campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
    # Much to import: only if wanted.
    from fuzztui.engines.text.comby import is_comby
    from fuzztui.engines.text.syntax import template_problem

    for template in campaign.text["templates"]:
        if of_run and is_comby(template):
            continue  # comby may be gone since: then that is told, and the run continues
        if problem := template_problem(campaign.text["language"], template):
            yield "text.templates", f"{template!r}: {problem}"

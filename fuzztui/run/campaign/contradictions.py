"""Keys that are valid one by one but contradict each other, and keys without effect.

A contradiction is an error in every file. A key that has no effect, because of other keys, is an
error only for a new run: a run that was started with the key continues.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzztui.engines.kinds import KINDS, kind_named
from fuzztui.kernel.base.text import several
from fuzztui.run.campaign.binaries import CMPLOG, planned_binaries
from fuzztui.run.campaign.model import (
    ALONE,
    Campaign,
    CampaignError,
    FrozenCampaign,
    Problem,
    run_of,
)
from fuzztui.run.campaign.table import feature_tables

MIN_MEMORY = 64 << 20
MAX_DICTIONARIES = 4
OF_TURN = re.compile(r"m\d+(-s\d+)?")
"""Names of instances that fuzz a mutant."""


def contradictions(campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
    """Yield a dotted key and a message for each contradiction.

    ``of_run``: the campaign is the frozen copy of a run, which has its own copies of sources.
    """
    target, engine = campaign.target, campaign.engine
    suite = target.get("suite", ())
    if suite:
        yield from _suite(campaign)
    harness = not suite and target.get("function", "").partition(":")[0].endswith(".py")
    file = Path(target.get("function", "").partition(":")[0])
    if harness and not target.get("include") and file.match("test_*.py"):
        yield (
            "target.function",
            'is a file of tests; write "module:function" or "file.py:function", or run its tests '
            f"with fuzztui test {shlex.quote(str(file))}",
        )
    elif harness and not target.get("include"):
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
    there = replace(campaign, instances=most).own_names
    if campaign.hosts and engine.get("names"):
        yield "engine.names", "names the instances of one machine; remove it, or [hosts]"
    if len(engine.get("names", ())) > most:
        yield (
            "engine.names",
            f"has {len(engine['names'])} names for {several(most, 'instance')}; remove some, or "
            "raise engine.instances",
        )
    if campaign.blind and (most > 1 or (not of_run and (campaign.hosts or there != [ALONE]))):
        yield (
            "engine.extra_args",
            f"-n is for one instance that is called {ALONE}, because afl-fuzz takes neither -M nor "
            "-S with it; set engine.instances = 1 without engine.names and [hosts], or remove -n",
        )
    of_turns = [name for name in engine.get("names", ()) if OF_TURN.fullmatch(name)]
    if of_turns and campaign.table("mutants"):
        yield (
            "engine.names",
            f"{of_turns[0]!r} is a name of instances that fuzz a mutant ([mutants]); choose "
            "another name",
        )
    for name in engine.get("options", {}):
        if name not in there:
            last = there[-1] if len(there) > 1 else ""
            have = (
                f"the instances are {there[0]} to {last}" if last else f"the only one is {there[0]}"
            )
            yield (
                f"engine.options.{name}",
                f"there is no such instance: with engine.instances = {len(there)} {have}; "
                "remove the key, or raise engine.instances",
            )
    needed = (binary for binary in planned_binaries(campaign) if not binary.optional)
    of_binaries = sum(binary.instances for binary in needed)
    if of_binaries >= most and of_binaries and not of_run:
        yield (
            "target.binaries",
            f"need {several(of_binaries, 'instance')} besides main, which runs the plain binary; "
            f"set engine.instances = {of_binaries + 1} or more, or their instances to less",
        )
    if CMPLOG in target.get("binaries", {}) and campaign.table("mutants"):
        yield "target.binaries.cmplog", "is not for [mutants]; use target.cmplog"
    for name, table in feature_tables().items():
        if campaign.tables[name] is not None:
            yield from table.problems(campaign, of_run=of_run)
    whole = sum(host.instances for host in campaign.hosts) or campaign.instances
    if 0 < campaign.budget_trials < whole:
        are = "is" if campaign.budget_trials == 1 else "are"
        yield (
            "campaign.budget",
            f"{several(campaign.budget_trials, 'trial')} {are} too few for "
            f"{whole} instances; allow at least one trial for each",
        )


def _suite(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """The contradictions of a campaign with several targets (a suite)."""
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
    """Yield a dotted key and a message for each key without effect, given in the file or not."""
    campaign = loaded.campaign
    for name, table in feature_tables().items():
        if campaign.tables[name] is not None:
            yield from table.without_effect(campaign)
    if campaign.cores and not campaign.targets:
        yield (
            "campaign.cores",
            "is for the cores that [[targets]] share, and there are none; remove it",
        )
    target = campaign.target
    if target.get("examples") and not target.get("suite"):
        yield (
            "target.examples",
            "is for a suite: let target.function name tests as pytest does, or remove "
            "target.examples",
        )
    source = "" if target.get("build") else target.get("source")
    if source and not _uses(campaign.table("oracle"), source):
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
    """Whether a command of ``[oracle]`` uses ``$SOURCE/``, in whose place ``source`` is already."""
    words = [*(oracle.get("run") or ()), *(oracle.get("against") or ())]
    return any(word.startswith(f"{source}/") for word in words)

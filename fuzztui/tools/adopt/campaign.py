"""The campaign file of an adopted fleet: every instance keeps its name, program and options."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fuzztui.run.campaign import CampaignError, FrozenCampaign, load
from fuzztui.run.campaign.binaries import VARIANTS
from fuzztui.run.campaign.model import FROZEN, toml_of
from fuzztui.run.triage.program import holds
from fuzztui.tools.adopt.command import FUZZER, FuzzerCommand
from fuzztui.tools.adopt.fleet import AdoptError, FoundFleet

_MAX_NAME: Final = 9
"""Characters of a binary's name, so that a number can follow."""


def campaign_of(fleet: FoundFleet, run: Path) -> FrozenCampaign:
    """Return the campaign of a fleet in the run directory ``run``.

    Raises :class:`AdoptError` with all reasons against it.
    """
    problems = [f"{one.name}: {one.problem}" for one in fleet.instances if one.problem]
    problems += _differences(commands) if (commands := fleet.commands) else []
    if not problems:
        text = toml_of(_tables(fleet.directory, commands, run))
        try:
            return load(run / FROZEN, text=text)
        except CampaignError as e:
            problems = [f"{each.key}: {each.text}" for each in e.problems]
    lines = "".join(f"\n  {problem}" for problem in problems)
    raise AdoptError(
        f"{fleet.directory}: cannot be adopted; nothing was stopped or changed:{lines}\n"
        "--without NAME leaves an instance as it is; the others go on importing its entries"
    )


def _differences(commands: Sequence[FuzzerCommand]) -> list[str]:
    """What one run cannot have twice, with the instance and the option."""
    first, *others = commands
    found = []
    for one in others:
        if one.is_main:
            found.append(f"{one.name}: option -M: {first.name} is the main instance already")
        if one.cwd != first.cwd:
            found.append(
                f"{one.name}: was started in {one.cwd}, and {first.name} in {first.cwd}: a run has "
                "one directory (target.cwd)"
            )
        if one.fuzzer.resolve() != first.fuzzer.resolve():
            found.append(
                f"{one.name}: runs {one.fuzzer}, and {first.name} {first.fuzzer}: a run has one "
                "afl-fuzz (engine.afl_path)"
            )
    if first.fuzzer.name != FUZZER:
        found.append(f"{first.name}: runs {first.fuzzer}: the program must be called {FUZZER}")
    return found


def _tables(directory: Path, commands: Sequence[FuzzerCommand], run: Path) -> dict[str, Any]:
    main = commands[0]
    binaries = _binaries(commands)
    order = ["", *sorted(binaries.values(), key=lambda n: [*VARIANTS, n].index(n))]

    def place(one: FuzzerCommand) -> tuple[bool, bool, int]:
        name = binaries.get(one.target, "")
        return one is not main, not name, order.index(name)

    ordered = sorted(commands, key=place)  # the first secondaries run the other binaries
    common = dict(set.intersection(*({*one.env.items()} for one in commands)))
    own = {
        one.name: [*(f"{n}={v}" for n, v in one.env.items() if n not in common), *one.options]
        for one in ordered
    }
    seeds = main.cwd / main.seeds
    given = main.seeds not in ("", "-") and seeds.is_dir()
    engine: dict[str, Any] = {
        "kind": "afl",
        "instances": len(commands),
        "names": [one.name for one in ordered],
        "seeds": [str(seeds)] if given and not seeds.is_relative_to(directory) else [],
        "options": own,
    }
    if main.fuzzer.resolve() != Path(shutil.which(FUZZER) or "/").resolve():
        engine["afl_path"] = str(main.fuzzer.parent)
    of = [binaries.get(one.target, "") for one in ordered]
    table = {
        name: {"command": [*target], "instances": of.count(name)}
        for target, name in sorted(binaries.items(), key=lambda item: order.index(item[1]))
    }
    return {
        "campaign": {"name": directory.name, "output": str(run)},
        "target": {
            "command": [*main.target],
            "cwd": str(main.cwd),
            "env": dict(sorted(common.items())),
            "binaries": table,
        },
        "engine": engine,
    }


def _binaries(commands: Sequence[FuzzerCommand]) -> dict[tuple[str, ...], str]:
    """Names for programs, or arguments, that differ from those of main, by their command."""
    found: dict[tuple[str, ...], str] = {}
    for one in commands[1:]:
        if one.target == commands[0].target or one.target in found:
            continue
        taken = {*VARIANTS, *found.values()}
        plain = re.sub(r"[^a-z0-9-]+", "-", Path(one.target[0]).name.lower()).strip("-")
        plain = plain.lstrip("0123456789-")[:_MAX_NAME] or "other"
        named = [n for n, v in VARIANTS.items() if v.symbol and holds(one.target[0], (v.symbol,))]
        free = (name for name in named if name not in found.values())
        numbered = (name for n in range(1, 1000) if (name := f"{plain}{n}") not in taken)
        found[one.target] = next(free, "") or (plain if plain not in taken else next(numbered))
    return found

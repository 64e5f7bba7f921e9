"""``fuzztui FILE --since REF``: mutate only changed lines of the campaign's ``mutants.sources``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from fuzztui.cli.output import UsageError
from fuzztui.cli.since import code_changes
from fuzztui.kernel.base.text import listed
from fuzztui.kernel.base.units import parse_ranges
from fuzztui.run.campaign import Campaign, FrozenCampaign
from fuzztui.run.campaign.values import absolute
from fuzztui.tools.changes.code import CodeChanges
from fuzztui.tools.changes.lines import Lines, joined, touches


def changed_sources(loaded: FrozenCampaign, options: argparse.Namespace) -> list[str] | None:
    """Return the override of ``mutants.sources`` by which only changed lines are mutated.

    Empty without ``--since`` and ``--in-diff``; None if no line of the sources has changed. Of a
    Python file, all lines of changed functions and statements count as changed. Raises
    :class:`CliError`.
    """
    if (code := code_changes(options)) is None:
        return []
    campaign = loaded.campaign
    if not campaign.table("mutants"):
        raise UsageError(
            f"{campaign.file}: --since and --in-diff limit mutants.sources, and the campaign has "
            "no [mutants]; 'fuzztui ci' mutates the changed code of such a campaign"
        )
    found = [
        f"{name}:{lines}"
        for name, given in campaign.table("mutants")["sources"]
        if (lines := _within(_changed(code, campaign, name), given))
    ]
    return [f"mutants.sources={json.dumps(found)}"] if found else None


def _changed(code: CodeChanges, campaign: Campaign, name: str) -> Lines:
    """The changed lines of a source: a file, or a Python module by its dotted name."""
    files = code.changes.files
    path = _file(campaign, name) or _module(files, name)
    if path is None:
        return ()
    if path.suffix == ".py":
        python = code.by_file.get(path)
        return () if python is None else python.regions
    file = files.get(path)
    return () if file is None else file.lines


def _file(campaign: Campaign, name: str) -> Path | None:
    """The file that a source names; None: there is none, so the name is a module's."""
    target = campaign.target
    bases = [target["source"]] if "source" in target else [campaign.file.parent, *target["path"]]
    there = (absolute(name, Path(base)) for base in bases)
    return next((path.resolve() for path in there if path.is_file()), None)


def _module(files: Iterable[Path], name: str) -> Path | None:
    """The changed file of a module, which the target's interpreter has not located yet.

    Raises :class:`CliError` if several may be meant.
    """
    tail = PurePosixPath(*name.split("."))
    endings = tail.with_suffix(".py").parts, (*tail.parts, "__init__.py")
    found = [p for p in files if any(p.parts[-len(e) :] == e for e in endings)]
    if len(found) > 1:
        which = listed([str(path) for path in sorted(found)])
        raise UsageError(
            f"mutants.sources: {name} may be {which}, which have all changed; name the file"
        )
    return found[0] if found else None


def _within(changed: Lines, given: str) -> str:
    """The changed lines that are in the ranges ``given`` ("": all lines), as ``12,40-60``."""
    if limits := parse_ranges(given):
        changed = tuple(
            (max(first, limit[0]), min(last, limit[-1]))
            for first, last in changed
            for limit in limits
            if touches(((first, last),), limit[0], limit[-1])
        )
    return ",".join(f"{a}-{b}" if b > a else str(a) for a, b in joined(changed))

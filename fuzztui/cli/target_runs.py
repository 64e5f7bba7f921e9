"""Runs of several targets on the command line: the run of one of them, and ``weigh-target``."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from fuzztui.cli.ctl_action import weights_of
from fuzztui.cli.output import UsageError
from fuzztui.cli.runs import find_run, standing
from fuzztui.features.targets.fold import target_rows
from fuzztui.kernel.wire.commands import WeighTarget
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.campaign.schema import TARGETS
from fuzztui.run.home.finding import is_run

_FROM = re.compile(r"id:[0-9]+,from:([A-Za-z0-9_-]+),(.*)", re.DOTALL)
"""The name of a finding in the whole campaign's run; see the feature ``targets``."""


def runs_of_targets(run: Path) -> list[Path]:
    """Return the runs of all targets of a campaign; none if it has one target."""
    try:
        return sorted(path for path in (run / TARGETS).iterdir() if is_run(path))
    except OSError:
        return []


def find_one_target(given: Path | None) -> Path:
    """Return the run for the argument RUN of a command that needs its target.

    Raises :class:`CliError`, also for a campaign of several targets.
    """
    run = find_run(given)
    if parts := runs_of_targets(run):
        raise UsageError(
            f"{run}: has several targets, and this command is for one; name the run of one: "
            + " or ".join(map(str, parts))
        )
    return run


def of_target(run_dir: RunDir, file: Path) -> tuple[RunDir, Path]:
    """Return the run of the target of which a finding's file is, and the file there.

    Of a campaign with one target: what was given. Raises :class:`CliError` for a file of no target.
    """
    parts = {path.name: path for path in runs_of_targets(run_dir.path)}
    if not parts:
        return run_dir, file
    below = file.resolve()
    names = below.relative_to(run_dir.out.resolve()).parts if _is_in(below, run_dir.out) else ()
    if not names or names[0] not in parts:
        raise UsageError(
            f"{file}: {run_dir.path} has several targets; name the run of the one that it is for: "
            + " or ".join(map(str, parts.values()))
        )
    own = RunDir(parts[names[0]])
    if len(names) == 3 and (found := _FROM.match(names[2])):
        folder = own.out / found[1] / names[1]
        there = [p for p in folder.glob("*") if p.name.startswith(found[2])]  # it may be cut
        return own, there[0] if len(there) == 1 else file
    return own, file


def _is_in(path: Path, directory: Path) -> bool:
    return path.is_relative_to(directory.resolve())


def weigh_target(options: argparse.Namespace) -> list[WeighTarget]:
    """``weigh-target NAME 3``; ``x2`` and ``x0.5`` multiply its present weight."""
    if not options.id or len(options.more) != 1 or options.instance:
        raise UsageError(
            "weigh-target needs a target and a weight; for example xml 3, or x2, or 0 for no turns"
        )
    run = options.run = find_run(options.run)  # once: find_run may print the choice
    rows = target_rows(standing(run).state)
    name = str(options.id)
    if name not in rows:
        known = f"the targets are {', '.join(rows)}" if rows else "the campaign has one target"
        raise UsageError(f"weigh-target: there is no target {name[:40]!r}; {known}")
    each = weights_of(options.more[0], "", {"": rows[name].weight})
    return [WeighTarget(name, weight) for weight in each.values()]

"""The options of commands about mutators, comparisons, types and goals."""

from __future__ import annotations

import argparse
from pathlib import Path

from fuzztui.cli.arguments import NEAREST, Run, add_optional_run, add_set, command
from fuzztui.cli.since import add_changes


def add_mutators(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui mutators``; return the command."""
    from fuzztui.cli import mutators

    add_optional_run(parser)
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        choices=mutators.COLUMNS,
        default="pays",
        help=f"sort by this column, largest first: {', '.join(mutators.COLUMNS)} (pays: saved "
        "inputs per million uses; mutators with fewer than 3 saved inputs or 200 uses come last)",
    )
    return mutators.mutators


def add_types(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui types``; return the command."""
    add_optional_run(parser)
    _all(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return command("types.types")


def add_comparisons(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui comparisons``; return the command."""
    add_optional_run(parser)
    _all(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return command("comparisons.comparisons")


def _all(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all",
        action="store_true",
        help="print every line in full on a terminal too, as in a pipe",
    )


def add_targets(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui targets``; return the command."""
    from fuzztui.cli import targets

    parser.add_argument(
        "path",
        metavar="CAMPAIGN",
        type=Path,
        nargs="?",
        help=f"a campaign file, or a run directory; default: {NEAREST}",
    )
    _all(parser)
    add_changes(parser, "goals of functions")
    parser.add_argument("--json", action="store_true", help="print one object, as in targets.json")
    parser.add_argument(
        "--observed",
        metavar="FILE",
        type=Path,
        help="JSON file with observed parameter types by function (docs/targets.md)",
    )
    parser.add_argument(
        "--no-run",
        dest="run",
        action="store_false",
        help="do not run the target to observe the types of parameters without annotations",
    )
    add_set(parser)
    return targets.targets

"""The options of commands about mutators, comparisons, types and goals."""

from __future__ import annotations

from fuzztui.cli.arguments import NEAREST, CommandParser, Run, add_set, command
from fuzztui.cli.since import add_changes


def _mutators(parser: CommandParser) -> Run:
    from fuzztui.cli import mutators

    parser.optional_run()
    parser.json()
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        choices=mutators.COLUMNS,
        default="pays",
        help=f"sort by this column, largest first: {', '.join(mutators.COLUMNS)} (pays: saved "
        "inputs per million uses; mutators with fewer than 3 saved inputs or 200 uses come last)",
    )
    return mutators.mutators


def _types(parser: CommandParser) -> Run:
    parser.optional_run()
    _all(parser)
    parser.json()
    return command("types.types")


def _comparisons(parser: CommandParser) -> Run:
    parser.optional_run()
    _all(parser)
    parser.json()
    return command("comparisons.comparisons")


def _all(parser: CommandParser) -> None:
    parser.flag("--all", "print every line in full on a terminal too, as in a pipe")


def _targets(parser: CommandParser) -> Run:
    from fuzztui.cli import targets

    which = f"a campaign file, or a run directory; default: {NEAREST}"
    parser.path("path", "CAMPAIGN", which, nargs="?")
    _all(parser)
    add_changes(parser, "goals of functions")
    parser.json("one object, as in targets.json")
    parser.path(
        "--observed",
        "FILE",
        "JSON file with observed parameter types by function (docs/targets.md)",
    )
    parser.off(
        "--no-run",
        "do not run the target to observe the types of parameters without annotations",
    )
    add_set(parser)
    return targets.targets


COMMANDS = {
    "mutators": _mutators,
    "targets": _targets,
    "types": _types,
    "comparisons": _comparisons,
}

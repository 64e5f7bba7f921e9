"""The options of commands about mutants."""

from __future__ import annotations

import argparse

from fuzztui.cli.arguments import (
    NEAREST,
    CommandParser,
    Run,
    add_jobs,
    add_set,
    add_shard,
    command,
    count,
    percent,
)
from fuzztui.cli.cluster_options import add_cluster
from fuzztui.cli.since import add_changes


def _mutants(parser: CommandParser) -> Run:
    from fuzztui.cli import mutants, mutants_rank

    parser.add_argument(
        "what",
        choices=["list", "show", "rank", "matrix", "export"],
        help="list: all mutants; show: one mutant with its diff; rank: those of source files, the "
        "most different first; matrix: which inputs of a run kill which mutants; export: a report "
        "in the format of Stryker's viewers (mutation-testing-elements)",
    )
    parser.path(
        "path",
        "FILE|RUN",
        "a campaign file or a run directory; with rank: one or more source files; default "
        f"with list and export: {NEAREST}; with matrix: the only or latest run in ./runs",
        nargs="?",
    )
    parser.text(
        "selections",
        "SELECTION",
        "an ID, or a selection such as operator=math,file=_parser.py; list takes several",
        nargs="*",
        default=[],
    )
    parser.json()
    parser.flag("--csv", "with matrix: print a line per kill")
    parser.flag(
        "--complete",
        "with matrix, of a campaign that has ended: first run all kept inputs on all mutants that "
        "had a turn, which are built again",
    )
    parser.time("--budget", "with --complete: end after this time, such as 5m (0: no limit)", 0.0)
    parser.output("FILE", "with export: the file (default: stdout)")
    parser.flag(
        "--survivors",
        "with list: only mutants that are not killed, in groups: those that ran come first",
    )
    add_changes(parser, "mutants of functions (with rank: of lines)")
    add_shard(parser)
    rank_ = parser.add_argument_group("with rank")
    rank_.add_argument("--limit", metavar="N", type=count, help="only the first N mutants")
    rank_.add_argument("--lines", default="", help="only mutants of these lines: 12,40-60")
    rank_.add_argument("--language", default="", help="default: by the suffix of the file name")
    rank_.add_argument(
        "--order",
        choices=mutants_rank.ORDERS,
        default="fpf",
        help="fpf: furthest point first (default); universalmutator: as its prioritize_mutants",
    )
    rank_.add_argument(
        "--check", action="store_true", help="rank only mutants that compile (C, C++ and Python)"
    )
    rank_.add_argument(
        "--check-with",
        metavar="COMMAND",
        default="",
        help="--check with a command that reads the source from stdin: "
        "'gcc -fsyntax-only -Iinclude -x c -'",
    )
    rank_.add_argument(
        "--seed", type=int, default=0, help="random seed for the first mutant or the random order"
    )
    add_set(parser)
    return mutants.mutants


def _score(parser: CommandParser) -> Run:
    parser.run(", of a Python target")
    parser.corpus_folders("inputs to score")
    add_jobs(parser)
    add_cluster(parser, "parts of the mutants")
    parser.number(
        "--parts",
        "with --cluster: the number of parts (default: three for each slot, of at least 60 "
        "mutants)",
        0,
    )
    parser.time(
        "--budget",
        "end after this time, such as 5m: the score is then a lower bound (0: no limit)",
        0.0,
    )
    parser.flag("--survivors", "list the mutants not killed")
    parser.flag(
        "--matrix",
        "find all inputs that kill a mutant, not only the first; kept in RUN/matrix.json, so "
        "that later only new inputs are run",
    )
    parser.output(
        "FILE",
        "with --matrix: write the matrix to FILE, as JSON, or as CSV if its name ends in .csv",
    )
    add_shard(parser)
    add_gates(parser)
    parser.path(
        "--fail-new",
        "BASELINE",
        "exit with 11 if a mutant survives that does not survive in BASELINE, a file that "
        "score --json has printed",
    )
    add_changes(parser, "mutants of functions")
    parser.json()
    add_set(parser)
    return command("score.score")


def add_gates(parser: CommandParser) -> None:
    """Add the gates of ``score`` and ``ci``."""
    parser.add_argument(
        "--fail-under",
        metavar="N",
        type=percent,
        help="exit with 11 if less than N percent of the valid mutants are killed",
    )
    parser.add_argument(
        "--max-invalid",
        metavar="N",
        type=percent,
        default=10.0,
        help="with a gate: exit with 1 if more than N percent of the mutants could not be run "
        "(default: %(default)g)",
    )


def _mutate(parser: CommandParser) -> Run:
    parser.path("files", "FILE", "files to mutate: programs, seeds", nargs="*")
    parser.number("--count", "number of mutated files, taking the given files in turn (10)", 10)
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    parser.path("--output", "DIR", "write the mutated files to DIR; default: show the changes")
    parser.several("--mutator", "NAME", "only this text mutator (may be repeated); default: all")
    parser.add_argument(  # the former name
        "--operator", dest="mutator", action="append", help=argparse.SUPPRESS
    )
    parser.add_argument(
        "--stack", metavar="K", type=count, default=1, help="text mutators per mutated file (1)"
    )
    parser.flag("--list", "list the text mutators with effects")
    return command("mutate.mutate")


COMMANDS = {"mutants": _mutants, "score": _score, "mutate": _mutate}

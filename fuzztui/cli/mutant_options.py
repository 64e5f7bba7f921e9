"""The options of commands about mutants."""

from __future__ import annotations

import argparse
from pathlib import Path

from fuzztui.cli.arguments import (
    NEAREST,
    RUN_HELP,
    Run,
    add_corpus_folders,
    add_jobs,
    add_set,
    add_shard,
    command,
    count,
    percent,
    seconds,
)
from fuzztui.cli.cluster_options import add_cluster
from fuzztui.cli.since import add_changes


def add_mutants(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui mutants``; return the command."""
    from fuzztui.cli import mutants, mutants_rank

    parser.add_argument(
        "what",
        choices=["list", "show", "rank", "matrix", "export"],
        help="list: all mutants; show: one mutant with its diff; rank: those of source files, the "
        "most different first; matrix: which inputs of a run kill which mutants; export: a report "
        "in the format of Stryker's viewers (mutation-testing-elements)",
    )
    parser.add_argument(
        "path",
        metavar="FILE|RUN",
        type=Path,
        nargs="?",
        help="a campaign file or a run directory; with rank: one or more source files; default "
        f"with list and export: {NEAREST}; with matrix: the only or latest run in ./runs",
    )
    parser.add_argument(
        "selections",
        metavar="SELECTION",
        nargs="*",
        default=[],
        help="an ID, or a selection such as operator=math,file=_parser.py; list takes several",
    )
    parser.add_argument("--json", action="store_true", help="print a list of objects; show: one")
    parser.add_argument("--csv", action="store_true", help="with matrix: print a line per kill")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="with export: the file (default: stdout)"
    )
    parser.add_argument(
        "--survivors",
        action="store_true",
        help="with list: only mutants that are not killed, in groups: those that ran come first",
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


def add_score(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui score``; return the command."""
    parser.add_argument("run", metavar="RUN", type=Path, help=f"{RUN_HELP}, of a Python target")
    add_corpus_folders(parser, "inputs to score")
    add_jobs(parser)
    add_cluster(parser, "parts of the mutants")
    parser.add_argument(
        "--parts",
        metavar="N",
        type=count,
        default=0,
        help="with --cluster: the number of parts (default: three for each slot, of at least 60 "
        "mutants)",
    )
    parser.add_argument(
        "--budget",
        metavar="TIME",
        type=seconds,
        default=0.0,
        help="end after this time, such as 5m: the score is then a lower bound (0: no limit)",
    )
    parser.add_argument("--survivors", action="store_true", help="list the mutants not killed")
    parser.add_argument(
        "--matrix",
        action="store_true",
        help="find all inputs that kill a mutant, not only the first; kept in RUN/matrix.json, so "
        "that later only new inputs are run",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="with --matrix: write the matrix to FILE, as JSON, or as CSV if its name ends in .csv",
    )
    add_shard(parser)
    add_gates(parser)
    parser.add_argument(
        "--fail-new",
        metavar="BASELINE",
        type=Path,
        help="exit with 11 if a mutant survives that does not survive in BASELINE, a file that "
        "score --json has printed",
    )
    add_changes(parser, "mutants of functions")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_set(parser)
    return command("score.score")


def add_gates(parser: argparse.ArgumentParser) -> None:
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


def add_mutate(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui mutate``; return the command."""
    parser.add_argument(
        "files", metavar="FILE", nargs="*", type=Path, help="files to mutate: programs, seeds"
    )
    parser.add_argument(
        "--count",
        metavar="N",
        type=count,
        default=10,
        help="number of mutated files, taking the given files in turn (10)",
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="write the mutated files to DIR; default: show the changes",
    )
    parser.add_argument(
        "--mutator",
        metavar="NAME",
        action="append",
        default=[],
        help="only this text mutator (may be repeated); default: all",
    )
    parser.add_argument(  # the former name
        "--operator", dest="mutator", action="append", help=argparse.SUPPRESS
    )
    parser.add_argument(
        "--stack", metavar="K", type=count, default=1, help="text mutators per mutated file (1)"
    )
    parser.add_argument("--list", action="store_true", help="list the text mutators with effects")
    return command("mutate.mutate")

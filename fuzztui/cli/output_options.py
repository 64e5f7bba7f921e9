"""The options of commands by which results leave a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from fuzztui.cli.arguments import (
    RUN_HELP,
    Run,
    add_absolute,
    add_campaign,
    add_corpus_folders,
    add_jobs,
    add_set,
    command,
    count,
    seconds,
    shard,
)
from fuzztui.cli.mutant_options import add_gates
from fuzztui.cli.since import add_changes


def add_ci(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui ci``; return the command."""
    add_campaign(parser, optional=True)
    add_changes(parser, "mutants of functions")
    parser.add_argument(
        "--all",
        action="store_true",
        help="mutate all code, also in a pull request, whose target branch is else the default of "
        "--since",
    )
    parser.add_argument(
        "--budget",
        metavar="TIME",
        type=seconds,
        default=300.0,
        help="time for fuzzing after the replay (default: 5m; 0: none)",
    )
    parser.add_argument(
        "--corpus",
        metavar="DIR",
        type=Path,
        help="the kept corpus, which a cache can carry (default: corpus in the output directory)",
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("fuzztui-ci"),
        help="directory of the reports and of the run (default: %(default)s)",
    )
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        type=Path,
        help="exit with 11 if a mutant survives that does not survive in FILE: score.json of an "
        "earlier run of ci on all code, or what score --json has printed",
    )
    add_gates(parser)
    add_jobs(parser, " of the score")
    parser.add_argument(
        "--shard",
        metavar="K/N",
        type=shard,
        help="one of N jobs: fuzz with a seed of its own, and judge only the K-th of N parts of "
        "the mutants; kept corpora are joined by copying, score.json by fuzztui merge",
    )
    add_set(parser)
    add_absolute(parser)
    return command("ci.ci")


def add_export(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui export``; return the command."""
    parser.add_argument("run", metavar="RUN", type=Path, help=f"{RUN_HELP}, of a Python target")
    parser.add_argument(
        "--pytest",
        metavar="FILE",
        type=Path,
        required=True,
        help="the test file, such as tests/test_fuzz_parser.py; long values go into a directory "
        "beside it",
    )
    parser.add_argument(
        "--tests",
        metavar="N",
        type=count,
        default=0,
        help="only the N best tests (default: as many as kill and cover everything)",
    )
    add_corpus_folders(parser, "choose from these inputs")
    parser.add_argument(
        "--no-messages",
        dest="messages",
        action="store_false",
        help="do not assert the texts of exceptions, only their classes",
    )
    parser.add_argument(
        "--no-findings",
        dest="findings",
        action="store_false",
        help="no tests for findings (they are marked as expected failures)",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace a file that fuzztui has not made"
    )
    add_jobs(parser)
    parser.add_argument(
        "--budget",
        metavar="TIME",
        type=seconds,
        default=0.0,
        help="search for kills no longer than this, such as 5m (0: no limit)",
    )
    add_set(parser)
    return command("export.export")


def add_coverage(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui coverage``; return the command."""
    from fuzztui.tools.export.coverage import FORMATS

    parser.add_argument(
        "run", metavar="RUN", type=Path,
        help=f"{RUN_HELP}, of a Python target; with --by-line also of a C target",
    )  # fmt: skip
    parser.add_argument(
        "--format", choices=FORMATS, help="default: a table of files with their missing lines"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write to FILE instead of stdout"
    )
    parser.add_argument(
        "--entry",
        metavar="ID",
        help="only this input: 12, id:000012, INSTANCE/12, or a file",
    )
    parser.add_argument(
        "--over-time",
        action="store_true",
        help="how many lines were covered when, in the table or in JSON",
    )
    parser.add_argument(
        "--by-line",
        action="store_true",
        help="JSON: for each line the first and the smallest entry that execute it",
    )
    parser.add_argument(
        "--progress", action="store_true", help="with --by-line: messages about the progress"
    )
    parser.add_argument(
        "--until-eof", action="store_true", help="end at the end of stdin, as with Ctrl-C"
    )
    parser.add_argument(
        "--root",
        metavar="DIR",
        type=Path,
        help="names of files are relative to DIR, which must be the repository for services that "
        "show coverage (default: the current directory)",
    )
    add_set(parser)
    add_absolute(parser)
    return command("coverage.coverage")


def add_events(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui events``; return the command."""
    parser.add_argument(
        "run",
        metavar="RUN|LOG",
        type=Path,
        nargs="?",
        help=f"{RUN_HELP}, or a log; default: the only or latest run in ./runs",
    )
    parser.add_argument(
        "--follow", action="store_true", help="print also new events, until the campaign ends"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument(
        "--kind",
        dest="kinds",
        metavar="KIND",
        action="append",
        default=[],
        help="only events of this kind, such as finding_described (may be repeated)",
    )
    parser.add_argument(
        "--host",
        dest="hosts",
        metavar="NAME",
        action="append",
        default=[],
        help="only events of this host of the campaign, or about it (may be repeated)",
    )
    parser.add_argument(
        "--after",
        metavar="N",
        type=int,
        default=0,
        help="only events after number N (s in JSON): to continue where a script was",
    )
    return command("events.events")


def add_metrics(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui metrics``; return the command."""
    parser.add_argument(
        "runs",
        metavar="RUN|DIR",
        type=Path,
        nargs="*",
        help="run directories, campaign files or AFL output directories; "
        "default: the only or latest run in ./runs",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="replace FILE at once, for node_exporter"
    )
    parser.add_argument(
        "--every",
        metavar="TIME",
        type=seconds,
        help="with --output: write again after this time, until the campaigns have ended",
    )
    parser.add_argument(
        "--listen", metavar="[127.0.0.1:]PORT", help="serve http://127.0.0.1:PORT/metrics"
    )
    return command("metrics.metrics")

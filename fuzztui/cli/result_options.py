"""The options of commands about the results of a run."""

from __future__ import annotations

from pathlib import Path

from fuzztui.cli.arguments import CommandParser, Run, add_jobs, add_set, command, moment, shard
from fuzztui.cli.mutant_options import add_gates
from fuzztui.cli.since import add_changes

# --------------------------------------------------------------------- for other tools


def _ci(parser: CommandParser) -> Run:
    parser.campaign(optional=True)
    add_changes(parser, "mutants of functions")
    parser.flag(
        "--all",
        "mutate all code, also in a pull request, whose target branch is else the default of "
        "--since",
    )
    parser.time("--budget", "time for the whole job (default: 5m; 0: no fuzzing)", 300.0)
    parser.path(
        "--corpus",
        "DIR",
        "the kept corpus, which a cache can carry (default: corpus in the output directory)",
    )
    parser.path(
        "--output",
        "DIR",
        "directory of the reports and of the run (default: %(default)s)",
        default=Path("fuzztui-ci"),
    )
    parser.path(
        "--baseline",
        "FILE",
        "exit with 11 if a mutant survives that does not survive in FILE: score.json of an "
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
    parser.absolute()
    return command("ci.ci")


def _export(parser: CommandParser) -> Run:
    parser.run(", of a Python target")
    parser.path(
        "--pytest",
        "FILE",
        "the test file, such as tests/test_fuzz_parser.py; long values go into a directory "
        "beside it",
        required=True,
    )
    parser.number(
        "--tests", "only the N best tests (default: as many as kill and cover everything)", 0
    )
    parser.corpus_folders("choose from these inputs")
    parser.off("--no-messages", "do not assert the texts of exceptions, only their classes")
    parser.off("--no-findings", "no tests for findings (they are marked as expected failures)")
    parser.flag("--force", "replace a file that fuzztui has not made")
    add_jobs(parser)
    parser.time("--budget", "search for kills no longer than this, such as 5m (0: no limit)", 0.0)
    add_set(parser)
    return command("export.export")


def _coverage(parser: CommandParser) -> Run:
    from fuzztui.tools.export.coverage import FORMATS

    parser.run(", of a Python target, or of a C target with target.build")
    parser.add_argument(
        "--format", choices=FORMATS, help="default: a table of files with their missing lines"
    )
    parser.output("FILE", "write to FILE instead of stdout")
    parser.text("--entry", "ID", "only this input: 12, id:000012, INSTANCE/12, or a file")
    parser.flag("--over-time", "how many lines were covered when, in the table or in JSON")
    for table, text in (
        ("functions", "a table of functions: their lines, and those that no input enters"),
        ("frontier", "conditions with a branch never taken, by the lines that are behind them"),
    ):
        parser.add_argument(
            f"--{table}", dest="table", action="store_const", const=table, default="", help=text
        )
    parser.flag("--by-line", "JSON: for each line the first and the smallest entry that execute it")
    parser.flag("--progress", "with --by-line: messages about the progress")
    parser.flag("--until-eof", "end at the end of stdin, as with Ctrl-C")
    parser.path(
        "--root",
        "DIR",
        "names of files are relative to DIR, which must be the repository for services that "
        "show coverage (default: the current directory)",
    )
    add_set(parser)
    parser.absolute()
    return command("coverage.coverage")


# -------------------------------------------------------------------- events and figures


def _events(parser: CommandParser) -> Run:
    parser.optional_run("RUN|LOG", ", or a log; default: the only or latest run in ./runs")
    parser.flag("--follow", "print also new events, until the campaign ends")
    parser.json("one JSON object a line")
    parser.several(
        "--kind",
        "KIND",
        "only events of this kind, such as finding_described (may be repeated)",
        dest="kinds",
    )
    parser.several(
        "--host",
        "NAME",
        "only events of this host of the campaign, or about it (may be repeated)",
        dest="hosts",
    )
    parser.add_argument(
        "--after",
        metavar="N",
        type=int,
        default=0,
        help="only events after number N (s in JSON): to continue where a script was",
    )
    return command("events.events")


def _metrics(parser: CommandParser) -> Run:
    parser.path(
        "runs",
        "RUN|DIR",
        "run directories, campaign files or AFL output directories; "
        "default: the only or latest run in ./runs",
        nargs="*",
    )
    parser.output("FILE", "replace FILE at once, for node_exporter")
    parser.time(
        "--every", "with --output: write again after this time, until the campaigns have ended"
    )
    parser.text("--listen", "[127.0.0.1:]PORT", "serve http://127.0.0.1:PORT/metrics")
    return command("metrics.metrics")


# --------------------------------------------------------------------------------- pages


def _report(parser: CommandParser) -> Run:
    parser.path(
        "run",
        "RUN|DIR",
        "a run directory, a campaign file (the newest of its runs), or an AFL output "
        "directory; default: the only or latest run in ./runs",
        nargs="?",
    )
    parser.flag(
        "--coverage",
        "run the inputs again, and mark which lines of a Python target they execute",
    )
    _written(parser, "md")
    return command("report.report")


def _compare(parser: CommandParser) -> Run:
    parser.text(
        "runs",
        "RUN",
        "two or more runs of one target, or groups of runs with a name, each a list with "
        "commas: zest=runs/z1,runs/z2 mu2=runs/m1,runs/m2; a pattern such as 'zest=runs/z*' too",
        nargs="+",
    )
    parser.add_argument(
        "--at",
        metavar="TIME",
        type=moment,
        help="compare at this campaign time, such as 10m or 1:30:00; default: each "
        "at its end if all have used the same budget, else the end of the shortest run",
    )
    parser.flag("--screen", "show two runs side by side")
    _written(parser, "text")
    parser.json()
    return command("compare.compare")


def _written(parser: CommandParser, default: str) -> None:
    parser.output("FILE", "write to FILE, in place of stdout")
    parser.add_argument(
        "--format",
        choices=("html", "md", "json"),
        help=f"default: by the end of FILE's name (.html, .md, .json); on stdout {default}",
    )
    parser.absolute()


# ------------------------------------------------------------------------------ single inputs

_INPUT = "an input, or INSTANCE/crashes/id:... in the run"


def _repro(parser: CommandParser) -> Run:
    parser.run()
    parser.text("files", "FILE", f"{_INPUT}; without it, the findings are listed", nargs="*")
    return command("repro.repro")


def _minimise(parser: CommandParser) -> Run:
    parser.run()
    parser.text("file", "FILE", _INPUT)
    parser.output("OUT", "the output file; default: RUN/minimised/INSTANCE/NAME")
    parser.time(
        "--time",
        "stop after this time, 30 or 5m, with the smallest input found (default: 10m, "
        "programs 15m; 0: no limit)",
        metavar="SECONDS",
    )
    parser.flag(
        "--progress",
        "print a line on stderr for each step; do not reproduce the result afterwards",
    )
    parser.flag(
        "--until-eof",
        "stop at the end of stdin, as with Ctrl-C; the smallest input found is kept",
    )
    return command("minimise.minimise")


def _bisect(parser: CommandParser) -> Run:
    parser.run()
    parser.text(
        "finding",
        "FINDING|MUTANT",
        "INSTANCE/crashes/id:... in the run, or another input; or the id of a Python mutant "
        "that the corpus once killed: bad is then a commit at which it survives",
    )
    parser.text("range", "GOOD..BAD", "two commits, tags or branches; GOOD.. means GOOD..HEAD")
    parser.text(
        "--build",
        "COMMAND",
        "a shell command to execute in each commit's tree first, such as 'make fuzz', for a "
        "program without target.build, or a Python package with compiled modules",
    )
    parser.text(
        "--only",
        "TEXT",
        "skip commits that fail without this text in what repro prints: other bugs",
    )
    parser.number("--times", "run the input up to N times at each commit: flaky findings", 1)
    parser.corpus_folders("of a mutant: use these inputs, at each commit as they are in it")
    parser.time(
        "--limit", "skip a commit that is not built and run within this time (default: 10m)", 600.0
    )
    add_set(parser)
    parser.json()
    return command("bisect.bisect")


COMMANDS = {
    "ci": _ci,
    "export": _export,
    "coverage": _coverage,
    "events": _events,
    "metrics": _metrics,
    "report": _report,
    "compare": _compare,
    "repro": _repro,
    "minimise": _minimise,
    "bisect": _bisect,
}

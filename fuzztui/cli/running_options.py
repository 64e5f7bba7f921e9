"""The options of commands that start, show and steer a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from fuzztui import __version__
from fuzztui.cli.arguments import (
    RUN_HELP,
    Run,
    add_campaign,
    add_host,
    add_optional_run,
    add_set,
    add_shard,
    add_theme,
    command,
    moment,
    seconds,
)
from fuzztui.cli.since import add_changes


def add_run(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui FILE``; return the command."""
    add_campaign(parser)
    return _how_to_run(parser)


def _how_to_run(parser: argparse.ArgumentParser, *, changes: bool = True) -> Run:
    """``changes``: whether there are options about changes of ``mutants.sources``."""
    add_set(parser)
    add_host(parser)
    parser.add_argument(
        "--new", action="store_true", help="start another run, in a separate directory"
    )
    if changes:
        add_changes(parser, "mutants of mutants.sources on lines")
    else:
        parser.set_defaults(since=None, in_diff=None)
    add_shard(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--headless",
        action="store_true",
        help="no screen: print progress; exit code 10 if the campaign ends with "
        "findings that are new or regressions",
    )
    how.add_argument("--detach", action="store_true", help="start the campaign and return at once")
    parser.add_argument("--json", action="store_true", help="with --headless: print JSON lines")
    add_theme(parser)
    parser.add_argument("-V", "--version", action="version", version=f"fuzztui {__version__}")
    return command("run.run")


def add_test(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui test``; return the command."""
    parser.add_argument(
        "parts",
        metavar="TESTS",
        nargs="*",
        help="directories, files, or node ids: tests/, tests/test_a.py::test_b; default: tests/",
    )
    parser.add_argument(
        "--include",
        metavar="PACKAGE",
        action="append",
        default=[],
        help="a package or module under test (may be repeated); default: those of the project",
    )
    parser.add_argument(
        "--python",
        metavar="PYTHON",
        default="",
        help="the interpreter of the project; default: that of the active or of the project's "
        "virtual environment, else fuzztui's own",
    )
    parser.add_argument("--budget", metavar="BUDGET", default="", help="10m, or 100000 trials")
    parser.add_argument(
        "--instances", metavar="N", type=int, default=1, help="engines in parallel (default: 1)"
    )
    parser.add_argument(
        "--mutants",
        action="store_true",
        help="also run mutants of the packages under test (the engine mu2): which changes no test "
        "detects",
    )
    parser.add_argument(
        "--no-examples",
        dest="examples",
        action="store_false",
        help="do not add findings to the project's .hypothesis/examples",
    )
    parser.add_argument(
        "--write-examples",
        action="store_true",
        help="do not fuzz: print a patch that adds @example(...) for the newest run's findings",
    )
    _how_to_run(parser, changes=False)
    return command("test.test")


def add_run_project(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui run``; return the command."""
    add_campaign(parser, optional=True)
    return _how_to_run(parser)


def add_attach(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui attach``; return the command."""
    add_optional_run(parser)
    parser.add_argument(
        "--read-only", action="store_true", help="look only: no key steers the campaign"
    )
    add_theme(parser)
    return command("attach.attach")


def add_watch(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui watch``; return the command."""
    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="+",
        type=Path,
        help="the directory of afl-fuzz -o, or one instance in it; only read, never changed",
    )
    parser.add_argument(
        "--keep", metavar="DIR", type=Path, help="keep the log in DIR, for fuzztui replay"
    )
    add_theme(parser)
    return command("watch.watch")


def add_runs(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui runs``; return the command."""
    parser.add_argument(
        "directories",
        metavar="DIR",
        type=Path,
        nargs="*",
        help="directories that are searched for runs, five levels deep; default: ./runs. Campaigns "
        "that you have under way elsewhere on this machine are always listed",
    )
    parser.add_argument("--size", action="store_true", help="also the room on disk of each run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return command("list_runs.runs")


def add_status(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui status``; return the command."""
    parser.add_argument(
        "run",
        metavar="RUN|DIR",
        type=Path,
        nargs="?",
        help="a run directory, a campaign file, or an AFL output directory; "
        "default: the only or latest run in ./runs",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return command("status.status")


def add_ctl(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui ctl``; return the command."""
    from fuzztui.cli import ctl

    parser.add_argument("run", metavar="RUN", type=Path, help=RUN_HELP)
    parser.add_argument(
        "action", metavar="COMMAND", choices=list(ctl.ACTIONS), help=", ".join(ctl.ACTIONS)
    )
    parser.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        default="",
        help=ctl.ID_HELP,
    )
    parser.add_argument(
        "more",
        metavar="PART",
        nargs="*",
        default=[],
        help=ctl.MORE_HELP,
    )
    parser.add_argument(
        "--to",
        choices=["first", "last", "up", "down"],
        help="with move-mutants: the new position (default: first); up, down: by one",
    )
    parser.add_argument(
        "--because",
        metavar="TEXT",
        help="with mark-equivalent: why the mutant is equivalent; with accept-mutants: why it may "
        "survive",
    )
    parser.add_argument(
        "--note", metavar="TEXT", help="with judge: the reason, or the number of an issue"
    )
    parser.add_argument(
        "--adaptive",
        action="store_true",
        help="with mixture: mutators that find more become more probable",
    )
    parser.add_argument(
        "--fixed", action="store_true", help="with mixture: keep each instance's mixture as it is"
    )
    parser.add_argument("--instance", default="", help="send the command to this instance only")
    parser.add_argument(
        "--timeout",
        type=seconds,
        help="time to wait for the answer (default: 10s; queue entries 40s, minimise 15m)",
    )
    return ctl.ctl


def add_replay(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui replay``; return the command."""
    parser.add_argument(
        "path",
        metavar="RUN|LOG",
        type=Path,
        help="a run directory, a campaign file (the newest of its runs), or a log",
    )
    parser.add_argument("--speed", type=_speed, default=1.0, help="multiple of real time (1)")
    parser.add_argument(
        "--at", metavar="TIME", type=moment, help="campaign time to start at: 90s or 1:30:00"
    )
    parser.add_argument("--json", action="store_true", help="print the status at --at, or the end")
    add_theme(parser)
    return command("replay.replay")


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0, such as 10 or 0.5")
    return speed

"""The options of commands that start, show and steer a run."""

from __future__ import annotations

import argparse

from fuzztui import __version__
from fuzztui.cli.arguments import (
    CommandParser,
    Run,
    add_host,
    add_set,
    add_shard,
    command,
    moment,
    seconds,
)
from fuzztui.cli.since import add_changes


def add_run(parser: CommandParser) -> Run:
    """Add the options of ``fuzztui FILE``; return the command."""
    parser.campaign()
    return _how_to_run(parser)


def _how_to_run(parser: CommandParser, *, changes: bool = True) -> Run:
    """Add the options that start or rejoin a campaign; return the command.

    ``changes``: whether to add those about changes of ``mutants.sources``.
    """
    add_set(parser)
    add_host(parser)
    parser.flag("--new", "start another run, in a separate directory")
    if changes:
        add_changes(parser, "mutants of mutants.sources on lines")
    else:
        parser.set_defaults(since=None, in_diff=None)
    add_shard(parser)
    _shown(parser)
    parser.add_argument("-V", "--version", action="version", version=f"fuzztui {__version__}")
    return command("run.run")


def _shown(parser: CommandParser) -> None:
    """Add the options about what a started campaign shows."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--headless",
        action="store_true",
        help="no screen: print progress; exit code 10 if the campaign ends with "
        "findings that are new or regressions",
    )
    how.add_argument("--detach", action="store_true", help="start the campaign and return at once")
    parser.flag("--json", "with --headless: print JSON lines")
    parser.theme()


def _test(parser: CommandParser) -> Run:
    parser.text(
        "parts",
        "TESTS",
        "directories, files, or node ids: tests/, tests/test_a.py::test_b; default: tests/",
        nargs="*",
    )
    parser.several(
        "--include",
        "PACKAGE",
        "a package or module under test (may be repeated); default: those of the project",
    )
    parser.text(
        "--python",
        "PYTHON",
        "the interpreter of the project; default: that of the active or of the project's "
        "virtual environment, else fuzztui's own",
        default="",
    )
    parser.text("--budget", "BUDGET", "10m, or 100000 trials", default="")
    parser.add_argument(
        "--instances", metavar="N", type=int, default=1, help="engines in parallel (default: 1)"
    )
    parser.flag(
        "--mutants",
        "also run mutants of the packages under test (the engine mu2): which changes no test "
        "detects",
    )
    parser.off("--no-examples", "do not add findings to the project's .hypothesis/examples")
    parser.flag(
        "--write-examples",
        "do not fuzz: print a patch that adds @example(...) for the newest run's findings",
    )
    _how_to_run(parser, changes=False)
    return command("test.test")


def _run(parser: CommandParser) -> Run:
    parser.campaign(optional=True)
    return _how_to_run(parser)


def _attach(parser: CommandParser) -> Run:
    parser.optional_run()
    parser.flag("--read-only", "look only: no key steers the campaign")
    parser.theme()
    return command("attach.attach")


def _serve(parser: CommandParser) -> Run:
    parser.optional_run()
    parser.add_argument(
        "--port", metavar="N", type=int, default=0, help="the port; default: a free one"
    )
    parser.text(
        "--host",
        "ADDRESS",
        "the address, or the name, that browsers use; another than this machine's loopback "
        "needs --cert; default: 127.0.0.1",
        default="127.0.0.1",
    )
    parser.path("--cert", "FILE", "serve by TLS with this certificate (PEM)")
    parser.path("--key", "FILE", "its private key; default: in the file of --cert")
    parser.flag("--steer", "keys steer the campaign; default: look only")
    parser.theme()
    return command("serve.serve")


def _watch(parser: CommandParser) -> Run:
    what = "the directory of afl-fuzz -o, or one instance in it; only read, never changed"
    parser.path("directories", "DIR", what, nargs="+")
    parser.path("--keep", "DIR", "keep the log in DIR, for fuzztui replay")
    parser.flag(
        "--run-crashes",
        "for users who know the target: run crashes that were not run yet, for stacks, groups and "
        "severity; shows the command in AFL's files and asks first",
    )
    parser.several(
        "--trust",
        "COMMAND",
        "for scripts: --run-crashes, and do not ask about this command, written as it is shown",
    )
    parser.theme()
    return command("watch.watch")


def _adopt(parser: CommandParser) -> Run:
    parser.path("directory", "DIR", "the directory of afl-fuzz -o, of a fleet started by hand")
    parser.output("RUN", "the run directory to make; default: runs/NAME")
    parser.flag("--yes", "for scripts: do not ask")
    parser.several("--without", "NAME", "leave this instance as it is (may be repeated)")
    _shown(parser)
    parser.set_defaults(overrides=[], hosts=[], new=False, since=None, in_diff=None, shard=None)
    return command("adopt.adopt")


def _runs(parser: CommandParser) -> Run:
    parser.path(
        "directories",
        "DIR",
        "directories that are searched for runs, five levels deep; default: ./runs. Campaigns "
        "that you have under way elsewhere on this machine are always listed",
        nargs="*",
    )
    parser.flag("--size", "also the room on disk of each run")
    parser.json()
    return command("list_runs.runs")


def _status(parser: CommandParser) -> Run:
    parser.path(
        "run",
        "RUN|DIR",
        "a run directory, a campaign file, or an AFL output directory; "
        "default: the only or latest run in ./runs",
        nargs="?",
    )
    parser.path("also", "DIR", "more AFL output directories, shown in one status", nargs="*")
    parser.json()
    return command("status.status")


def _ctl(parser: CommandParser) -> Run:
    from fuzztui.cli import ctl

    parser.run()
    parser.add_argument(
        "action", metavar="COMMAND", choices=list(ctl.ACTIONS), help=", ".join(ctl.ACTIONS)
    )
    parser.text("id", "ID", ctl.ID_HELP, nargs="?", default="")
    parser.text("more", "PART", ctl.MORE_HELP, nargs="*", default=[])
    parser.add_argument(
        "--to",
        choices=["first", "last", "up", "down"],
        help="with move-mutants: the new position (default: first); up, down: by one",
    )
    parser.text(
        "--because",
        "TEXT",
        "with mark-equivalent: why the mutant is equivalent; with accept-mutants: why it may "
        "survive",
    )
    parser.text("--note", "TEXT", "with judge: the reason, or the number of an issue")
    parser.flag(
        "--adaptive", "with mixture or targeted: mutations that find more become more probable"
    )
    parser.flag("--fixed", "with mixture: keep each instance's mixture as it is")
    parser.add_argument("--instance", default="", help="send the command to this instance only")
    parser.add_argument(
        "--timeout",
        type=seconds,
        help="time to wait for the answer (default: 10s; queue entries 40s, minimise 15m)",
    )
    return ctl.ctl


def _replay(parser: CommandParser) -> Run:
    which = "a run directory, a campaign file (the newest of its runs), or a log"
    parser.path("path", "RUN|LOG", which)
    parser.add_argument("--speed", type=_speed, default=1.0, help="multiple of real time (1)")
    parser.add_argument(
        "--at", metavar="TIME", type=moment, help="campaign time to start at: 90s or 1:30:00"
    )
    parser.json("the status at --at, or the end")
    parser.theme()
    return command("replay.replay")


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0, such as 10 or 0.5")
    return speed


COMMANDS = {
    "run": _run,
    "runs": _runs,
    "test": _test,
    "attach": _attach,
    "serve": _serve,
    "watch": _watch,
    "adopt": _adopt,
    "status": _status,
    "ctl": _ctl,
    "replay": _replay,
}

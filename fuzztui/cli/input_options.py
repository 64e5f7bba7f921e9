"""The options of commands that run one input."""

from __future__ import annotations

import argparse
from pathlib import Path

from fuzztui.cli.arguments import RUN_HELP, Run, command, seconds


def add_repro(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui repro``; return the command."""
    _add_input(parser, nargs="?")
    return command("repro.repro")


def _add_input(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    parser.add_argument("run", metavar="RUN", type=Path, help=RUN_HELP)
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs=nargs,
        help="an input, or INSTANCE/crashes/id:... in the run"
        + "; without it, the findings are listed" * (nargs == "?"),
    )


def add_minimise(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui minimise``; return the command."""
    _add_input(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=Path,
        help="the output file; default: RUN/minimised/INSTANCE/NAME",
    )
    parser.add_argument(
        "--time",
        type=seconds,
        metavar="SECONDS",
        help="stop after this time, 30 or 5m, with the smallest input found (default: 10m, "
        "programs 15m; 0: no limit)",
    )
    parser.add_argument(
        "--progress",
        action="store_true",
        help="print a line on stderr for each step; do not reproduce the result afterwards",
    )
    parser.add_argument(
        "--until-eof",
        action="store_true",
        help="stop at the end of stdin, as with Ctrl-C; the smallest input found is kept",
    )
    return command("minimise.minimise")

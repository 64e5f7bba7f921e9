"""The options of ``report`` and ``compare``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from fuzztui.cli.arguments import Run, add_absolute, command, moment

FORMATS: Final = ("html", "md", "json")


def add_report(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui report``."""
    parser.add_argument(
        "run",
        metavar="RUN|DIR",
        type=Path,
        nargs="?",
        help="a run directory, a campaign file (the newest of its runs), or an AFL output "
        "directory; default: the only or latest run in ./runs",
    )
    parser.add_argument(
        "--coverage",
        action="store_true",
        help="run the inputs again, and mark which lines of a Python target they execute",
    )
    _written(parser, "md")
    return command("report.report")


def add_compare(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui compare``; return the command."""
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="+",
        help="two or more runs of one target, or groups of runs with a name, each a list with "
        "commas: zest=runs/z1,runs/z2 mu2=runs/m1,runs/m2; a pattern such as 'zest=runs/z*' too",
    )
    parser.add_argument(
        "--at",
        metavar="TIME",
        type=moment,
        help="compare at this campaign time, such as 10m or 1:30:00; default: each "
        "at its end if all have used the same budget, else the end of the shortest run",
    )
    parser.add_argument("--screen", action="store_true", help="show two runs side by side")
    _written(parser, "text")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return command("compare.compare")


def _written(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write to FILE, in place of stdout"
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help=f"default: by the end of FILE's name (.html, .md, .json); on stdout {default}",
    )
    add_absolute(parser)

"""Options that several commands have."""

from __future__ import annotations

import argparse

from fuzztui.base.cpus import usable_cpus

RUN_HELP = "a run directory, or a campaign file (the newest of its runs)"


def add_jobs(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Add ``--jobs``; ``of``: what the processes do."""
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=count,
        default=usable_cpus(),
        help=f"number of parallel processes{of} (default: one for each CPU: %(default)s)",
    )


def add_set(parser: argparse.ArgumentParser) -> None:
    """Add ``--set KEY=VALUE``."""
    parser.add_argument(
        "--set",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="override a key of the file: --set campaign.budget=15s",
    )


def count(text: str) -> int:
    """Parse a whole number of at least 1. Raises :class:`argparse.ArgumentTypeError`."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number

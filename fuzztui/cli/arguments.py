"""Options that several commands have."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

RUN_HELP = "a run directory, or a campaign file (the newest of its runs)"


def add_jobs(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Add ``--jobs``; ``of``: what the processes do."""
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=count,
        default=_cpus(),
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


def _cpus() -> int:
    """The number of CPUs that this process may use; a container may have fewer than its host."""
    cpus = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(cpus, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # "max": no limit
        return cpus

"""Options that several commands have."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from fuzztui.kernel.base.cpus import usable_cpus
from fuzztui.kernel.base.shards import Shard, parse_shard
from fuzztui.kernel.base.units import parse_duration

Run = Callable[[argparse.Namespace], int]
"""A function that carries out a parsed command; returns the exit code."""


def command(name: str) -> Run:
    """Return the function ``MODULE.NAME`` of this package, imported when it is called.

    So ``--help`` and a mistyped option need no more than the options.
    """
    return partial(_carry_out, name)


def _carry_out(name: str, options: argparse.Namespace) -> int:
    module, _, function = name.partition(".")
    run: Run = getattr(import_module(f"fuzztui.cli.{module}"), function)
    return run(options)


NEAREST = "the nearest campaign.toml, or pyproject.toml with [tool.fuzztui]"
"""The campaign file of a command without FILE."""

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


def add_shard(parser: argparse.ArgumentParser) -> None:
    """Add ``--shard K/N``."""
    parser.add_argument(
        "--shard",
        metavar="K/N",
        type=shard,
        help="only the K-th of N parts of the mutants, by their ids: fuzztui merge joins the N "
        "results",
    )


def shard(text: str) -> Shard:
    """Parse ``K/N``. Raises :class:`argparse.ArgumentTypeError`."""
    try:
        return parse_shard(text)
    except ValueError as e:
        raise argparse.ArgumentTypeError(str(e)) from None


def add_host(parser: argparse.ArgumentParser) -> None:
    """Add ``--host ADDRESS*N``."""
    parser.add_argument(
        "--host",
        dest="hosts",
        metavar="HOST*N",
        action="append",
        default=[],
        help="run N instances on a host that ssh reaches (may be repeated): --host user@box*8; "
        "here*2: on this machine; without *N: engine.instances",
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


def add_corpus_folders(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--corpus DIR``; ``what``: what the directories contain."""
    parser.add_argument(
        "--corpus",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help=f"{what} (may be repeated); default: the queues of the run",
    )


def add_theme(parser: argparse.ArgumentParser) -> None:
    """Add ``--theme``."""
    parser.add_argument("--theme", help="a colour theme (fuzztui themes lists them)")


def add_optional_run(parser: argparse.ArgumentParser) -> None:
    """Add a run that may be left out."""
    parser.add_argument(
        "run",
        metavar="RUN",
        type=Path,
        nargs="?",
        help=f"{RUN_HELP}; default: the only or latest one in ./runs",
    )


def seconds(text: str) -> float:
    """Parse a duration. Raises :class:`argparse.ArgumentTypeError`."""
    try:
        return parse_duration(float(text) if text.replace(".", "", 1).isdecimal() else text)
    except ValueError as e:
        raise argparse.ArgumentTypeError(str(e)) from None


def moment(text: str) -> float:
    """Parse a campaign time, also as screens show it: ``0:20``, ``1:05:09``, ``2d 03:04:05``."""
    match = _CLOCK.fullmatch(text.strip())
    if not match:
        return seconds(text)
    days, hours, minutes, rest = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


_CLOCK = re.compile(r"(?:(\d{1,6})d\s*)?(?:(\d{1,6}):)?(\d{1,6}):([0-5]?\d(?:\.\d+)?)")


def percent(text: str) -> float:
    """Parse a percentage. Raises :class:`argparse.ArgumentTypeError`."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage from 0 to 100, such as 80")
    return number


def add_absolute(parser: argparse.ArgumentParser) -> None:
    """Add ``--absolute``."""
    parser.add_argument(
        "--absolute",
        action="store_true",
        help="write absolute paths; else paths are relative to the project (the repository, or the "
        "current directory), and others in your home begin with ~",
    )


def add_campaign(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add the campaign file; ``optional``: it may be left out."""
    project = f"; default: {NEAREST}" if optional else ""
    parser.add_argument(
        "file",
        metavar="CAMPAIGN.toml",
        type=Path,
        nargs="?" if optional else None,
        help=f"the campaign file{project}",
    )

"""The parser of a command, and the arguments that several commands have."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from fuzztui.kernel.base.cpus import usable_cpus
from fuzztui.kernel.base.shards import Shard, parse_shard
from fuzztui.kernel.base.suggest import meant, near
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


class CommandParser(argparse.ArgumentParser):
    """The parser of a command. It suggests the nearest name for a mistyped word or option.

    Each method adds one kind of argument; its ``more`` is passed on to ``add_argument``.
    """

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            allowed = [str(choice) for choice in action.choices]
            message = f"{str(value)!r} is unknown{meant(near(str(value), allowed))}"
            raise argparse.ArgumentError(action, f"{message} (choose from {', '.join(allowed)})")

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, with a suggestion for a mistyped option, and exit."""
        words = message.rpartition(": ")[2].split() if "unrecognized" in message else []
        options = list(self._option_string_actions)
        found = (near(w.partition("=")[0], options) for w in words if w.startswith("--"))
        super().error(message + meant(next((names for names in found if names), [])))

    def flag(self, name: str, help: str) -> None:
        """Add an option without a value."""
        self.add_argument(name, action="store_true", help=help)

    def off(self, name: str, help: str) -> None:
        """Add ``--no-NAME``, after which NAME is false."""
        self.add_argument(name, dest=name.removeprefix("--no-"), action="store_false", help=help)

    def text(self, name: str, metavar: str, help: str, **more: Any) -> None:
        """Add a text; with ``--`` before its name it is an option."""
        self.add_argument(name, metavar=metavar, help=help, **more)

    def path(self, name: str, metavar: str, help: str, **more: Any) -> None:
        """Add a path; with ``--`` before its name it is an option."""
        self.add_argument(name, metavar=metavar, type=Path, help=help, **more)

    def output(self, metavar: str, help: str) -> None:
        """Add ``-o``, the file to write."""
        self.add_argument("-o", "--output", metavar=metavar, type=Path, help=help)

    def number(self, name: str, help: str, default: int | None = None) -> None:
        """Add an option with a whole number of at least 1."""
        self.add_argument(name, metavar="N", type=count, default=default, help=help)

    def time(
        self, name: str, help: str, default: float | None = None, metavar: str = "TIME"
    ) -> None:
        """Add an option with a duration."""
        self.add_argument(name, metavar=metavar, type=seconds, default=default, help=help)

    def several(self, name: str, metavar: str, help: str, **more: Any) -> None:
        """Add an option that may be repeated."""
        self.add_argument(name, metavar=metavar, action="append", default=[], help=help, **more)

    # ------------------------------------------------------------ what commands share

    def json(self, what: str = "one JSON object") -> None:
        """Add ``--json``."""
        self.flag("--json", f"print {what}")

    def run(self, which: str = "", name: str = "run") -> None:
        """Add a run; ``which``: text that follows the usual help."""
        self.path(name, "RUN", RUN_HELP + which)

    def optional_run(
        self, metavar: str = "RUN", which: str = "; default: the only or latest one in ./runs"
    ) -> None:
        """Add a run that may be left out."""
        self.path("run", metavar, RUN_HELP + which, nargs="?")

    def campaign(self, *, optional: bool = False) -> None:
        """Add the campaign file; ``optional``: it may be left out."""
        project = f"; default: {NEAREST}" if optional else ""
        nargs = "?" if optional else None
        self.path("file", "CAMPAIGN.toml", f"the campaign file{project}", nargs=nargs)

    def corpus_folders(self, what: str) -> None:
        """Add ``--corpus DIR``; ``what``: what the directories contain."""
        help = f"{what} (may be repeated); default: the queues of the run"
        self.several("--corpus", "DIR", help, type=Path)

    def theme(self) -> None:
        """Add ``--theme``."""
        self.add_argument("--theme", help="a colour theme (fuzztui themes lists them)")

    def absolute(self) -> None:
        """Add ``--absolute``."""
        self.flag(
            "--absolute",
            "write absolute paths; else paths are relative to the project (the repository, or the "
            "current directory), and others in your home begin with ~",
        )


def add_jobs(parser: CommandParser, of: str = "") -> None:
    """Add ``--jobs``; ``of``: text that follows "parallel processes" in the help."""
    parser.number(
        "--jobs",
        f"number of parallel processes{of} (default: one for each CPU: %(default)s)",
        usable_cpus(),
    )


def add_set(parser: CommandParser) -> None:
    """Add ``--set KEY=VALUE``."""
    help = "override a key of the file: --set campaign.budget=15s"
    parser.several("--set", "KEY=VALUE", help, dest="overrides")


def add_shard(parser: CommandParser) -> None:
    """Add ``--shard K/N``."""
    parser.add_argument(
        "--shard",
        metavar="K/N",
        type=shard,
        help="only the K-th of N parts of the mutants, by their ids: fuzztui merge joins the N "
        "results",
    )


def add_host(parser: CommandParser) -> None:
    """Add ``--host ADDRESS*N``."""
    parser.several(
        "--host",
        "HOST*N",
        "run N instances on a host that ssh reaches (may be repeated): --host user@box*8; "
        "here*2: on this machine; without *N: engine.instances",
        dest="hosts",
    )


# ------------------------------------------------------------------------------- values


def shard(text: str) -> Shard:
    """Parse ``K/N``. Raises :class:`argparse.ArgumentTypeError`."""
    try:
        return parse_shard(text)
    except ValueError as e:
        raise argparse.ArgumentTypeError(str(e)) from None


def count(text: str) -> int:
    """Parse a whole number of at least 1. Raises :class:`argparse.ArgumentTypeError`."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


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

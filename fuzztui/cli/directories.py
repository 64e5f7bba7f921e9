"""``fuzztui DIRECTORY``: show a run; for other directories, say what to do."""

from __future__ import annotations

import argparse
import os
import shlex
from itertools import islice
from pathlib import Path
from typing import Final

from fuzztui.cli.attach import attach
from fuzztui.cli.output import CliError, UsageError
from fuzztui.cli.watched_status import afl_directories
from fuzztui.run.campaign.files import CAMPAIGN_FILE
from fuzztui.run.home.finding import is_run

_MAX_ENTRIES: Final = 1000
"""Entries of a directory among which runs are searched."""

_FOR_A_START: Final = {
    "overrides": "--set",
    "hosts": "--host",
    "new": "--new",
    "since": "--since",
    "in_diff": "--in-diff",
    "shard": "--shard",
    "headless": "--headless",
    "detach": "--detach",
    "json": "--json",
}
"""Options that only make sense if a campaign is started, by their names in the code."""


def show_run(options: argparse.Namespace, run: Path) -> int:
    """Show a run, also an ended one, as ``fuzztui attach`` does. Raises :class:`CliError`."""
    if given := [name for key, name in _FOR_A_START.items() if getattr(options, key, None)]:
        raise UsageError(
            f"{run} is a run, which is only shown, without {', '.join(given)}; to resume it: "
            f"{_command(run / CAMPAIGN_FILE)} {given[0]} ..."
        )
    return attach(argparse.Namespace(run=run, theme=options.theme, read_only=False))


def no_campaign_file(directory: Path) -> CliError:
    """Return the error for a directory in place of a campaign file."""
    if is_run(directory):
        advice = f"is a run; name its campaign file: {directory / CAMPAIGN_FILE}"
    elif (file := directory / CAMPAIGN_FILE).is_file():
        advice = f"is a directory; name the campaign file: {file}"
    elif afl_directories(directory) is not None:
        advice = f"is a directory of AFL; show it with: fuzztui watch {_quoted(directory)}"
    elif run := _run_in(directory):
        advice = (
            f"is a directory with runs; show one: {_command(run)}, or list them: "
            f"fuzztui runs {_quoted(directory)}"
        )
    else:
        advice = (
            "is a directory, neither a campaign file nor a run; a campaign file for what is there "
            f"is written by: fuzztui init {_quoted(directory)}; its Hypothesis tests are fuzzed "
            f"by: fuzztui test {_quoted(directory)}"
        )
    return UsageError(f"{directory}: {advice}")


def _run_in(directory: Path) -> Path | None:
    try:
        with os.scandir(directory) as entries:
            paths = (directory / entry.name for entry in islice(entries, _MAX_ENTRIES))
            return min((path for path in paths if is_run(path)), default=None)
    except OSError:
        return None


def _command(path: Path) -> str:
    return f"fuzztui {_quoted(path)}"


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))

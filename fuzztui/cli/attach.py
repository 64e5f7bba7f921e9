"""``attach``: open the live screen of a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from fuzztui.cli import damage
from fuzztui.cli.runs import (
    find_run,
    no_records,
    open_session,
    unreadable,
)
from fuzztui.log.files import LogError
from fuzztui.log.reader import LogReader
from fuzztui.remote.lock import running


def attach(options: argparse.Namespace) -> int:
    """Open the live screen of a run."""
    return screen(find_run(options.run), options.theme)


def screen(run: Path, theme: str | None) -> int:
    """Open the live screen; return its exit code. Raises :class:`CliError` for a bad log."""
    try:
        reader = LogReader(run)
    except (LogError, OSError) as e:
        raise unreadable(e) from None
    if reader.problems and not reader.last_seq and running(run) is None:
        raise no_records(run, open_session(run).problems)
    from fuzztui.tui import run_app  # importing Textual is slow

    return run_app(
        run, run, mode="live", speed=1.0, at=None, theme=theme, control=True, opened=damage.watch
    )

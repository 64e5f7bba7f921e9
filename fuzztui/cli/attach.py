"""``attach``: open the live screen of a run."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from fuzztui.cli import damage
from fuzztui.cli.remote_runs import user_of
from fuzztui.cli.runs import find_run, no_records, open_session, unreadable
from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.remote.mirrored import RunUser


def attach(options: argparse.Namespace) -> int:
    """Open the live screen of a run."""
    run = find_run(options.run)
    mirror = getattr(options, "mirror", None)
    user = None
    if mirror is not None or options.read_only or run.stat().st_uid != os.geteuid():
        user = user_of(run, mirror, read_only=options.read_only)
    return screen(run, options.theme, user, no_end if mirror is None else mirror.died)


def no_end() -> str:
    """Return an empty string: no process mirrors the run that could have ended."""
    return ""


def screen(
    run: Path, theme: str | None, user: RunUser | None = None, died: Callable[[], str] = no_end
) -> int:
    """Open the live screen; return its exit code. Raises :class:`CliError` for a bad log.

    ``user`` and ``died``: see :func:`~fuzztui.tui.run_app`.
    """
    try:
        reader = LogReader(run)
    except (LogError, OSError) as e:
        raise unreadable(e) from None
    if reader.problems and not reader.last_seq and running(run) is None:
        raise no_records(run, open_session(run).problems)
    from fuzztui.tui import run_app  # importing Textual is slow

    return run_app(run, run, mode="live", theme=theme, opened=damage.watch, user=user, died=died)

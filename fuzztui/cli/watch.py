"""``fuzztui watch DIR...``: the live screen of a campaign that someone else runs.

A separate process reads the directories and writes a log, in a temporary directory that is removed
with the screen. The screen is the same as for other campaigns.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fuzztui.cli import damage
from fuzztui.cli.beside import beside
from fuzztui.cli.output import NOT_RUNNING, CliError, UsageError, at_terminal, say
from fuzztui.cli.repro_watched import run_crashes
from fuzztui.features.watch.directories import Trees, WatchError
from fuzztui.kernel.base.files import temporary_directory
from fuzztui.run.home.finding import is_run

PATIENCE_S = 10.0
"""Seconds to wait until the watcher has started its log, and until it has ended."""


def watch(options: argparse.Namespace) -> int:
    """Open the live screen; return its exit code. Runs crashes first if the user wants that."""
    check(options.directories)
    for directory in options.directories:
        if options.keep and options.keep.absolute().is_relative_to(directory.absolute()):
            raise UsageError(
                f"--keep {options.keep} is inside {directory}, where nothing is written; "
                "name another directory"
            )
    if options.run_crashes or options.trust:
        code = run_crashes(options.directories, options.trust)
        if not at_terminal():  # a script, which has no use for a screen
            return code
    with _log_directory(options.keep) as log_dir:
        # Reading a deep tree takes seconds before the screen shows anything.
        say(f"reading {', '.join(map(str, options.directories))}...")
        words = [] if options.keep else ["--remove"]
        words += [str(log_dir), *(str(d.absolute()) for d in options.directories)]
        with beside("fuzztui.features.watch", words, log_dir, PATIENCE_S) as died:
            _wait_for_log(log_dir, died)
            # The log grows every few seconds only, so the screen polls less often than usual.
            os.environ.setdefault("FUZZTUI_HZ", "1")
            from fuzztui.tui import run_app  # importing Textual is slow

            code = run_app(
                None,
                log_dir,
                mode="live",
                theme=options.theme,
                control=False,
                died=died,
                opened=damage.watch,
            )
    if options.keep is not None:
        say(f"the log is kept; show it again with: fuzztui replay {options.keep}")
    return code


def check(directories: list[Path]) -> None:
    """Raise :class:`CliError` if there is nothing to watch."""
    for directory in directories:
        if is_run(directory):
            raise UsageError(
                f"{directory} is a run of fuzztui; show it with: fuzztui attach {directory}, "
                f"or only its AFL directories with: fuzztui watch {directory / 'out'}"
            )
    try:
        nothing = Trees(directories).nothing()
    except WatchError as e:
        nothing = e
    if nothing:
        raise CliError(str(nothing), NOT_RUNNING)


@contextlib.contextmanager
def _log_directory(keep: Path | None) -> Iterator[Path]:
    """The directory for the log: ``keep``, or a temporary one."""
    if keep is None:
        with temporary_directory("fuzztui-watch-") as temporary:
            yield Path(temporary)
        return
    try:
        keep.mkdir(mode=0o700, parents=True, exist_ok=True)
        taken = any(keep.iterdir())
    except OSError as e:
        raise UsageError(f"--keep {keep}: {e.strerror or e}") from None
    if taken:
        raise UsageError(f"--keep {keep} is not empty; name a new directory")
    yield keep


def _wait_for_log(log_dir: Path, died: Callable[[], str]) -> None:
    """Wait until the log exists. Raises :class:`CliError` if the watcher ends before."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and not any((log_dir / "log").glob("tail-*")):
        if reason := died():
            raise CliError(reason)
        time.sleep(0.01)

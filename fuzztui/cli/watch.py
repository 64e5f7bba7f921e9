"""``fuzztui watch DIR...``: the live screen over a campaign that someone else runs.

A watcher of its own writes what it sees into a log, in a private directory that goes when
the screen goes; the screen is the one of every campaign.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from fuzztui.base.temporary import temporary_directory
from fuzztui.cli import damage
from fuzztui.cli.output import NOT_RUNNING, USAGE, CliError, say
from fuzztui.cli.runs import is_run
from fuzztui.watch.directories import Trees, WatchError

PATIENCE_S = 10.0
"""For the watcher to begin its log, and to end."""


def watch(options: argparse.Namespace) -> int:
    """Open the live screen; returns its exit code."""
    check(options.directories)
    for directory in options.directories:
        if options.keep and options.keep.absolute().is_relative_to(directory.absolute()):
            raise CliError(f"--keep {options.keep}: {directory} is only looked at", USAGE)
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(_home(options.keep))
        # A deep tree takes seconds, and nothing is on the screen until then.
        say(f"looking at {', '.join(map(str, options.directories))}...")
        # Held open: a watcher that ends removes its directory.
        errors = stack.enter_context((home / "errors").open("w+b"))
        process = _start(home, options.directories, errors, keep=options.keep is not None)

        def died() -> str:
            return "" if process.poll() is None else _last_words(process, errors)

        try:
            _wait_for_log(home, died)
            # The log grows every few seconds: looking four times a second is for campaigns of ours.
            os.environ.setdefault("FUZZTUI_HZ", "1")
            from fuzztui.tui import run_app  # Textual takes a moment: only where it draws

            code = run_app(
                None,
                home,
                mode="live",
                theme=options.theme,
                control=False,
                died=died,
                opened=damage.watch,
            )
        finally:
            _end(process)
    if options.keep is not None:
        say(f"kept; see it again: fuzztui replay {options.keep}")
    return code


def check(directories: list[Path]) -> None:
    """Raises :class:`CliError` where there is nothing to watch."""
    for directory in directories:
        if is_run(directory):
            raise CliError(
                f"{directory} is a run of fuzztui itself: fuzztui attach {directory}; "
                f"or, as a stranger would see it, fuzztui watch {directory / 'out'}",
                USAGE,
            )
    try:
        nothing = Trees(directories).nothing()
    except WatchError as e:
        nothing = e
    if nothing:
        raise CliError(str(nothing), NOT_RUNNING)


@contextlib.contextmanager
def _home(keep: Path | None) -> Iterator[Path]:
    """Where the log lies: a directory that goes again, or the one to keep."""
    if keep is None:
        with temporary_directory("fuzztui-watch-") as home:
            yield Path(home)
        return
    try:
        keep.mkdir(mode=0o700, parents=True, exist_ok=True)
        taken = any(keep.iterdir())
    except OSError as e:
        raise CliError(f"--keep {keep}: {e.strerror or e}", USAGE) from None
    if taken:
        raise CliError(f"--keep {keep}: is not empty; name a new directory", USAGE)
    yield keep


def _start(
    home: Path, directories: list[Path], errors: BinaryIO, *, keep: bool
) -> subprocess.Popen[bytes]:
    remove = [] if keep else ["--remove"]
    # -P: a fuzztui/ where the user stands must not be imported. The watcher ends with its stdin.
    command = [sys.executable, "-P", "-m", "fuzztui.watch", *remove, str(home)]
    return subprocess.Popen(
        [*command, *(str(d.absolute()) for d in directories)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
    )


def _last_words(process: subprocess.Popen[bytes], errors: BinaryIO) -> str:
    """Why a watcher that has ended did so; never ""."""
    # The file's position is the watcher's too: read without moving it.
    end = os.fstat(errors.fileno()).st_size
    said = os.pread(errors.fileno(), 4096, max(0, end - 4096)).decode(errors="replace").split("\n")
    if words := next((line.strip() for line in reversed(said) if line.strip()), ""):
        return words
    code = process.returncode
    return f"it was killed by signal {-code}" if code < 0 else f"it ended with status {code}"


def _wait_for_log(home: Path, died: Callable[[], str]) -> None:
    """Until there is something to open. The screen would wait too, but not say why it does."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and not any((home / "log").glob("tail-*")):
        if words := died():
            raise CliError(words)
        time.sleep(0.01)


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

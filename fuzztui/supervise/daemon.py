"""Start the supervisor as a separate process that outlives the process that started it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from fuzztui.base.bounds import loads
from fuzztui.base.files import open_regular, read_regular
from fuzztui.campaign.rundir import (
    AlreadyRunning,
    RunDir,
    SupervisorError,
    Unfit,
    prepare_run,
)

__all__ = ["AlreadyRunning", "SupervisorError", "Unfit", "prepare_run", "start"]

_MAX_STDERR = 1 << 20
_MAX_TAIL = 64 * 1024
"""Bytes of the supervisor's stderr in which the last line is searched."""


def start(
    run: Path, frozen: str | None = None, *, progress: Callable[[str], None] = lambda text: None
) -> int:
    """Supervise the campaign frozen in ``RUN/campaign.toml``, in the background.

    ``frozen``: the text of another campaign, which replaces that file once the campaign has
    started. The text is passed in memory, so that a killed start leaves no file behind.
    Returns the supervisor's pid once the log is open, the control socket listens and
    the engines have been started or adopted. ``progress`` is called with a message about each slow
    step. Raises :class:`SupervisorError` with the reason if the start fails, :class:`Unfit`
    if a key of the campaign is the reason, :class:`AlreadyRunning` if the run has a supervisor.
    """
    run = run.absolute()
    run_dir = RunDir(run)
    try:
        stderr = _open_stderr(run_dir)
    except OSError as e:
        raise SupervisorError(f"{run_dir.stderr}: cannot be written: {e.strerror or e}") from None
    before = os.fstat(stderr).st_size
    ours, theirs = os.pipe()
    text = None if frozen is None else _in_memory(frozen)
    of = [] if text is None else ["--campaign", str(text)]
    try:
        # -P: a fuzztui/ or asyncio.py in the current directory must not be imported.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "fuzztui.supervise", run, *of, "--detach", str(theirs)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=[theirs] if text is None else [theirs, text],
            start_new_session=True,
            env={k: v for k, v in os.environ.items() if not k.startswith("FUZZTUI_RUN")},
        )
    finally:
        os.close(theirs)
        os.close(stderr)
        if text is not None:
            os.close(text)
    with os.fdopen(ours, "rb") as pipe:
        try:
            pid = _listen(run, pipe, progress)
        except SupervisorError:
            process.wait()  # it ends after reporting the error, and must not stay a zombie
            raise
        process.wait()  # the first of two processes: the supervisor has forked off
    if pid is None:
        raise SupervisorError(_failure(run_dir, before))
    return pid


def _in_memory(text: str) -> int:
    """Return a descriptor of an unnamed file that contains ``text``, positioned at its start."""
    fd = os.memfd_create("campaign")
    with os.fdopen(os.dup(fd), "w", encoding="utf-8") as file:
        file.write(text)
    os.lseek(fd, 0, os.SEEK_SET)  # the copies of a descriptor share its position
    return fd


def _listen(run: Path, pipe: IO[bytes], progress: Callable[[str], None]) -> int | None:
    for line in iter(pipe.readline, b""):
        message = loads(line)
        if "progress" in message:
            progress(message["progress"])
        elif "ready" in message:
            return int(message["ready"])
        elif "held" in message:
            raise AlreadyRunning(run, int(message["held"]))
        elif "unfit" in message:
            raise Unfit(message["unfit"], message["key"])
        else:
            raise SupervisorError(message["error"])
    return None


def _open_stderr(run_dir: RunDir) -> int:
    """Open the supervisor's own log for appending; rename a long one first."""
    with contextlib.suppress(FileNotFoundError):
        if run_dir.stderr.stat().st_size > _MAX_STDERR:
            run_dir.stderr.replace(run_dir.stderr.with_name("stderr.old"))
    return open_regular(run_dir.stderr, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def _failure(run_dir: RunDir, before: int) -> str:
    try:
        text = read_regular(run_dir.stderr, _MAX_TAIL, before).decode(errors="replace").strip()
    except OSError:
        text = ""
    last = text.splitlines()[-1] if text else "it printed no reason; was it killed?"
    return f"the supervisor died while starting: {last} (more in {run_dir.stderr})"

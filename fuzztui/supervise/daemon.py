"""Starting the supervisor: a separate process that outlives whoever started it."""

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
_MAX_WORDS = 64 * 1024


def start(
    run: Path, frozen: str | None = None, *, progress: Callable[[str], None] = lambda words: None
) -> int:
    """Supervise the campaign frozen in ``RUN/campaign.toml``, in the background.

    ``frozen``: the text of another campaign, which replaces that file once the campaign has
    started. It goes through memory: a start that is killed leaves no file behind.
    Returns the supervisor's pid once the log is open, the control socket listens and
    the engines have been started or adopted; ``progress`` is told what takes time.
    Raises :class:`SupervisorError` with the reason when it comes to nothing, :class:`Unfit`
    when a key of the campaign is that, :class:`AlreadyRunning` when another one holds the run.
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
        # -P: a fuzztui/ or asyncio.py where the user stands must not be imported.
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
    with os.fdopen(ours, "rb") as words:
        try:
            pid = _listen(run, words, progress)
        except SupervisorError:
            process.wait()  # it ends when it has said why: nobody else would reap it
            raise
        process.wait()  # only the first of two: the supervisor has forked off
    if pid is None:
        raise SupervisorError(_last_words(run_dir, before))
    return pid


def _in_memory(text: str) -> int:
    """A file without a name that contains ``text``, to be read from its beginning."""
    fd = os.memfd_create("campaign")
    with os.fdopen(os.dup(fd), "w", encoding="utf-8") as file:
        file.write(text)
    os.lseek(fd, 0, os.SEEK_SET)  # the copies of a descriptor share its position
    return fd


def _listen(run: Path, words: IO[bytes], progress: Callable[[str], None]) -> int | None:
    for line in iter(words.readline, b""):
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
    """The supervisor's own log, appended to; a long one is put aside first."""
    with contextlib.suppress(FileNotFoundError):
        if run_dir.stderr.stat().st_size > _MAX_STDERR:
            run_dir.stderr.replace(run_dir.stderr.with_name("stderr.old"))
    return open_regular(run_dir.stderr, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def _last_words(run_dir: RunDir, before: int) -> str:
    try:
        text = read_regular(run_dir.stderr, _MAX_WORDS, before).decode(errors="replace").strip()
    except OSError:
        text = ""
    last = text.splitlines()[-1] if text else "it left no word; was it killed?"
    return f"the supervisor died while starting: {last} (more in {run_dir.stderr})"

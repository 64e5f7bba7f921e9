"""Start the supervisor as a separate process that outlives the process that started it.

The supervisor reports its start on a pipe to the process that started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import open_regular, read_regular
from fuzztui.run.campaign.rundir import AlreadyRunning, RunDir, SupervisorError, Unfit

_POLL_S = 0.2
_ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGRTMIN)
"""The last one: the whole campaign of several targets has finished."""


class StarterPipe:
    """The pipe to the process that started the supervisor; ``fd`` None: there is no listener."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd
        self._cancelled: SupervisorError | None = None
        """Why the campaign is not wanted; a handler of other errors may have caught it."""

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Context manager: raises SupervisorError in its body when the campaign is not wanted.

        That is when the parent process exits (a user pressed Ctrl-C), and at a signal that ends
        supervisors. The body may run for minutes without a progress message, and its builds must
        not outlive it. If the body goes on after the error, the error is raised again at the next
        progress message and at the end. For the main thread only.
        """
        ends = {number: signal.signal(number, self._ended) for number in _ENDS}
        try:
            with self._parent_watched():
                yield
            self._check()
        finally:
            for number, handler in ends.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def _parent_watched(self) -> Iterator[None]:
        if self._fd is None:
            yield
            return
        before = signal.signal(signal.SIGUSR1, self._parent_exited)
        over = threading.Event()
        thread = threading.Thread(target=_watch, args=(self._fd, over), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            signal.signal(signal.SIGUSR1, before)

    def progress(self, text: str) -> None:
        """Report a slow step. Raises SupervisorError if the campaign is not wanted any more."""
        self._check()
        if not self._send({"progress": text}):
            self._parent_exited()

    def ready(self) -> None:
        """Report that the campaign runs, and close the pipe."""
        self._send({"ready": os.getpid()})
        self._close()

    def fail(self, error: SupervisorError) -> None:
        """Report why the campaign cannot be supervised, and close the pipe."""
        if isinstance(error, AlreadyRunning):
            self._send({"held": error.pid})
        elif isinstance(error, Unfit):
            self._send({"unfit": str(error), "key": error.key})
        else:
            self._send({"error": str(error)})
        self._close()
        print(f"fuzztui: {error}", file=sys.stderr)

    def _send(self, message: dict[str, object]) -> bool:
        """Send a message to the parent process. Returns False if that has exited."""
        try:
            if self._fd is not None:
                os.write(self._fd, json.dumps(message).encode() + b"\n")
        except OSError:
            return False
        return True

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _parent_exited(self, *_: object) -> None:
        text = "the process that started the campaign exited before the campaign was running"
        self._cancelled = SupervisorError(text)
        self._check()

    def _ended(self, number: int, _: object) -> None:
        name = signal.Signals(number).name
        self._cancelled = SupervisorError(f"{name} ended the supervisor during the start")
        self._check()

    def _check(self) -> None:
        if self._cancelled is not None:
            raise self._cancelled


def _watch(fd: int, over: threading.Event) -> None:
    """Interrupt the main thread when the other end of the pipe is closed."""
    gone = select.poll()
    gone.register(fd, 0)  # errors only
    while not over.wait(_POLL_S):
        if gone.poll(0):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            return


_MAX_STDERR = 1 << 20
_MAX_TAIL = 64 * 1024
"""Bytes of the supervisor's stderr in which the last line is searched."""


def start(
    run: Path,
    frozen: str | None = None,
    *,
    progress: Callable[[str], None] = lambda text: None,
    module: str = "fuzztui.run.supervise",
) -> int:
    """Supervise the campaign frozen in ``RUN/campaign.toml``, in the background.

    ``frozen``: the text of another campaign, which replaces that file once the campaign has
    started. ``module``: that of the process: another one for a campaign with hosts. The text is
    passed in memory, so that a killed start leaves no file behind.
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
            [sys.executable, "-P", "-m", module, run, *of, "--detach", str(theirs)],
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

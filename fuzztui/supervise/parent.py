"""The pipe on which the supervisor reports its start to the process that started it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator

from fuzztui.campaign.rundir import AlreadyRunning, SupervisorError, Unfit

_POLL_S = 0.2


class StarterPipe:
    """The pipe to the process that started the supervisor; ``fd`` None: nobody listens."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Context manager: raises SupervisorError in its body when the parent process exits.

        The body may run for minutes without a progress message, and a user who pressed Ctrl-C does
        not want the campaign. For the main thread only.
        """
        if self._fd is None:
            yield
            return
        before = signal.signal(signal.SIGUSR1, _parent_exited)
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
        """Report a slow step. Raises SupervisorError if the parent process has exited."""
        if not self._send({"progress": text}):
            _parent_exited()

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
        """Returns False if the parent process has exited."""
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


def _parent_exited(*_: object) -> None:
    raise SupervisorError(
        "the process that started the campaign exited before the campaign was running"
    )


def _watch(fd: int, over: threading.Event) -> None:
    """Interrupt the main thread when the other end of the pipe is closed."""
    gone = select.poll()
    gone.register(fd, 0)  # errors only
    while not over.wait(_POLL_S):
        if gone.poll(0):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            return

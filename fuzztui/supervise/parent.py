"""The process that started the supervisor: told how the start goes, on a pipe."""

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

__all__ = ["StarterPipe"]

_LOOK_S = 0.2


class StarterPipe:
    """The process that started us, for as long as it listens."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """What is done in here ends with SupervisorError when the parent leaves meanwhile.

        It may take minutes without a word, and who has pressed Ctrl-C wants no campaign.
        For the main thread only.
        """
        if self._fd is None:
            yield
            return
        before = signal.signal(signal.SIGUSR1, _left)
        over = threading.Event()
        thread = threading.Thread(target=_mind, args=(self._fd, over), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            signal.signal(signal.SIGUSR1, before)

    def progress(self, words: str) -> None:
        """Raises SupervisorError when nobody waits for the start any more: no start then."""
        if not self._say({"progress": words}):
            _left()

    def ready(self) -> None:
        """The campaign is in progress: no more is said."""
        self._say({"ready": os.getpid()})
        self._hang_up()

    def refuse(self, error: SupervisorError) -> None:
        """It cannot be supervised, and why."""
        if isinstance(error, AlreadyRunning):
            self._say({"held": error.pid})
        elif isinstance(error, Unfit):
            self._say({"unfit": str(error), "key": error.key})
        else:
            self._say({"error": str(error)})
        self._hang_up()
        print(f"fuzztui: {error}", file=sys.stderr)

    def _say(self, message: dict[str, object]) -> bool:
        """Whether it is still there, or nobody was from the start."""
        try:
            if self._fd is not None:
                os.write(self._fd, json.dumps(message).encode() + b"\n")
        except OSError:
            return False
        return True

    def _hang_up(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _left(*_: object) -> None:
    raise SupervisorError("whoever started the campaign left before it had started")


def _mind(fd: int, over: threading.Event) -> None:
    """Wake the main thread when nobody reads the pipe any more."""
    gone = select.poll()
    gone.register(fd, 0)  # errors alone
    while not over.wait(_LOOK_S):
        if gone.poll(0):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            return

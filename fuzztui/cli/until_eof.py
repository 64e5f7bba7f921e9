"""``--until-eof``: a command that ends with the process that holds the other end of its stdin."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable


def at_eof(call: Callable[[], object]) -> None:
    """Read stdin in a thread, and call ``call`` there at its end."""

    def read_stdin() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        call()

    threading.Thread(target=read_stdin, daemon=True).start()


def interrupt_at_eof() -> None:
    """At the end of stdin, interrupt the main thread as Ctrl-C does, also in a system call."""
    main = threading.main_thread().ident
    assert main is not None
    at_eof(lambda: signal.pthread_kill(main, signal.SIGINT))

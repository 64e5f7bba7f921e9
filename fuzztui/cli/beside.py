"""A child process that ends when its stdin ends: for the parent, and for the child itself."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def beside(
    module: str, arguments: Sequence[str], directory: Path, within_s: float
) -> Iterator[Callable[[], str]]:
    """Context manager: run a module of fuzztui in a process, with its stderr in ``directory``.

    Yields a function that returns why the process has ended; "" while it lives. At the end of the
    context its stdin is closed; it is killed if it has not ended after ``within_s`` seconds.
    """
    # Kept open, because a process that ends may remove the directory.
    with (directory / "errors").open("w+b") as errors:
        process = subprocess.Popen(
            # -P: do not import a fuzztui/ in the current directory.
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            yield lambda: "" if process.poll() is None else _last_words(process, errors)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(within_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _last_words(process: subprocess.Popen[bytes], errors: BinaryIO) -> str:
    """Return why a process has ended; never empty."""
    # pread: the process shares the file position.
    end = os.fstat(errors.fileno()).st_size
    lines = os.pread(errors.fileno(), 4096, max(0, end - 4096)).decode(errors="replace").split("\n")
    if last := next((line.strip() for line in reversed(lines) if line.strip()), ""):
        return last
    code = process.returncode
    return f"killed by signal {-code}" if code < 0 else f"exited with status {code}"


# ----------------------------------------------------------------------- the other side


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

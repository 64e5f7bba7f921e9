"""The fixture: restores process state that a target has changed."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Final, TextIO

from fuzztui.engines.base.clock import start_over
from fuzztui.engines.base.errors import Limited
from fuzztui.engines.execute.limits import Limits

_LOG_LIMIT: Final = 16 << 20
_getcwd, _getrecursionlimit = os.getcwd, sys.getrecursionlimit  # before a target replaces them


class Fixture:
    """Restores process state: cheap parts before each trial, the others in each tick.

    The engine itself depends on none of this state: it uses absolute paths, keeps no important
    descriptor, and the worker monitor writes the statistics.
    """

    def __init__(
        self,
        directory: Path,
        output: Path | None = None,
    ) -> None:
        """``directory``: the target's working directory.

        ``output``: file for descriptors 1 and 2; None: the output is discarded.
        """
        self._directory = str(directory)
        self._output = output
        self.limits = Limits()
        self._depth = sys.getrecursionlimit()
        self._streams: list[TextIO | None] = [sys.stdin, sys.stdout, sys.stderr]

    def open(self) -> None:
        """Enter the directory and redirect descriptors 0 to 2. Raises OSError."""
        Path(self._directory).mkdir(parents=True, exist_ok=True)
        os.chdir(self._directory)
        self._directory = os.getcwd()  # noqa: PTH109 - without symbolic links, for comparison
        self._redirect((0, 1, 2))

    def loaded(self) -> None:
        """Record recursion limit, streams and resource limits after the target's import.

        Later calls restore these values. Raises :class:`Limited` if an engine cannot save files
        with these limits.
        """
        if (lost := self.limits.settle()) >= 0:
            raise Limited(lost)
        self._depth = sys.getrecursionlimit()
        self._streams = [sys.stdin, sys.stdout, sys.stderr]

    def moved(self) -> None:
        """Keep the working directory and the streams that the set up of a property has left."""
        with contextlib.suppress(OSError):
            self._directory = _getcwd()
        self._streams = [sys.stdin, sys.stdout, sys.stderr]

    def restore(self) -> None:
        """Restore the cheap state; called before each trial (about 0.5 us)."""
        start_over()
        if _getrecursionlimit() != self._depth:
            sys.setrecursionlimit(self._depth)
        stdin, stdout, stderr = self._streams
        if sys.stdout is not stdout or sys.stderr is not stderr or sys.stdin is not stdin:
            sys.stdin, sys.stdout, sys.stderr = stdin, stdout, stderr
        if stdout is None or stdout.closed or stderr is None or stderr.closed:
            self._reopen()
        try:
            here = _getcwd()
        except OSError:
            here = ""
        if here != self._directory:
            with contextlib.suppress(OSError):
                os.makedirs(self._directory, exist_ok=True)  # noqa: PTH103 - hot path
                os.chdir(self._directory)

    def check(self) -> None:
        """Restore limits and closed descriptors, and empty an output file above 16 MiB.

        Called in each tick. Raises :class:`Limited` if nothing can be saved any more.
        """
        self.check_limits()
        closed = []
        for fd in (0, 1, 2):
            try:
                size = os.fstat(fd).st_size
            except OSError:
                closed.append(fd)
                continue
            if fd and self._output is not None and size > _LOG_LIMIT:
                with contextlib.suppress(OSError):
                    os.ftruncate(fd, 0)
        if closed:
            self._redirect(closed)

    def check_limits(self) -> None:
        """Restore lowered limits. Raises :class:`Limited` if nothing can be saved any more."""
        if (lost := self.limits.restore()) >= 0:
            raise Limited(lost)

    def check_error(self, error: BaseException | None) -> None:
        """Raise :class:`Limited` if a lowered limit may be the reason of this failure."""
        if issubclass(type(error), MemoryError):
            self.check_limits()
        if (lost := self.limits.explains(error)) >= 0:
            raise Limited(lost)

    def _reopen(self) -> None:
        """Open new text streams, because the target closed one."""
        self._redirect((0, 1, 2))
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False, errors="replace")  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False, errors="replace")  # noqa: SIM115
        self._streams = [sys.stdin, sys.stdout, sys.stderr]

    def _redirect(self, fds: tuple[int, ...] | list[int]) -> None:
        for fd in fds:
            path, flags = os.devnull, os.O_RDWR
            if fd and self._output is not None:
                path, flags = str(self._output), os.O_WRONLY | os.O_APPEND | os.O_CREAT
            new = os.open(path, flags | os.O_CLOEXEC, 0o600)
            if new != fd:
                os.dup2(new, fd)
                os.close(new)
            else:
                os.set_inheritable(fd, True)

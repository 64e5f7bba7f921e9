"""Run an untrusted program with limits on time and output, and kill everything it leaves."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzztui.engines.execute.forks import StopWatch, has_ended
from fuzztui.run.process.identity import MARK_INSTANCE, MARK_RUN, kill_marked

KEPT = 128 * 1024
"""Bytes of output kept from the beginning, and the same number from the end."""

DRAINED = 4 << 20
"""Bytes of output read after the end: a daemon that the program left may print forever."""

_children: set[int] = set()


def children() -> set[int]:
    """Return the ids of the processes of :func:`execute`, which the reaper must leave alone."""
    return set(_children)


@dataclass(frozen=True, slots=True)
class ProcessMark:
    """The environment variables by which all processes of an execution can be found.

    ``label``: what takes the place of an instance's name.
    """

    run: Path
    label: str

    @property
    def env(self) -> dict[str, str]:
        """The mark as environment variables."""
        return {MARK_RUN: str(self.run), MARK_INSTANCE: self.label}

    def kill_leftovers(self) -> int:
        """Kill all processes with this mark. Returns their number."""
        return kill_marked(self.run, self.label)


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a program ended.

    ``status``: the exit status, or minus the number of the signal that killed the program; None if
    :func:`execute` killed the program, because its time was up or because a signal stopped it.
    ``stopped``: the name of the signal that stopped it, else empty.
    """

    status: int | None
    seconds: float
    output: bytes
    """Beginning and end of the output."""
    stopped: str = ""

    @property
    def signal(self) -> int:
        """The signal that killed the program; 0: none."""
        return -self.status if self.status is not None and self.status < 0 else 0


@dataclass(slots=True)
class _Output:
    """Keeps the beginning and the end of a stream, ``KEPT`` bytes each."""

    callback: Callable[[bytes], None] | None
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    cut: int = 0

    def take(self, data: bytes) -> None:
        if self.callback:
            self.callback(data)
        room = KEPT - len(self.head)
        self.head += data[:room]
        self.tail += data[max(0, room) :]
        if len(self.tail) > 2 * KEPT:
            self.cut += len(self.tail) - KEPT
            del self.tail[:-KEPT]

    def bytes(self) -> bytes:
        gap = b"\n... %d bytes left out ...\n" % self.cut if self.cut else b""
        return bytes(self.head) + gap + bytes(self.tail)


async def execute(
    argv: Sequence[str],
    mark: ProcessMark,
    *,
    cwd: Path,
    limit: float,
    stdin: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdout: bool = False,
    terminal: bool = False,
    on_output: Callable[[bytes], None] | None = None,
    on_stderr: Callable[[bytes], None] | None = None,
    meanwhile: Callable[[int], None] | None = None,
) -> ProcessResult:
    """Run a program to its end or for ``limit`` seconds, then kill everything that it left.

    The output is stderr, and ``stdout`` if true. ``terminal``: use a pseudo-terminal, because
    programs buffer lines for a pipe. ``on_output`` is called with the output as it comes;
    ``on_stderr`` with stderr, which is then not part of the output; ``meanwhile`` with the process
    id, about every 50 ms. Call in an event loop. Cancelling kills the program, and so does the
    death of this process. Raises OSError if the program cannot be started.
    """
    loop = asyncio.get_running_loop()
    reading, writing = os.openpty() if terminal else os.pipe2(os.O_CLOEXEC)
    output = _Output(on_output)
    streams = {reading: output}
    stderr = writing
    if on_stderr:
        reading_stderr, stderr = os.pipe2(os.O_CLOEXEC)
        streams[reading_stderr] = _Output(on_stderr)
    started = time.monotonic()
    try:
        with (stdin or Path(os.devnull)).open("rb") as source:
            # No await between the start and the entry in _children: the reaper would be faster.
            child = subprocess.Popen(
                [*_tied(), *argv],
                stdin=source,
                stdout=writing if stdout else subprocess.DEVNULL,
                stderr=stderr,
                cwd=cwd,
                env={**os.environ, **(env or {}), **mark.env},
                start_new_session=True,
            )
        _children.add(child.pid)
    except BaseException:
        for fd in streams:
            os.close(fd)
        raise
    finally:
        for fd in {writing, stderr}:
            os.close(fd)
    for fd, stream in streams.items():
        os.set_blocking(fd, False)
        loop.add_reader(fd, _take, fd, stream, loop)
    try:
        stops = StopWatch(child.pid)
        in_time = await _ended(child, limit, meanwhile, stops)
        stopped = "" if in_time else stops.name
        seconds = time.monotonic() - started
        # Before the wait its process id cannot be reused.
        _kill_group(child.pid)
        await _ended(child, 5.0, None)
        for fd, stream in streams.items():
            for _ in range(DRAINED // 65536):
                if not _take(fd, stream, loop):
                    break
        status = child.poll() if in_time else None
        return ProcessResult(status, seconds, output.bytes(), stopped)
    finally:
        for fd in streams:
            loop.remove_reader(fd)
            os.close(fd)
        if child.returncode is None:
            _kill_group(child.pid)
        try:
            await asyncio.to_thread(mark.kill_leftovers)
        finally:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(1.0)
            _children.discard(child.pid)


@functools.cache
def _tied() -> tuple[str, ...]:
    """The start of a command line that lets the command die with this process.

    Empty if the machine has no setpriv (util-linux); an endless target may then use a core until
    the run is resumed. setpriv executes the command in its own process, which the kernel kills when
    the thread that started it dies. A function between fork and exec (``preexec_fn``) could
    deadlock, because this process has threads.
    """
    tied = (shutil.which("setpriv") or "", "--pdeathsig", "KILL")
    try:
        done = subprocess.run([*tied, "true"], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tied if done.returncode == 0 else ()


async def _ended(
    child: subprocess.Popen[bytes],
    limit: float,
    meanwhile: Callable[[int], None] | None,
    stops: StopWatch | None = None,
) -> bool:
    """Wait for the end of a process without reaping it. False: still running, or stopped."""
    deadline = time.monotonic() + limit
    pause = 0.002
    while not has_ended(child.pid):
        if time.monotonic() >= deadline or (stops and stops.look()):
            return False
        await asyncio.sleep(pause)
        pause = min(2 * pause, 0.05)
        if meanwhile:
            meanwhile(child.pid)
    return True


def _take(fd: int, output: _Output, loop: asyncio.AbstractEventLoop) -> bool:
    """Read available output. Returns False at the end, or if there is none."""
    try:
        data = os.read(fd, 65536)
    except BlockingIOError:
        return False
    except OSError as e:
        if e.errno != errno.EIO:  # a terminal whose other end is closed
            raise
        data = b""
    if data:
        output.take(data)
    else:
        loop.remove_reader(fd)
    return bool(data)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)

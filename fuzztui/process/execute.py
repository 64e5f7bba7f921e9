"""Running a program that is not trusted: bounded in time and output, nothing left behind."""

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
from fuzztui.process.identity import MARK_INSTANCE, MARK_RUN, kill_marked

__all__ = ["ProcessMark", "ProcessResult", "children", "execute"]

KEPT = 128 * 1024
"""Bytes of output kept: as many of the beginning, as many of the end."""

DRAINED = 4 << 20
"""What is read of the output after the end: a daemon left behind may print for ever."""

_children: set[int] = set()


def children() -> set[int]:
    """Process ids that somebody waits for here: not for the supervisor's reaper."""
    return set(_children)


@dataclass(frozen=True, slots=True)
class ProcessMark:
    """What all processes of one execution have in their environment: they are found by it.

    ``label`` takes the place of an instance's name.
    """

    run: Path
    label: str

    @property
    def env(self) -> dict[str, str]:
        """The marks as environment variables."""
        return {MARK_RUN: str(self.run), MARK_INSTANCE: self.label}

    def kill_leftovers(self) -> int:
        """Kill everything that is marked; returns how many there were."""
        return kill_marked(self.run, self.label)


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a program ended: ``status`` as of subprocess, None if it was ended here.

    That is because its time was up, or because it was stopped: ``stopped`` is then the name of
    the signal.
    """

    status: int | None
    seconds: float
    output: bytes
    """Beginning and end of what it printed."""
    stopped: str = ""

    @property
    def signal(self) -> int:
        """The signal that it died of, 0 for none."""
        return -self.status if self.status is not None and self.status < 0 else 0


@dataclass(slots=True)
class _Output:
    """Keeps the two ends of a stream."""

    told: Callable[[bytes], None] | None
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    cut: int = 0

    def take(self, data: bytes) -> None:
        if self.told:
            self.told(data)
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
    told: Callable[[bytes], None] | None = None,
    errors: Callable[[bytes], None] | None = None,
    meanwhile: Callable[[int], None] | None = None,
) -> ProcessResult:
    """Run a program to its end or its limit, then kill whatever it left behind.

    Its stderr is kept, and its ``stdout`` with it if that is wanted; to a ``terminal`` it prints
    lines as they come, which into a pipe wait for 4 KiB more. ``told`` gets the
    output as it comes; ``errors`` gets the stderr, which is then no part of the output;
    ``meanwhile`` the process id, about every 50 ms. To be called in
    an event loop; cancelling kills the program, and so does our death. Raises OSError where
    it cannot be started.
    """
    loop = asyncio.get_running_loop()
    reading, writing = os.openpty() if terminal else os.pipe2(os.O_CLOEXEC)
    output = _Output(told)
    streams = {reading: output}
    complaints = writing
    if errors:
        aside, complaints = os.pipe2(os.O_CLOEXEC)
        streams[aside] = _Output(errors)
    started = time.monotonic()
    try:
        with (stdin or Path(os.devnull)).open("rb") as source:
            # No await between the start and the note of it: the reaper would be faster.
            child = subprocess.Popen(
                [*_tied(), *argv],
                stdin=source,
                stdout=writing if stdout else subprocess.DEVNULL,
                stderr=complaints,
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
        for fd in {writing, complaints}:
            os.close(fd)
    for fd, stream in streams.items():
        os.set_blocking(fd, False)
        loop.add_reader(fd, _take, fd, stream, loop)
    try:
        stops = StopWatch(child.pid)
        in_time = await _ended(child, limit, meanwhile, stops)
        stopped = "" if in_time else stops.name
        seconds = time.monotonic() - started
        # As long as nobody has waited for it, its id is nobody else's.
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
    """What a command begins with that must not outlive us; nothing where the machine lacks it.

    Otherwise a target without end would burn a core until the run is resumed. util-linux's
    setpriv becomes the command, which is killed when the thread that started it dies. Not by a
    function between fork and exec: we have threads.
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
    """Wait for the end of a process, without taking note of it. False: it runs still, or hangs."""
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
    """Read what there is; False at the end or where there is nothing."""
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

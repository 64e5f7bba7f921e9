"""The mirror of a run on another machine: ``python -m fuzztui.machines.hosts.mirror DIR ADDRESS
RUN``.

DIR becomes a run that screens and commands of this machine can show: records of the log over there
are written into its log, with the same numbers and times; commands to its control socket are passed
on; its other files are copied on demand (``kernel/remote/mirrored.py``). The process connects again
by itself, and ends when its stdin is closed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.bounds import whole
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.log.files import CHECKPOINTS, SEALED, LogError, tail_name
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.remote.lock import RunLock
from fuzztui.kernel.remote.mirrored import Origin, write_origin
from fuzztui.kernel.remote.protocol import (
    MAX_NAME,
    REJECTED,
    TIMEOUT,
    CommandAnswer,
    CommandRequest,
    ProtocolError,
)
from fuzztui.kernel.remote.server import MAX_PATIENCE_S, Beyond, ControlServer, Ticket, unanswered
from fuzztui.kernel.session import LONG
from fuzztui.machines.hosts.bundle import HostProcess, open_host
from fuzztui.machines.hosts.fetching import copied
from fuzztui.machines.hosts.link import Batch, Hello, HostLink, LinkLost, LinkUser
from fuzztui.machines.hosts.protocol import to_bytes
from fuzztui.machines.hosts.ssh import HostError
from fuzztui.run.campaign.places import HostPlace

PYTHON: Final = "FUZZTUI_HOST_PYTHON"
"""Environment variable: the Python over there; default: ``python3``."""

COPYING: Final = "copying"
"""File of a mirror with the progress of copying the log: bytes copied, and bytes in all."""

MAX_CHECKPOINTS: Final = 1 << 30
"""Bytes of checkpoints that are copied at most: checkpoints only save time."""

SOCKET_S: Final = 1.0

_PATIENCE_S: Final = MAX_PATIENCE_S
"""Seconds for which the supervisor over there keeps a request open; clients may wait less."""


class RunMirror(LinkUser):
    """Mirrors one run into ``directory``. ``given``: RUN as the user has written it."""

    def __init__(self, directory: Path, address: str, given: str, *, read_only: bool) -> None:
        self._directory = directory
        self._place = HostPlace("host", address, 1, python=os.environ.get(PYTHON, ""))
        self._arguments = ["--find", *(["--read-only"] if read_only else []), "--", given]
        for part in ("supervisor", "log"):
            (directory / part).mkdir(mode=0o700, parents=True, exist_ok=True)
        self._writer: LogWriter | None = None
        """None until what has been sealed of a long log is here."""
        self._log = 0.0
        """The identity of the log over there; 0: unknown."""
        self._lock: RunLock | None = None
        self._pid: int | None = None
        """The supervisor over there; None: there is none. Unknown counts as before."""
        self._lost = ""
        """Why there is no connection now; empty: there is one."""
        self._since = ""
        """The time of day at which the connection was lost."""
        self._trouble = ""
        """What the supervisor over there cannot write."""
        self._replaced = ""
        """That the run over there is of another campaign now."""
        self._numbers = itertools.count(1)
        self._sent: dict[int, asyncio.Future[CommandAnswer]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._beyond = Beyond()
        self._link = HostLink(self._open, self, patient=False)
        self._server = ControlServer(
            directory, self._submit, beyond=self._beyond, fetch=self._fetch
        )

    async def run(self) -> None:
        """Mirror until the task is cancelled. Raises HostError, LinkLost, LogError, OSError."""
        listening = asyncio.ensure_future(self._listen())
        try:
            await self._link.run()
        finally:
            listening.cancel()
            await asyncio.gather(listening, *self._tasks, return_exceptions=True)
            await self._server.close()
            self._unlock()
            with contextlib.suppress(OSError):
                if self._writer is not None:
                    self._writer.close()

    async def _open(self) -> HostProcess:
        return await open_host(self._place, self._arguments)

    async def _listen(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                await self._server.listen()
            await asyncio.sleep(SOCKET_S)

    # --------------------------------------------------------------- the link

    async def connected(self, hello: Hello) -> int | None:
        """Begin to mirror the run, or continue after the last record; None: it was replaced."""
        if self._log and hello.log != self._log:
            self._lost = ""
            self._replaced = (
                f"{self._place.address}: another campaign has begun in {visible(hello.run)}; "
                "leave, and attach again to see it"
            )
            self._tell(self._message())
            return None
        if not hello.run.isprintable():  # users copy commands that contain it
            raise HostError("the name of the run contains unprintable characters")
        self._log = hello.log
        self._running(hello.running)
        if self._writer is None:
            if hello.last >= LONG:
                await self._copy_sealed()
            self._writer = await asyncio.to_thread(LogWriter, self._directory / "log")
            with contextlib.suppress(FileNotFoundError):
                # Not before: to a writer, checkpoints that are ahead mean that records were lost.
                (self._directory / CHECKPOINTS).rename(self._directory / "log" / CHECKPOINTS)
        await self._ask_access()
        await self._server.listen()
        # Commands wait for this file.
        write_origin(self._directory, Origin(self._place.address, hello.run, hello.last))
        self._lost = ""
        self._tell(self._message())
        return self._writer.last_seq

    async def _copy_sealed(self) -> None:
        """Copy what is sealed of a long log: many times as fast as record by record.

        After a lost connection the copy continues where it was. Raises LinkLost.
        """
        log = self._directory / "log"
        facts = await self._link.ask("log")
        last, size = whole(facts.get("last"), 0), whole(facts.get("size"), 0)
        if last <= 0:
            return
        await self._copy(SEALED, log / SEALED, size)
        # A log without a tail would look cut off.
        (log / tail_name(last + 1)).touch(0o600)
        await self._copy(CHECKPOINTS, self._directory / CHECKPOINTS, MAX_CHECKPOINTS)

    async def _copy(self, name: str, path: Path, size: int) -> None:
        """Copy a file of the log up to ``size`` bytes, or to its end."""
        with path.open("ab") as file:
            while (done := file.tell()) < size:
                answer = await self._link.ask("log", name=name, offset=done)
                data = to_bytes(answer.get("data", ""))[: size - done]
                if not data:
                    return
                file.write(data)
                (self._directory / COPYING).write_text(f"{file.tell()} {size}")

    async def arrived(self, batch: Batch) -> None:
        """Copy records into the log."""
        assert self._writer is not None
        for record in batch.records:
            if record.seq > self._writer.last_seq:  # else it came before the connection was lost
                self._writer.copy(record)
        self._writer.flush()

    def replied(self, reply: dict[str, Any]) -> None:
        """Answer the client that has sent the command."""
        done = self._sent.get(reply.get("n", 0))
        if done is None or done.done() or "result" not in reply:
            return
        done.set_result(CommandAnswer.of(reply))

    def pong(self, running: int | None, trouble: str, last: int) -> None:
        """Show whether a supervisor lives, and its trouble, as for a run of this machine."""
        self._trouble = trouble
        self._running(running)

    def changed(self, state: str, reason: str) -> None:
        """Show that the connection was lost, and since when."""
        if state == "lost":
            self._since = self._since if self._lost else time.strftime("%H:%M:%S")
            self._lost = reason
            for done in self._sent.values():
                if not done.done():
                    text = "the connection was lost; whether the command was applied, the log shows"
                    done.set_result(CommandAnswer(TIMEOUT, text))
        self._tell(self._message())

    def _message(self) -> str:
        if self._replaced:
            return self._replaced
        if self._lost:
            return f"{self._place.address}: not connected since {self._since}: {self._lost}"
        return self._trouble

    # ------------------------------------------------------------ lock, socket

    def _running(self, pid: int | None) -> None:
        """Hold the lock, with its pid, while a supervisor lives over there."""
        if pid != self._pid:
            self._unlock()
        self._pid = pid
        if pid is not None and self._lock is None:
            self._lock = RunLock(self._directory, pid)
        self._tell(self._message())

    def _unlock(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def _tell(self, message: str) -> None:
        """Show a message where screens show that a log cannot be written."""
        if self._lock is not None:
            self._lock.note_trouble(message)

    async def _ask_access(self) -> None:
        answer = await self._link.ask("access")
        self._beyond.account = str(answer.get("account", ""))[:MAX_NAME]
        self._beyond.why_not_steer = str(answer.get("why_not_steer", ""))[:500]

    def _submit(self, request: CommandRequest) -> Ticket:
        n = next(self._numbers)
        done = self._sent[n] = unanswered()
        done.add_done_callback(lambda _: self._sent.pop(n, None))
        self._spawn(self._send({"n": n, **request.message(), "patience": _PATIENCE_S}, done))
        return Ticket(f"link{n}", done)

    async def _send(self, request: dict[str, Any], done: asyncio.Future[CommandAnswer]) -> None:
        """Send a command. It is never sent again: it might be executed twice."""
        try:
            if not self._link.connected:
                raise LinkLost(self._message() or "not connected yet")
            await self._link.send("request", request)
        except LinkLost as e:
            if not done.done():
                done.set_result(CommandAnswer(REJECTED, f"not sent: {e}"))

    async def _fetch(self, file: str) -> str:
        """Copy a file of the run over there. Returns why that failed; "" if it did not."""
        if not self._link.connected:
            return self._message() or "not connected yet"
        return await copied(self._link.read(file), self._directory, file)

    def _spawn(self, job: Any) -> None:
        task = asyncio.ensure_future(job)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _main(directory: Path, address: str, given: str, *, read_only: bool) -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(RunMirror(directory, address, given, read_only=read_only).run())
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    closed = asyncio.ensure_future(reader.read())
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    # Ctrl-C and a closed terminal are handled by the screen.
    for sign in (signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(sign, lambda: None)
    await asyncio.wait((task, closed), return_when=asyncio.FIRST_COMPLETED)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def main(arguments: list[str] | None = None) -> int:
    """Mirror until stdin ends, then remove DIR. Returns 1, with a message, if it cannot."""
    parser = argparse.ArgumentParser(prog="python -m fuzztui.machines.hosts.mirror")
    parser.add_argument("directory", type=Path)
    parser.add_argument("address")
    parser.add_argument("run", help="as a user has written it; may be empty")
    parser.add_argument("--read-only", action="store_true")
    options = parser.parse_args(arguments)
    try:
        asyncio.run(
            _main(options.directory, options.address, options.run, read_only=options.read_only)
        )
    except (HostError, LinkLost, LogError, ProtocolError, OSError) as e:
        print(f"{options.address}: {e}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(options.directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

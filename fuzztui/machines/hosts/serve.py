"""The server on a host: ``python -m fuzztui.machines.hosts.serve RUN``, spoken to over stdin and
stdout.

It reads the run's log and passes commands on to the run's supervisor; it never writes the log. It
ends when its stdin is closed, or when the hub has been silent for too long: a hub whose machine
died would otherwise leave it behind. The campaign continues without it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import fuzztui
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import whole
from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.remote.address import read_socket_path
from fuzztui.kernel.remote.lock import running, trouble
from fuzztui.kernel.remote.protocol import MAX_LINE, PROTO, REJECTED, ProtocolError, decode, encode
from fuzztui.kernel.wire.events import CampaignStarted, Record
from fuzztui.machines.hosts.entries import highest_ids, store_entries
from fuzztui.machines.hosts.facts import host_facts
from fuzztui.machines.hosts.finding import NoRun, find_run
from fuzztui.machines.hosts.follow import follow
from fuzztui.machines.hosts.looking import read_file, read_log, who_may
from fuzztui.machines.hosts.protocol import (
    DESERTED_S,
    LINK_PROTO,
    MAX_FRAME,
    LinkLines,
    file_name,
    frame,
    instance_name,
    number,
    to_bytes,
    to_text,
    unframe,
)
from fuzztui.machines.hosts.receive import Receiver, campaign_here
from fuzztui.machines.hosts.shipping import take_analysed
from fuzztui.run.campaign.rundir import AlreadyRunning, RunDir, SupervisorError, prepare_run
from fuzztui.run.process.identity import boot_id
from fuzztui.run.supervise.daemon import start

STAMPS = 20_000
"""Most records whose numbers and times one answer contains."""

READ_ONLY = "this connection may only read (--read-only)"

_LOOKING = ("file", "access", "log")
"""Questions that are answered on a connection that may only read."""

Ask = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
Send = Callable[[str, dict[str, Any]], Awaitable[None]]


class HostServer:
    """Serves one run to one hub. ``steer``: whether commands are passed on."""

    def __init__(self, run: Path, send: Callable[[bytes], Awaitable[None]], *, steer: bool) -> None:
        self._run = run
        self._run_dir = RunDir(run)
        self._write = send
        self._steer = steer
        self._heard = time.monotonic()
        self._following: asyncio.Task[None] | None = None
        self._ponging: asyncio.Task[None] | None = None
        self._failed: asyncio.Future[None] | None = None
        """Gets what a task has raised."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._control: _Control | None = None
        receiver, turn = Receiver(run), asyncio.Lock()
        self._asks: dict[str, Ask] = {
            "ship": in_turn(turn, receiver.ship),
            "blob": in_turn(turn, receiver.blob),
            "check": in_turn(turn, partial(host_facts, run)),
            "start": self._start,
            "put": self._put,
            "have": self._have,
            "file": self._file,
            "access": self._access,
            "log": self._log_piece,
            "stamps": self._stamps,
        }
        if not steer:
            self._asks = {what: self._asks[what] for what in _LOOKING}

    async def serve(self, reader: asyncio.StreamReader) -> str:
        """Serve until the hub ends the conversation. Returns why it ended.

        Raises what a task has raised: a server that answers but sends no records is of no use.
        """
        await self._send("hello", await asyncio.to_thread(self._hello))
        deserted = asyncio.ensure_future(self._until_deserted())
        conversation = asyncio.ensure_future(self._converse(reader))
        self._failed = asyncio.get_running_loop().create_future()
        try:
            ends = (deserted, conversation, self._failed)
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in (conversation, self._failed):
                if end.done():
                    end.result()
            return "" if conversation.done() else "the hub has been silent for too long"
        finally:
            self._failed.cancel()
            tasks = [deserted, conversation, *self._tasks]
            if self._following is not None:
                tasks.append(self._following)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._control is not None:
                self._control.close()

    async def _until_deserted(self) -> None:
        while time.monotonic() - self._heard < DESERTED_S:
            await asyncio.sleep(1.0)

    async def _converse(self, reader: asyncio.StreamReader) -> None:
        lines = LinkLines(reader, self._hear)
        while line := await lines.next():
            kind, body = unframe(line)
            match kind:
                case "ping":
                    # Not awaited: the answer may wait for a long message on a slow link, and the
                    # messages of the hub must be read meanwhile.
                    if self._ponging is None or self._ponging.done():
                        self._ponging = self._spawn(self._pong(body))
                case "follow":
                    if self._following is not None:
                        self._following.cancel()
                    self._following = asyncio.ensure_future(follow(self._run_dir, body, self._send))
                    self._following.add_done_callback(self._note_failure)
                case "request":
                    await self._request(body)
                case "ask":
                    self._spawn(self._answer(body))
                case _:
                    raise ProtocolError(f"unknown message {kind[:40]!r}")

    def _hear(self) -> None:
        self._heard = time.monotonic()

    def _spawn(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(job)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._note_failure)
        return task

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        failed = self._failed
        if not task.cancelled() and (error := task.exception()) and failed and not failed.done():
            failed.set_exception(error)

    async def _send(self, kind: str, body: dict[str, Any]) -> None:
        await self._write(frame(kind, body))

    # ------------------------------------------------------------------- facts

    def _hello(self) -> dict[str, Any]:
        last, log = 0, 0.0
        try:
            reader = LogReader(self._run)
            last, log = reader.last_seq, log_identity(reader.records(limit=1))
        except (LogError, OSError) as e:
            if self._has_log():  # else the hub would take the log for lost
                raise SupervisorError(f"{self._run_dir.log} cannot be read: {e}") from None
        return {
            "proto": LINK_PROTO,
            "version": fuzztui.__version__,
            "python": list(sys.version_info[:3]),
            "host": socket.gethostname(),
            "boot": boot_id(),
            "pid": os.getpid(),
            "run": os.fspath(self._run),
            "last": last,
            "log": log,
            "hub": self._whose(),
            **self._now(),
        }

    def _has_log(self) -> bool:
        try:
            return any(self._run_dir.log.iterdir())
        except FileNotFoundError:
            return False
        except OSError:
            return True

    def _now(self) -> dict[str, Any]:
        return {
            "wall": time.time(),
            "running": running(self._run),
            "trouble": trouble(self._run),
        }

    async def _pong(self, body: dict[str, Any]) -> None:
        now = self._now()
        if now["running"] is None:  # it ended, or died: which one, the end of its log says
            now["last"] = await asyncio.to_thread(self._last)
        await self._send("pong", {"n": body.get("n"), **now})

    def _last(self) -> int:
        with contextlib.suppress(LogError, OSError):
            return LogReader(self._run).last_seq
        return 0

    # ---------------------------------------------------------------- commands

    async def _request(self, body: dict[str, Any]) -> None:
        if not self._steer:
            await self._reject(body, READ_ONLY)
            return
        try:
            if self._control is None or self._control.closed:
                self._control = await _Control.open(self._run, self._send)
            self._control.send(body)
        except OSError as e:
            await self._reject(body, f"the supervisor cannot be reached: {e.strerror or e}")

    async def _reject(self, body: dict[str, Any], why: str) -> None:
        answer = {"n": body.get("n"), "result": REJECTED, "detail": why, "unlogged": True}
        await self._send("reply", answer)

    # -------------------------------------------------------------------- asks

    async def _answer(self, body: dict[str, Any]) -> None:
        n = number(body, "n")
        try:
            ask = self._asks.get(str(body.get("what")))
            if ask is None:
                raise ProtocolError(f"{str(body.get('what'))[:40]!r} cannot be asked here")
            answer = await ask(body)
        except (ProtocolError, SupervisorError) as e:
            answer = {"error": str(e)}
        except OSError as e:
            place = f"{e.filename}: " if e.filename else ""
            answer = {"error": f"{place}{e.strerror or e}"}
        except Exception as e:  # the hub would wait for minutes, and then ask again
            answer = {"error": f"internal error of the server: {e!r}"}
        await self._send("answer", {"n": n, **answer})

    async def _start(self, body: dict[str, Any]) -> dict[str, Any]:
        """Start, or resume, the campaign of the run. Answers its supervisor's pid."""

        def begin() -> int:
            prepare_run(self._run)
            self._claim(str(body.get("hub") or "")[:64])
            take_analysed(self._run)
            return start(self._run, campaign_here(body.get("campaign"), self._run))

        try:
            return {"pid": await asyncio.to_thread(begin)}
        except AlreadyRunning as e:
            return {"pid": e.pid}

    def _claim(self, hub: str) -> None:
        """Store ``hub`` as the owner of the run, unless it is stored already.

        Raises SupervisorError if the run belongs to another hub, or was started by none.
        """
        for _ in range(2):  # again, as two hubs may come at the same time
            if (whose := self._whose()) == hub:
                return
            if whose or self._last():
                raise SupervisorError(
                    f"{self._run} over there is a run of {'another' if whose else 'no'} hub: "
                    "remove that directory, or give the host another path in [hosts]"
                )
            replace_text(self._run_dir.hub, hub)

    def _whose(self) -> str:
        """The name of the log of the hub that has started the run; empty: none has."""
        return (read_if_regular(self._run_dir.hub, 64) or b"").decode(errors="replace").strip()

    async def _put(self, body: dict[str, Any]) -> dict[str, Any]:
        """Store queue entries of other hosts' instances."""
        rows = body.get("files")
        if not isinstance(rows, list):
            raise ProtocolError("the files are missing")

        def store() -> int:
            entries = [
                (
                    instance_name(r.get("instance")),
                    file_name(r.get("name")),
                    to_bytes(r.get("data")),
                )
                for r in rows
                if isinstance(r, dict)
            ]
            return store_entries(self._run_dir, entries)

        return {"stored": await asyncio.to_thread(store)}

    async def _have(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer the highest id that is stored of each named instance of another host."""
        instances = body.get("instances")
        names = [instance_name(name) for name in instances] if isinstance(instances, list) else []
        return {"ids": await asyncio.to_thread(highest_ids, self._run_dir, names)}

    async def _stamps(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer number and time of the records after ``after``, at most ``STAMPS``."""
        after = number(body, "after")

        def read() -> list[list[float]]:
            try:
                return [[r.seq, r.t] for r in LogReader(self._run).records(after, STAMPS)]
            except LogError as e:
                raise SupervisorError(f"{self._run_dir.log} cannot be read: {e}") from None

        return {"stamps": await asyncio.to_thread(read)}

    async def _file(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer the content of the run's file ``path``, which is relative to the run directory."""
        data = await asyncio.to_thread(read_file, self._run, body.get("path"))
        return {"data": to_text(data)}

    async def _log_piece(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a piece of the log's file ``name``, from ``offset`` on.

        Without a name: how far it is sealed (:func:`~fuzztui.machines.hosts.looking.read_log`).
        """
        offset = whole(body.get("offset"), 0)
        try:
            return await asyncio.to_thread(read_log, self._run, body.get("name"), max(0, offset))
        except LogError as e:
            return {"error": str(e)}

    async def _access(self, _: dict[str, Any]) -> dict[str, Any]:
        """Answer under which account commands are given, and why they would be rejected."""
        found = await asyncio.to_thread(who_may, self._run)
        return found if self._steer else {**found, "why_not_steer": READ_ONLY}


def in_turn(turn: asyncio.Lock, function: Callable[[dict[str, Any]], dict[str, Any]]) -> Ask:
    """Return a handler of questions that calls ``function`` in a thread.

    Handlers with the same lock ``turn`` do so one after the other.
    """

    async def ask(body: dict[str, Any]) -> dict[str, Any]:
        async with turn:
            return await asyncio.to_thread(function, body)

    return ask


def log_identity(records: Iterable[Record]) -> float:
    """Return the Unix time at which a log began, which identifies the log; 0 if it is unknown."""
    for record in records:
        if isinstance(record.event, CampaignStarted):
            return record.event.wall
    return 0.0


class _Control:
    """A connection to the run's supervisor; its answers go to the hub as they are."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to: Send
    ) -> None:
        self._writer = writer
        self.closed = False
        self._reading = asyncio.ensure_future(self._pass_on(reader, to))

    @classmethod
    async def open(cls, run: Path, to: Send) -> _Control:
        """Connect. Raises OSError."""
        path = read_socket_path(run)
        if path is None or running(run) is None:
            raise OSError("no supervisor is running")
        reader, writer = await asyncio.open_unix_connection(path, limit=MAX_LINE)
        writer.write(encode({"proto": PROTO, "client": "hub"}))
        return cls(reader, writer, to)

    def send(self, request: dict[str, Any]) -> None:
        self._writer.write(encode(request))

    async def _pass_on(self, reader: asyncio.StreamReader, to: Send) -> None:
        try:
            while line := await reader.readline():
                message = decode(line)
                if "n" in message:
                    await to("reply", message)
        except (OSError, ValueError):
            pass
        finally:
            self.closed = True
            self._writer.close()

    def close(self) -> None:
        self._reading.cancel()
        self._writer.close()


async def _main(given: str, *, find: bool, steer: bool) -> int:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_FRAME)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(1), "wb")
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    turn = asyncio.Lock()

    async def send(line: bytes) -> None:
        async with turn:
            writer.write(line)
            await writer.drain()

    try:
        run = find_run(given) if find else Path(given).expanduser()
    except NoRun as e:
        await send(frame("bye", {"reason": str(e)}))
        return 0
    server = asyncio.ensure_future(HostServer(run.absolute(), send, steer=steer).serve(reader))
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(sign, server.cancel)
    try:
        reason = await server
    except asyncio.CancelledError:
        reason = "the server on the host was stopped"
    except (ProtocolError, ValueError) as e:
        reason = f"the hub sent {e}"
    except SupervisorError as e:
        reason = str(e)
    except OSError:  # the hub is gone
        return 1
    except Exception as e:
        traceback.print_exc()
        reason = f"internal error of the server: {e!r}"
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(1.0):
            await send(frame("bye", {"reason": reason}))
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Serve a run over stdin and stdout; returns 1 if the hub broke the connection."""
    parser = argparse.ArgumentParser(prog="python -m fuzztui.machines.hosts.serve")
    parser.add_argument("run")
    parser.add_argument("--find", action="store_true", help="RUN is what a user has written")
    parser.add_argument("--read-only", action="store_true", help="pass no commands on")
    options = parser.parse_args(arguments)
    return asyncio.run(_main(options.run, find=options.find, steer=not options.read_only))


if __name__ == "__main__":
    sys.exit(main())

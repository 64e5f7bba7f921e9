"""The supervisor's end of the control socket.

The server only passes commands to the supervisor and answers to the clients. A client that
is slow, silent, gone or hostile loses its own connection and affects nothing else: the server
never waits for a client's buffer to empty.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import fuzztui
from fuzztui.kernel.remote.access import Access, account, author, peer_of, user_name
from fuzztui.kernel.remote.address import link_to_run, socket_path, withdraw, write_socket_path
from fuzztui.kernel.remote.protocol import (
    APPLIED,
    MAX_LINE,
    NO_ANSWER,
    PROTO,
    REJECTED,
    TIMEOUT,
    CommandAnswer,
    CommandRequest,
    ProtocolError,
    decode,
    encode,
)

MAX_CLIENTS = 64
MAX_PENDING = 256
MAX_UNREAD = 1 << 20
HELLO_S = 10.0
ANSWER_S = 10.0
"""Seconds to wait for an answer if the client names no time."""

MAX_PATIENCE_S = 3600.0
"""The longest time, in seconds, for which a client can wait for an answer."""


def unanswered() -> asyncio.Future[CommandAnswer]:
    """Return the future of an answer, in the running event loop."""
    return asyncio.get_running_loop().create_future()


@dataclass(frozen=True, slots=True)
class Ticket:
    """A command that the supervisor has accepted: its id in the log, and its future answer."""

    id: str
    answer: asyncio.Future[CommandAnswer] = field(default_factory=unanswered)


Submit = Callable[[CommandRequest], Ticket]
"""Called with a command; logs it, starts to carry it out, and returns its ticket."""

Fetch = Callable[[str], Awaitable[str]]
"""Copies a file, by its path in the run; returns why that failed, or an empty string."""


@dataclass(slots=True)
class Beyond:
    """What another machine allows, for a server that passes its commands on to that machine."""

    account: str = ""
    """The account there under which the commands are given."""
    why_not_steer: str = ""


class ControlServer:
    """Listens for the clients of a run; calls ``submit`` with each command."""

    def __init__(
        self,
        run: Path,
        submit: Submit,
        access: Access | None = None,
        beyond: Beyond | None = None,
        fetch: Fetch | None = None,
    ) -> None:
        """``fetch``: copies a file of the run from another machine; None: all files are here."""
        self._run = run
        self._submit = submit
        self._beyond = beyond
        self._fetch = fetch
        self._access = access or Access()
        self._path: Path | None = None
        self._inode = 0
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    @property
    def path(self) -> Path | None:
        """The path of the socket; None before :meth:`listen`."""
        return self._path

    async def listen(self) -> None:
        """Listen; again if the socket's file was removed. Call regularly. Raises OSError.

        logind removes ``$XDG_RUNTIME_DIR`` when the user logs out, while the campaign
        continues.
        """
        if self._path is not None and _inode(self._path) == self._inode:
            if self._beyond is None:
                link_to_run(self._run, self._path)  # old files are removed from /tmp
            return
        group = self._access.gid
        path = socket_path(self._run, group)
        with contextlib.suppress(FileNotFoundError):
            path.unlink()  # left by a dead supervisor: this process holds the lock
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.bind(os.fspath(path))
            if group >= 0:
                os.chown(path, -1, group)
            path.chmod(0o600 if group < 0 else 0o660)
            former = self._server
            self._server = await asyncio.start_unix_server(self._serve, sock=sock, limit=MAX_LINE)
        except BaseException:
            sock.close()
            raise
        if former is not None:
            former.close()
        self._path, self._inode = path, _inode(path)
        write_socket_path(self._run, path)
        if self._beyond is None:
            link_to_run(self._run, path)

    async def close(self) -> None:
        """Stop listening and close all connections."""
        if self._server is not None:
            self._server.close()
        for task in list(self._clients):
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        if self._path is not None and _inode(self._path) == self._inode:
            withdraw(self._path)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        client = _Client(writer)
        try:
            if len(self._clients) >= MAX_CLIENTS:
                raise ProtocolError(f"{MAX_CLIENTS} clients are already connected")
            self._clients.add(task)
            peer = peer_of(writer.get_extra_info("socket"))
            if not self._access.may_read(peer):
                raise ProtocolError(f"the campaign belongs to {user_name(os.getuid())}")
            client.account = account(peer.uid)
            client.why_not_steer = self._access.why_not_steer(peer)
            if self._beyond is not None:
                client.why_not_steer = client.why_not_steer or self._beyond.why_not_steer
            await self._converse(reader, client)
        except ProtocolError as e:
            client.send({"error": str(e)})
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass
        finally:
            self._clients.discard(task)
            client.hang_up()

    async def _converse(self, reader: asyncio.StreamReader, client: _Client) -> None:
        async with asyncio.timeout(HELLO_S):
            hello = await _message(reader)
        if hello is None:
            return
        if hello.get("proto") != PROTO:
            raise ProtocolError(f"fuzztui {fuzztui.__version__} uses protocol {PROTO}")
        client.send(
            {
                "proto": PROTO,
                "version": fuzztui.__version__,
                "run": os.fspath(self._run),
                "pid": os.getpid(),
                "account": self._beyond.account if self._beyond else client.account,
                "why_not_steer": client.why_not_steer,
            }
        )
        while (request := await _message(reader)) is not None:
            self._take(request, client)

    def _take(self, request: dict[str, Any], client: _Client) -> None:
        n, patience = request.get("n"), request.get("patience", ANSWER_S)
        if type(patience) not in (int, float) or not 0 <= patience <= MAX_PATIENCE_S:
            patience = ANSWER_S
        if type(n) is not int:
            raise ProtocolError("a request needs a number 'n'")
        if len(client.waiting) >= MAX_PENDING:
            raise ProtocolError(f"{MAX_PENDING} commands of this client are already pending")
        if self._fetch is not None and isinstance(file := request.get("fetch"), str):
            client.wait_for(_fetched(n, self._fetch(file), client))
            return
        asked = CommandRequest.of(request)
        if client.why_not_steer:
            client.send({"n": n, "result": REJECTED, "detail": client.why_not_steer})
            return
        ticket = self._submit(replace(asked, by=author(asked.by, client.account)))
        client.send({"n": n, "issued": ticket.id})
        client.wait_for(_pass_on(n, ticket, client, patience))


class _Client:
    """One connection. Sending never waits."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.waiting: set[asyncio.Future[None]] = set()
        self.account = ""
        """The account under which the client runs."""
        self.why_not_steer = ""
        """Why the client may give no commands; an empty string if it may."""

    def send(self, message: Mapping[str, Any]) -> None:
        transport = self._writer.transport
        if transport.is_closing():
            return
        if transport.get_write_buffer_size() > MAX_UNREAD:
            transport.abort()  # the client does not read; the answers are in the log
            return
        self._writer.write(encode(message))

    def wait_for(self, job: Coroutine[Any, Any, None]) -> None:
        waiter = asyncio.ensure_future(job)
        self.waiting.add(waiter)
        waiter.add_done_callback(self.waiting.discard)

    def hang_up(self) -> None:
        for waiter in list(self.waiting):
            waiter.cancel()
        self._writer.close()


async def _message(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    try:
        line = await reader.readline()
    except ValueError:
        raise ProtocolError(f"a line of more than {MAX_LINE} bytes") from None
    return decode(line) if line else None


async def _fetched(n: int, getting: Awaitable[str], client: _Client) -> None:
    problem = await getting
    client.send({"n": n, "result": REJECTED if problem else APPLIED, "detail": problem})


async def _pass_on(n: int, ticket: Ticket, client: _Client, patience: float) -> None:
    try:
        async with asyncio.timeout(patience):
            answer = await asyncio.shield(ticket.answer)
    except TimeoutError:
        answer = CommandAnswer(TIMEOUT, NO_ANSWER)
    client.send({"n": n, **asdict(answer), "id": ticket.id})


def _inode(path: Path) -> int:
    try:
        return path.lstat().st_ino
    except OSError:
        return 0

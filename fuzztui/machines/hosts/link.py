"""The hub's end of the connection to one host: connect, listen, and connect again.

A connection is lost when it is closed without a farewell, or silent for
:data:`~fuzztui.machines.hosts.protocol.SILENCE_S`. The link then connects again, with growing
pauses, until it is closed. What was asked in between fails at once; the log of the host is complete
anyway.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from fuzztui.kernel.base.bounds import real, whole
from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.kernel.wire.codec import CodecError, decode_record
from fuzztui.kernel.wire.events import Record
from fuzztui.machines.hosts.bundle import HostProcess
from fuzztui.machines.hosts.protocol import (
    LINK_PROTO,
    PING_S,
    SILENCE_S,
    LinkLines,
    frame,
    number,
    to_bytes,
    unframe,
)
from fuzztui.machines.hosts.ssh import HostError

PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds between two attempts to connect; the last one is repeated. Up to a quarter is added at
random: an sshd refuses many connections that begin at the same time."""

STABLE_S = 30.0
"""Seconds after which a connection counts as a good one, and the first pause is short again: a host
that breaks each connection at once would otherwise fill the log."""

HELLO_S = 60.0
"""Seconds for the first message, which may need a copy of fuzztui on the host first."""

_LEAST: Final = 16 << 10
"""Bytes below which a message of entries or pieces is not made smaller."""

_LONG_S: Final = 1.0
"""Seconds for the answer to a message of entries or pieces: if late, the next one is smaller."""

_JUNK = 1 << 16
"""Bytes that a login shell may print before the first message."""


def pause_s(failed: int, chance: float) -> float:
    """Return the seconds until the next attempt. ``chance``: from 0 to 1, different each time."""
    return PAUSES_S[min(max(failed, 1), len(PAUSES_S)) - 1] * (1 + chance / 4)


AT_A_TIME: Final = 10
"""Hosts that connect, or are sent the campaign, at the same time."""

LONGEST_S: Final = 15.0
"""Seconds after which a turn that is not over no longer counts: the next host may begin, too."""


class Turns:
    """Turns in the order in which they are asked for, to connect to a host, or to send a campaign.

    Two hundred handshakes or uploads at the same moment would make each of them so slow that it
    fails.
    """

    def __init__(self, at_a_time: int = AT_A_TIME, longest_s: float = LONGEST_S) -> None:
        self._free = asyncio.Semaphore(at_a_time)
        self._longest_s = longest_s

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Context manager: wait for a turn. It ends with the block, or after ``longest_s``."""
        await self._free.acquire()
        is_mine = True

        def end() -> None:
            nonlocal is_mine
            if is_mine:
                is_mine = False
                self._free.release()

        early = asyncio.get_running_loop().call_later(self._longest_s, end)
        try:
            yield
        finally:
            early.cancel()
            end()


class LinkLost(Exception):
    """The connection was lost; the message has the reason, for users."""


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message of a server, checked."""

    host: str
    version: str
    python: str
    run: str
    last: int
    log: float
    boot: str
    hub: str
    """The name of the log of the hub that has started the run; an empty string: none has."""
    running: int | None
    """The pid of the supervisor over there; None: none runs."""
    clock_s: float
    """By how many seconds the clock over there is ahead; half a round trip wrong."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of the host's log, in order, and the files that they name, by path in ``out/``."""

    records: Sequence[Record]
    files: Mapping[str, bytes] = field(default_factory=dict)
    size: int = 0
    """Bytes of the records."""


class MessageSize:
    """Chooses the ``bytes`` of the next message of entries or pieces by how long the last one took.

    A message that is long on its way holds up the pings, so the link would be taken for lost.
    ``most``: bytes of the largest message.
    """

    def __init__(self, most: int) -> None:
        self.bytes, self._most = 64 << 10, most

    async def timed(self, asking: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        """Return the answer; the next message is larger if it came soon, smaller if it was late."""
        since = time.monotonic()
        answer = await asking
        took = time.monotonic() - since
        if took < _LONG_S / 4:
            self.bytes = min(self._most, 2 * self.bytes)
        elif took > _LONG_S:
            self.bytes = max(_LEAST, self.bytes // 2)
        return answer


class LinkUser:
    """What a link calls. Exceptions that are no LinkLost end the link."""

    async def connected(self, hello: Hello) -> int | None:
        """Prepare the host. Return the number of the record after which the log is followed.

        None: the log is not followed.
        """
        raise NotImplementedError

    async def arrived(self, batch: Batch) -> None:
        """Take records and files; the next ones are only read when this has returned."""

    def replied(self, reply: dict[str, Any]) -> None:
        """Take an answer of the host's supervisor to a request."""

    def pong(self, running: int | None, trouble: str, last: int) -> None:
        """Take the answer to a ping: the supervisor's pid, and why it cannot write its log.

        ``last``: the last record of its log, if no supervisor runs.
        """

    def changed(self, state: str, reason: str) -> None:
        """Take a new state of the connection (:data:`~fuzztui.kernel.wire.events.HOST_STATES`)."""


class HostLink:
    """The connection to one host. ``open``: starts the server over there, and returns its pipes."""

    def __init__(
        self,
        open_: Callable[[], Awaitable[HostProcess]],
        user: LinkUser,
        *,
        wanted: Mapping[str, Any] | None = None,
        patient: bool = True,
    ) -> None:
        """
        :param wanted: what the server sends with records, and when: see
            :class:`fuzztui.machines.hosts.follow.Wanted`.
        :param patient: whether the first attempt is repeated, too; else its error is raised.
        """
        self._open = open_
        self._patient = patient
        self._user = user
        self._wanted = wanted or {}
        self._process: HostProcess | None = None
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._heard = self._since = 0.0
        self._taking = False
        """Whether the user takes records, which may take long: nothing is read meanwhile."""
        self.connected = False

    async def run(self) -> NoReturn:
        """Stay connected until the task is cancelled."""
        attempts = 0
        while True:
            try:
                self._user.changed("connecting", "")
                await self._connection()
            except (LinkLost, HostError, OSError, ProtocolError) as e:
                if not self._patient and not self.connected:
                    raise
                lasted = time.monotonic() - self._since
                attempts = 0 if self.connected and lasted > STABLE_S else attempts + 1
                self.connected = False
                pause = pause_s(attempts, random.random())
                self._user.changed("lost", str(e))
            finally:
                self.connected = False
                await self._hang_up()
            await asyncio.sleep(pause)

    async def ask(self, what: str, patience: float = 60.0, **fields: Any) -> dict[str, Any]:
        """Ask the server something, and return its answer.

        Raises LinkLost if the connection is lost before the answer, or is silent for ``patience``
        seconds. An answer with a key ``error`` is the caller's business.
        """
        n = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[n] = answer
        try:
            await self.send("ask", {"n": n, "what": what, **fields})
            async with asyncio.timeout(patience):
                return await answer
        except TimeoutError:
            raise LinkLost(f"no answer to {what} within {patience:.0f} s") from None
        finally:
            self._asked.pop(n, None)

    async def read(self, file: str, patience: float = 60.0) -> bytes:
        """Return a file of the run over there. Raises LinkLost, ProtocolError."""
        answer = await self.ask("file", patience=patience, path=file)
        if "error" in answer:
            raise ProtocolError(str(answer["error"])[:500])
        return to_bytes(answer.get("data"))

    async def send(self, kind: str, body: Mapping[str, Any]) -> None:
        """Send a message. Raises LinkLost."""
        process = self._process
        if process is None:
            raise LinkLost("not connected")
        try:
            process.stdin.write(frame(kind, body))
            await process.stdin.drain()
        except OSError as e:
            raise LinkLost(f"the connection was closed ({e.strerror or e})") from None

    # -------------------------------------------------------------- connection

    async def _connection(self) -> NoReturn:
        """One connection, from its start to its end. Raises LinkLost."""
        self._process = process = await self._open()
        self._since = self._heard = time.monotonic()
        lines = LinkLines(process.stdout, self._hear)
        try:
            hello = await self._hello(lines, self._since)
            reading = asyncio.ensure_future(self._read(lines))
            pinging = asyncio.ensure_future(self._ping())
            following = asyncio.ensure_future(self._follow(hello))
            tasks = {reading, pinging, following}
            try:
                while True:
                    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        task.result()  # raises what ended the connection
                    tasks -= done  # `following` is short
            finally:
                for task in (reading, pinging, following):
                    task.cancel()
                await asyncio.gather(reading, pinging, following, return_exceptions=True)
        finally:
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(LinkLost("the connection was lost"))

    def _hear(self) -> None:
        self._heard = time.monotonic()

    async def _hello(self, lines: LinkLines, began: float) -> Hello:
        junk = 0
        try:
            async with asyncio.timeout(HELLO_S):
                while True:
                    line = await lines.next()
                    if not line:
                        raise await self._lost()
                    with contextlib.suppress(ProtocolError):
                        kind, body = unframe(line)
                        if kind == "hello":
                            break
                        if kind == "bye":
                            raise LinkLost(str(body.get("reason"))[:500])
                    junk += len(line)
                    if junk > _JUNK:
                        raise LinkLost("the host prints text, and no server answers")
        except TimeoutError:
            raise LinkLost(f"no answer within {HELLO_S:.0f} s") from None
        if body.get("proto") != LINK_PROTO:
            raise LinkLost(f"the host speaks another protocol ({str(body.get('version'))[:40]})")
        now, wall = time.time(), real(body.get("wall"))
        half = min(time.monotonic() - began, 1.0) / 2
        return Hello(
            host=str(body.get("host"))[:100],
            version=str(body.get("version"))[:40],
            python=".".join(str(part)[:8] for part in body.get("python") or ())[:20],
            run=str(body.get("run"))[:4096],
            last=number(body, "last"),
            log=real(body.get("log"), 0.0),
            boot=str(body.get("boot"))[:64],
            hub=str(body.get("hub") or "")[:64],
            running=body["running"] if type(body.get("running")) is int else None,
            clock_s=round(wall + half - now, 2) if wall > 0 else 0.0,
        )

    async def _follow(self, hello: Hello) -> None:
        after = await self._user.connected(hello)
        self.connected = self._patient = True
        if after is not None:
            await self.send("follow", {"after": after, **self._wanted})

    async def _read(self, lines: LinkLines) -> NoReturn:
        while True:
            line = await lines.next()
            if not line:
                raise await self._lost()
            kind, body = unframe(line)
            match kind:
                case "records":
                    self._taking = True
                    try:
                        await self._user.arrived(_batch(body))
                    finally:
                        self._taking = False
                        self._hear()
                case "reply":
                    self._user.replied(body)
                case "answer":
                    answer = self._asked.get(number(body, "n"))
                    if answer is not None and not answer.done():
                        answer.set_result(body)
                case "pong":
                    running = body.get("running")
                    trouble = str(body.get("trouble") or "")[:500]
                    alive = running if type(running) is int else None
                    self._user.pong(alive, trouble, whole(body.get("last"), 0))
                case "bye":
                    reason = str(body.get("reason") or "the server on the host has ended")
                    raise LinkLost(reason[:500])
                case _:
                    raise LinkLost(f"the host sends an unknown message {kind[:40]!r}")

    async def _ping(self) -> NoReturn:
        """Notice a silent connection. ssh itself notices a cut later, or never."""
        n = 0
        while True:
            await asyncio.sleep(PING_S)
            n += 1
            silent = time.monotonic() - self._heard
            if silent > SILENCE_S and not self._taking:
                raise LinkLost(f"no answer for {silent:.0f} s")
            with contextlib.suppress(TimeoutError):  # a full pipe: the silence decides
                async with asyncio.timeout(PING_S):
                    await self.send("ping", {"n": n})

    async def _lost(self) -> LinkLost:
        """The reason for the end of the pipe: the last line that ssh has printed."""
        process = self._process
        if process is None:
            return LinkLost("not connected")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await process.wait()
        lines = process.stderr_tail.strip().splitlines()
        status = process.returncode
        return LinkLost(lines[-1][:300] if lines else f"the connection ended (status {status})")

    async def _hang_up(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.close()


def _batch(body: Mapping[str, Any]) -> Batch:
    """Check records and files. Raises ProtocolError."""
    lines, rows = body.get("lines"), body.get("files")
    if not isinstance(lines, list) or not isinstance(rows, list):
        raise ProtocolError("records without lines")
    records = []
    for line in lines:
        try:
            records.append(decode_record(line))
        except (CodecError, TypeError) as e:
            raise ProtocolError(f"an unreadable record: {str(e)[:200]}") from None
    files = {}
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("path"), str):
            raise ProtocolError("a file without a path")
        files[row["path"]] = to_bytes(row.get("data"))
    return Batch(records, files, sum(map(len, lines)))

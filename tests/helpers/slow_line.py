"""A slow line: a relay on loopback that delivers each piece of data after a delay."""

from __future__ import annotations

import asyncio
import threading
from typing import Self

DELAY_S = 0.3


class SlowLine:
    """Relays TCP connections to a port of this machine, :data:`DELAY_S` late in each direction."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.received = 0
        """Bytes that the far end has sent so far."""
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        started = asyncio.start_server(self._relay, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(started, self._loop).result(60)
        self.port = server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._cancel(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)

    async def _cancel(self) -> None:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        await asyncio.gather(
            self._deliver(reader, back, counts=False), self._deliver(there, writer, counts=True)
        )

    async def _deliver(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counts: bool
    ) -> None:
        while data := await reader.read(1 << 16):
            self.received += len(data) if counts else 0
            self._loop.call_later(DELAY_S, writer.write, data)
        self._loop.call_later(DELAY_S, writer.close)

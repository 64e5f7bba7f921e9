"""Serves the screens: textual-serve's protocol and files, to visitors that :mod:`access` lets in.

Each visitor has a process of its own, as in another terminal. What it writes for its terminal goes
to the browser through a websocket, and keys come back.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import textual_serve
from aiohttp import WSCloseCode, web
from aiohttp.typedefs import Handler
from textual_serve.app_service import AppService
from textual_serve.server import Server

from fuzztui.kernel.base.text import visible
from fuzztui.tools.web.access import WebAccess
from fuzztui.tools.web.page import page, policy

MAX_VISITORS: Final = 8
"""Browsers at a time: each has a process."""

MAX_CELLS: Final = 1000
"""Maximal columns, and rows, of a browser's terminal."""

MAX_MESSAGE: Final = 1 << 16
"""Maximal bytes of a message of a browser."""

MAX_ERRORS: Final = 1 << 13
"""Maximal bytes of a visitor's stderr that are shown."""

END_S: Final = 5.0
"""Seconds after which a visitor's process that does not end is killed."""

STATIC: Final = Path(textual_serve.__file__).parent / "static"


async def _report_errors(errors: asyncio.StreamReader | None) -> None:
    """Print the first lines that a visitor's process writes to stderr, and read the others."""
    assert errors is not None
    left = MAX_ERRORS
    while data := await errors.read(1 << 12):
        for line in data[:left].decode(errors="replace").splitlines():
            with suppress(OSError):  # the server's terminal is gone
                print(f"fuzztui: a visitor's screen: {visible(line)}", file=sys.stderr)
        left -= len(data[:left])


class Visitor(AppService):
    """The process of one visitor."""

    def __init__(self, server: WebServer, websocket: web.WebSocketResponse, downloads: str) -> None:
        """``downloads``: the address to which the key of a file is added."""

        async def write_text(text: str) -> None:
            kind, what = json.loads(text)
            if kind == "deliver_file_start":  # the page would look for it without the token
                text = json.dumps(["open_url", {"url": downloads + what, "new_tab": True}])
            await websocket.send_str(text)

        super().__init__(
            "",
            write_bytes=websocket.send_bytes,
            write_str=write_text,
            close=websocket.close,  # type: ignore[arg-type]  # returns whether it was open
            download_manager=server.download_manager,
        )
        self._server = server

    async def run(self) -> None:
        """Exchange data with the process until it ends; then the page must know that, too."""
        try:
            await super().run()
        finally:
            await self.remote_close()

    async def _open_app_process(
        self, width: int = 80, height: int = 24
    ) -> asyncio.subprocess.Process:
        """Start the process by a list of words; textual-serve has a line for a shell."""
        environment = self._build_environment(*_bounded(width, height))
        self._process = process = await asyncio.create_subprocess_exec(
            *self._server.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**environment, **self._server.environment},
            start_new_session=True,  # Ctrl+C is for the server, which ends its visitors
        )
        self._stdin = process.stdin
        # textual-serve would keep all of it, and write it to the server's terminal as it is.
        errors, process.stderr = process.stderr, asyncio.StreamReader()
        process.stderr.feed_eof()
        self._errors = asyncio.create_task(_report_errors(errors))
        return process

    async def set_terminal_size(self, width: int, height: int) -> None:
        """Tell the process the size of the browser's terminal."""
        await super().set_terminal_size(*_bounded(width, height))

    async def stop(self) -> None:
        """End the process, by force after :data:`END_S`."""
        process, task = self._process, self._task
        if process is None:
            return
        await self._download_manager.cancel_app_downloads(self.app_service_id)
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await self.send_meta({"type": "quit"})
                await process.wait()
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if task is not None:
            task.cancel()
            await asyncio.wait([task])


class WebServer(Server):
    """Serves one run; textual-serve's server without its routes, its logging and its shell."""

    def __init__(
        self, access: WebAccess, run: str, argv: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        """``argv`` is what a visitor's process executes, with ``environment`` in addition."""
        super().__init__("", host=access.host)
        self._access = access
        self._run = run
        self.argv = argv
        self.environment = environment
        self._open: set[web.WebSocketResponse] = set()
        self._ending: set[asyncio.Task[None]] = set()

    def application(self) -> web.Application:
        """Return the application: nothing is served without the token."""
        root = f"/{self._access.token}"
        app = web.Application(middlewares=[self._guard])
        app.add_routes(
            [
                web.get(f"{root}/", self.handle_index),
                web.get(f"{root}/ws", self.handle_websocket),
                web.get(f"{root}/download/{{key}}", self.handle_download),
                web.static(f"{root}/static", STATIC),
            ]
        )
        app.on_response_prepare.append(self._add_policy)
        app.on_shutdown.append(self._close_all)
        app.on_cleanup.append(self._wait_for_all)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        headers = request.headers
        reason = self._access.refusal(
            request.path,
            headers.getall("Host", []),
            headers.getall("Origin", []),
            websocket="Upgrade" in headers,
        )
        if reason:
            return web.Response(status=403, text=f"{reason}\n")
        return await handler(request)

    async def _add_policy(self, request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(policy(request.host))

    async def _close_all(self, _: web.Application) -> None:
        closing = (w.close(code=WSCloseCode.GOING_AWAY) for w in self._open)
        await asyncio.gather(*closing, return_exceptions=True)  # one may not be open yet

    async def _wait_for_all(self, _: web.Application) -> None:
        await asyncio.gather(*self._ending)

    async def handle_index(self, request: web.Request) -> web.Response:
        """Serve the page."""
        socket = self._below(request, "ws").replace("http", "ws", 1)
        return web.Response(text=page(self._run, socket), content_type="text/html")

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Show the screens to a browser until it or they are closed."""
        if len(self._open) + len(self._ending) >= MAX_VISITORS:
            raise web.HTTPServiceUnavailable(text=f"{MAX_VISITORS} browsers show it already\n")
        websocket = web.WebSocketResponse(
            heartbeat=15, timeout=END_S / 2, max_msg_size=MAX_MESSAGE, compress=True
        )
        self._open.add(websocket)
        visitor = Visitor(self, websocket, self._below(request, "download/"))
        try:
            await websocket.prepare(request)
            await visitor.start(
                int(request.query.get("width", 80)), int(request.query.get("height", 24))
            )
            await self._process_messages(websocket, visitor)
        except (ValueError, TypeError, LookupError, AttributeError, AssertionError):
            await websocket.close(code=WSCloseCode.PROTOCOL_ERROR)  # no page of ours sends that
        finally:
            self._open.discard(websocket)
            # aiohttp may cancel this handler, which must not leave a process.
            ending = asyncio.create_task(visitor.stop())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            await asyncio.shield(ending)
        return websocket

    def _below(self, request: web.Request, path: str) -> str:
        return f"{self._access.origin(request.host)}/{self._access.token}/{path}"


def _bounded(width: int, height: int) -> tuple[int, int]:
    return min(max(int(width), 1), MAX_CELLS), min(max(int(height), 1), MAX_CELLS)


async def serve(
    server: WebServer, access: WebAccess, port: int, ready: Callable[[int], None]
) -> None:
    """Serve until SIGINT or SIGTERM; ``ready`` is called with the port. Raises OSError."""
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, end.set)
    # Anybody who reaches the port may send what is no request, of which aiohttp would write a log.
    silent = logging.getLogger("fuzztui.serve")
    silent.disabled = True
    loop.set_exception_handler(lambda _loop, _context: None)
    runner = web.AppRunner(
        server.application(), access_log=None, logger=silent, shutdown_timeout=2 * END_S
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, access.ip, port, ssl_context=access.tls).start()
        ready(runner.addresses[0][1])
        await end.wait()
    finally:
        await runner.cleanup()

"""``fuzztui metrics``: the figures of runs for Prometheus, as a file or over HTTP on loopback."""

from __future__ import annotations

import argparse
import ipaddress
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from fuzztui.cli.output import DONE, CliError, UsageError, say
from fuzztui.cli.runs import find_run, standing
from fuzztui.cli.status import status_object
from fuzztui.cli.watched_status import afl_directories, watched_object
from fuzztui.kernel.base.atomic import publish_text
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.tools.status.metrics import exposition

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def metrics(options: argparse.Namespace) -> int:
    """Print the figures, write them to a file, or serve them."""
    paths: Sequence[Path | None] = options.runs or [None]
    sources = [_source(path) for path in paths]

    def text() -> str:
        return exposition([source() for source in sources])

    if options.listen:
        if options.output or options.every:
            raise UsageError("--listen takes neither --output nor --every")
        _serve(options.listen, text)
    elif not options.output:
        if options.every:
            raise UsageError("--every needs --output FILE")
        print(text(), end="")
    else:
        _write(options.output, options.every, sources)
    return DONE


def _source(path: Path | None) -> Callable[[], dict[str, object]]:
    """Return a function that reads the status of a run or of an AFL output directory."""
    if path is not None and (trees := afl_directories(path)) is not None:
        from fuzztui.features.watch.snapshot import snapshot

        return lambda: watched_object(path, snapshot(trees))
    run = find_run(path)
    return lambda: status_object(run, standing(run))


def _write(
    file: Path, every_s: float | None, sources: Sequence[Callable[[], dict[str, object]]]
) -> None:
    """Replace ``file`` once, or every ``every_s`` seconds until all campaigns have ended."""
    while True:
        campaigns = [source() for source in sources]
        try:
            publish_text(file, exposition(campaigns))
        except OSError as e:
            raise CliError(f"{file}: cannot be written: {e.strerror}") from None
        if not every_s or all(campaign["state"] in ENDED for campaign in campaigns):
            return
        time.sleep(every_s)


def _serve(address: str, text: Callable[[], str]) -> None:
    """Serve ``/metrics`` at ``[ADDRESS:]PORT`` on loopback until the process is interrupted."""
    host, port = _loopback(address)

    class Handler(BaseHTTPRequestHandler):
        server_version = "fuzztui"
        sys_version = ""
        timeout = 10.0

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404, "only /metrics is served")
                return
            try:
                body = text().encode()
            except UserError as e:
                self.send_error(503, "no figures", str(e))
                return
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing for each request."""

    try:
        server = ThreadingHTTPServer((host, port), Handler)
    except OSError as e:
        raise CliError(f"--listen {address}: {e.strerror or e}") from None
    with server:
        say(f"serving http://{host}:{server.server_port}/metrics; ctrl+c ends it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def _loopback(address: str) -> tuple[str, int]:
    """Return host and port. Raises :class:`CliError` for an address of another machine."""
    host, _, port = address.rpartition(":")
    host = host or "127.0.0.1"
    try:
        local = host == "localhost" or (
            (ip := ipaddress.ip_address(host)).version == 4 and ip.is_loopback
        )
        number = int(port)
    except ValueError:
        raise UsageError(f"--listen {address}: is no PORT or 127.0.0.1:PORT") from None
    if not local or not 0 <= number < 65536:
        raise UsageError(
            f"--listen {address}: only a port on loopback (127.0.0.1) is served, because anybody "
            "who reaches the port can read the figures; forward the port over ssh"
        )
    return host, number

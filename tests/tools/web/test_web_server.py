"""The server with a made-up program in place of the screens: what it is given, and its end."""

import asyncio
import errno
import io
import json
import sys
from contextlib import asynccontextmanager

import aiohttp
import psutil
import pytest
from aiohttp.test_utils import TestClient, TestServer
from waiting import until, wait_until

from fuzztui.tools.web import server
from fuzztui.tools.web.access import WebAccess
from fuzztui.tools.web.server import WebServer

PROGRAM = r"""
import json, os, sys
def send(kind, data):
    os.write(1, kind + len(data).to_bytes(4, "big") + data)
read = sys.stdin.buffer.read
os.write(1, b"__GANGLION__\n")
about = {name: os.environ[name] for name in ("COLUMNS", "ROWS", "MARK")}
send(b"D", json.dumps({**about, "pid": os.getpid(), "argv": sys.argv[1:]}).encode())
while header := read(5):
    data = read(int.from_bytes(header[1:], "big"))
    if header[:1] == b"D":
        if data == b"e":
            os.write(2, b"\x1b]0;owned\x07 wrong\n" + b"x" * 1_000_000)
        send(b"D", b"typed " + data)
        if data == b"f":
            send(b"M", json.dumps({"type": "deliver_file_start", "key": "k1", "path": "/x/a.svg",
                 "open_method": "download", "mime_type": "image/svg+xml", "encoding": ""}).encode())
    elif json.loads(data)["type"] == "quit":
        if "stubborn" not in sys.argv: break
    else:
        send(b"D", data)
"""


@asynccontextmanager
async def serving(*words):
    access = WebAccess("127.0.0.1", "127.0.0.1", token="secret")
    argv = [sys.executable, "-c", PROGRAM, *words]
    web = WebServer(access, "run", argv, {"MARK": "1"})
    async with TestClient(TestServer(web.application())) as client:
        yield client


def websocket(client, query="", **headers):
    origin = str(client.make_url("/")).rstrip("/")
    return client.ws_connect(f"/secret/ws{query}", headers={"Origin": origin, **headers})


async def start(socket):
    return json.loads(await socket.receive_bytes())


async def test_nothing_without_the_token_and_the_page_with_it():
    async with serving() as client:
        for path in ("/", "/ws", "/static/js/textual.js", "/download/k1", "/secret", "/wrong/"):
            answer = await client.get(path)
            assert answer.status in (403, 404) and "textual" not in await answer.text()
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        page = await client.get("/secret/")
        assert page.status == 200 and f"ws://{page.url.authority}/secret/ws" in await page.text()
        for name in ("js/textual.js", "css/xterm.css", "fonts/RobotoMono-VariableFont_wght.ttf"):
            assert f"static/{name}" in await page.text()
            assert (await client.get(f"/secret/static/{name}")).status == 200
        assert (await client.get("/secret/static/../server.py")).status in (403, 404)


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Host": "evil.example"}, {"Origin": "null"}]
)
async def test_no_process_is_started_for_another_site(headers, monkeypatch):
    started = []
    monkeypatch.setattr(server.Visitor, "start", lambda *_: started.append(1))
    async with serving() as client:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await websocket(client, **headers)
        assert refused.value.status == 403 and not started


async def test_words_of_the_command_stay_words(tmp_path):
    words = ["$(touch no)", "; touch no", "a\nb", "'\"", "*"]
    async with serving(*words) as client, websocket(client) as socket:
        assert (await start(socket))["argv"] == words


async def test_keys_sizes_and_the_end():
    async with serving() as client:
        async with websocket(client, "?width=99999999&height=-5") as socket:
            about = await start(socket)
            assert (about["COLUMNS"], about["ROWS"], about["MARK"]) == ("1000", "1", "1")
            await socket.send_json(["stdin", "x"])
            assert await socket.receive_bytes() == b"typed x"
            await socket.send_json(["resize", {"width": 10**9, "height": 7}])
            size = json.loads(await socket.receive_bytes())
            assert (size["width"], size["height"]) == (1000, 7)
        await until(lambda: not psutil.pid_exists(about["pid"]))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "7", '["stdin"]', '["resize", 3]', '["resize", {"width": "a"}]']
)
async def test_a_message_of_no_page_ends_the_connection(text):
    async with serving() as client, websocket(client) as socket:
        about = await start(socket)
        await socket.send_str(text)
        async for _ in socket:
            pass
        assert socket.close_code == aiohttp.WSCloseCode.PROTOCOL_ERROR
        await until(lambda: not psutil.pid_exists(about["pid"]))


async def test_a_stubborn_process_is_killed(monkeypatch):
    monkeypatch.setattr(server, "END_S", 0.1)
    async with serving("stubborn") as client:
        async with websocket(client) as socket:
            about = await start(socket)
        await until(lambda: not psutil.pid_exists(about["pid"]))


async def test_no_more_processes_than_there_may_be(monkeypatch):
    monkeypatch.setattr(server, "MAX_VISITORS", 1)
    async with serving() as client:
        async with websocket(client) as socket:
            about = await start(socket)
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await websocket(client)
            assert refused.value.status == 503
        await until(lambda: not psutil.pid_exists(about["pid"]))

        async def opens():
            try:
                return await websocket(client)
            except aiohttp.WSServerHandshakeError:
                return None

        await (await until(opens)).close()


async def test_a_file_is_fetched_with_the_token():
    async with serving() as client, websocket(client) as socket:
        await start(socket)
        await socket.send_json(["stdin", "f"])
        assert await socket.receive_bytes() == b"typed f"
        kind, what = await socket.receive_json()
        assert kind == "open_url" and what["url"].endswith("/secret/download/k1")
        assert (await client.get("/download/k1")).status == 403
        getting = asyncio.create_task(client.get("/secret/download/k1"))
        asked = json.loads(await socket.receive_bytes())
        assert (asked["type"], asked["key"]) == ("deliver_chunk_request", "k1")
        getting.cancel()


async def test_at_the_end_of_the_server_its_processes_end():
    async with serving() as client:
        sockets = [await websocket(client) for _ in range(2)]
        abouts = [await start(socket) for socket in sockets]
    wait_until(lambda: not any(psutil.pid_exists(about["pid"]) for about in abouts))


async def test_a_process_that_ends_without_a_message_ends_the_connection():
    async with serving() as client, websocket(client) as socket:
        about = await start(socket)
        psutil.Process(about["pid"]).kill()
        async for _ in socket:
            pass
        assert socket.closed


async def test_errors_of_a_process_are_shown_escaped_and_only_their_beginning(capfd):
    async with serving() as client, websocket(client) as socket:
        await start(socket)
        await socket.send_json(["stdin", "e"])
        assert await socket.receive_bytes() == b"typed e"
    shown = capfd.readouterr()
    assert "a visitor's screen: " in shown.err
    assert "wrong" in shown.err
    assert "\x1b" not in shown.err + shown.out
    assert server.MAX_ERRORS // 2 < len(shown.err) < 2 * server.MAX_ERRORS
    assert not shown.out


async def test_errors_of_a_process_are_read_also_if_they_cannot_be_shown(monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise OSError(errno.EIO, "the terminal is gone")

    monkeypatch.setattr(sys, "stderr", Closed())
    errors = asyncio.StreamReader()
    errors.feed_data(b"wrong\n" * 100_000)
    errors.feed_eof()
    await server._report_errors(errors)
    assert errors.at_eof()

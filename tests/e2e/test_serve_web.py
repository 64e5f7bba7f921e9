"""``fuzztui serve`` as a process: in a real browser, its end, names that a shell would execute."""

import asyncio
import os
import re
import signal
import ssl
import subprocess
from contextlib import asynccontextmanager

import aiohttp
import psutil
import pytest
from chromium import CHROMIUM, opened
from homes import FUZZTUI
from run_logs import run_with
from skipped import needs
from waiting import until, wait_until

from fuzztui.features.jobs.tls import CERT, KEY, make_certificates
from fuzztui.kernel.wire import events as ev

pytestmark = pytest.mark.slow

HOSTILE = "$(touch no) ;touch no; `touch no` <b>&'\""


@pytest.fixture
def run(tmp_path):
    return run_with(
        tmp_path / "runs" / HOSTILE,
        ev.CampaignStarted("crate", "zest"),
        ev.CampaignState("running"),
        ev.CampaignState("finished"),
    )


class Served:
    """One ``fuzztui serve``."""

    def __init__(self, run, *options):
        # Another group, which a shell would interrupt as a whole.
        self.process = subprocess.Popen(
            [FUZZTUI, "serve", str(run), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=run.parent, start_new_session=True,
        )  # fmt: skip
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.stderr.read()

    @property
    def visitors(self):
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self, signum):
        left = self.visitors
        self.process.send_signal(signum)
        self.process.wait()
        wait_until(lambda: not any(p.is_running() for p in left), lambda: left)
        return self.process.returncode


@pytest.fixture
def served(run):
    """``served(*options)``: serves ``run``; killed at the end if it still runs."""
    started = []

    def start(*options):
        started.append(Served(run, *options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.end(signal.SIGKILL)
        one.process.communicate()


@asynccontextmanager
async def watching(url, **options):
    """A websocket that has been sent the Overview."""
    origin = re.match(r"\w+://[^/]+", url)[0]
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{url}ws", headers={"Origin": origin}, **options) as socket,
    ):
        seen = b""
        while b"Overview" not in seen:
            seen += (await socket.receive()).data
        yield socket


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
async def test_a_browser_shows_the_screens_and_keys_change_them(served, run, tmp_path):
    profile = tmp_path / "profile"
    profile.mkdir()
    async with opened(served().url, profile) as page:
        await page.until_shows("Overview")
        await page.until_shows("FINISHED")
        assert await page.value("document.title") == f"{HOSTILE} - fuzztui"
        await page.type("5")
        await page.until_shows("v Fields")  # of the log
        assert len(await page.picture()) > 20_000  # letters are drawn, not only a background
        assert page.problems == []
        await page.type("q")
        await until(lambda: page.value("document.body.classList.contains('-closed')"))
    assert [path.name for path in run.parent.iterdir()] == [HOSTILE]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
async def test_it_ends_with_its_visitors(served, signum):
    server = served()
    async with watching(server.url) as socket:
        assert len(server.visitors) == 1
        ending = asyncio.create_task(asyncio.to_thread(server.end, signum))
        async for _ in socket:
            pass
        assert socket.close_code == aiohttp.WSCloseCode.GOING_AWAY
        assert await ending == 0


async def test_no_visitor_survives_a_killed_server(served):
    server = served()
    async with watching(server.url):
        assert await asyncio.to_thread(server.end, signal.SIGKILL) == -signal.SIGKILL


async def test_visitors_change_nothing_of_the_user(served, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    async with watching(served().url) as socket:
        for key in ("T", "j", "\r"):
            await socket.send_json(["stdin", key])
        seen = b""
        while b"Theme" not in seen:
            seen += (await socket.receive()).data
        await socket.send_json(["stdin", "q"])
        async for _ in socket:
            pass
    assert not (tmp_path / "state").exists()


async def test_a_picture_is_downloaded(served):
    server = served("--steer")
    async with watching(server.url) as socket:
        assert "--read-only" not in server.visitors[0].cmdline()
        for key in ("\x10", *"SVG"):
            await socket.send_json(["stdin", key])
        seen = b""
        while b"Save this screen" not in seen:
            seen += (await socket.receive()).data
        await socket.send_json(["stdin", "\r"])
        while (message := await socket.receive()).type != aiohttp.WSMsgType.TEXT:
            pass
        kind, what = message.json()
        assert kind == "open_url"
        async with aiohttp.ClientSession() as session, session.get(what["url"]) as answer:
            assert answer.headers["Content-Disposition"].startswith("attachment; filename=fuzztui-")
            assert (await answer.text()).startswith("<svg")


@needs("cluster")  # makes the certificate
async def test_by_tls(served, tmp_path):
    make_certificates(tmp_path / "tls")
    files = ("--cert", str(tmp_path / "tls" / CERT), "--key", str(tmp_path / "tls" / KEY))
    server = served(*files)
    assert server.url.startswith("https://127.0.0.1:")
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    async with watching(server.url, ssl=trusting):
        assert "--read-only" in server.visitors[0].cmdline()


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (["--host", "192.0.2.1"], "--cert FILE and --key FILE"),
        (["--port", "99999"], "0 to 65535"),
        (["--port", "{used}"], "--port 0 takes a free one"),
    ],
)
def test_what_cannot_be_served(served, run, options, wrong):
    used = served().url.rpartition(":")[2].partition("/")[0]
    argv = [FUZZTUI, "serve", str(run), *(word.format(used=used) for word in options)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode in (1, 2) and wrong in done.stderr and not done.stdout

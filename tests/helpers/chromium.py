"""A headless Chromium that a test drives: loads a page, types keys, sees what a terminal gets."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
import signal
import subprocess
from contextlib import asynccontextmanager
from itertools import count

from waiting import until

_NAMES = ("chromium", "chromium-headless-shell", "google-chrome")

CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), "")

_ESCAPES = re.compile(r"\x1b(?:\[[\d;?<>]*[a-zA-Z$]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


class Page:
    """One tab, by the browser's own protocol."""

    def __init__(self, socket):
        self._socket = socket
        self._numbers = count(1)
        self._answers = {}
        self.seen = ""
        """What the terminal in the page was sent, without escape sequences."""
        self.problems = []
        """Messages of the page's console about errors."""

    async def read(self):
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                self._answers.pop(said["id"]).set_result(said)
                continue
            what = said.get("params", {})
            if said["method"] == "Network.webSocketFrameReceived":
                frame = what["response"]
                if frame["opcode"] == 2:
                    text = base64.b64decode(frame["payloadData"]).decode(errors="replace")
                    self.seen += _ESCAPES.sub("", text)
            elif said["method"] == "Log.entryAdded" and what["entry"]["level"] == "error":
                self.problems.append(what["entry"]["text"])
            elif said["method"] == "Runtime.exceptionThrown":
                self.problems.append(json.dumps(what["exceptionDetails"]))

    async def call(self, method, **params):
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params})
        return (await answer).get("result", {})

    async def type(self, key):
        await self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def value(self, expression):
        done = await self.call("Runtime.evaluate", expression=expression)
        return done["result"].get("value")

    async def picture(self):
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])

    async def until_shows(self, text):
        await until(lambda: text in self.seen, lambda: (self.seen[-2000:], self.problems))


@asynccontextmanager
async def opened(url, profile):
    """A page of a new browser, with its files in ``profile``; needs the extra ``web``."""
    import aiohttp

    errors = profile / "errors"
    with errors.open("wb") as file:
        process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-dev-shm-usage",
             "--enable-unsafe-swiftshader", "--no-first-run", "--ignore-certificate-errors",
             "--window-size=1200,800", "--remote-debugging-port=0", f"--user-data-dir={profile}",
             "about:blank"],
            stdout=subprocess.DEVNULL, stderr=file, start_new_session=True,
        )  # fmt: skip
    port = profile / "DevToolsActivePort"
    try:
        await until(lambda: port.exists() and port.read_text().count("\n"), errors.read_text)
        base = f"http://127.0.0.1:{port.read_text().split()[0]}"
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{base}/json/list") as answer:
                tabs = await answer.json(content_type=None)
            (where,) = [tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page"]
            async with session.ws_connect(where, max_msg_size=0) as socket:
                page = Page(socket)
                reader = asyncio.create_task(page.read())
                for domain in ("Network", "Page", "Log", "Runtime"):
                    await page.call(f"{domain}.enable")
                await page.call("Page.navigate", url=url)
                yield page
                reader.cancel()
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # the command may be a script
        process.wait()

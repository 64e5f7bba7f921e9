"""Home screens over made-up runs."""

from __future__ import annotations

from contextlib import ExitStack, asynccontextmanager, contextmanager
from copy import copy
from dataclasses import replace

import waiting
from home_runs import make_run

from fuzztui.kernel.log.files import SEALED
from fuzztui.kernel.remote.lock import RunLock
from fuzztui.run.home.listing import RunList
from fuzztui.tui.app.home import HomeApp, HomeOpening
from fuzztui.tui.base.themes import load_themes
from fuzztui.tui.frame.command_sender import CommandOutcome
from fuzztui.tui.screens.home.lines import SampleRow


class Sender:
    """Notes what is sent."""

    def __init__(self):
        self.sent = []

    def __call__(self, run):
        sender = copy(self)
        sender.run = run
        return sender

    async def send(self, command, **_):
        self.sent.append((self.run, command))
        return CommandOutcome("applied")


@contextmanager
def some_runs(place):
    """Two that run, one that was interrupted, one that has ended, one that cannot be read."""
    make_run(place / "ended", wall=1e9, finds=2, kind="mu2")
    make_run(place / "broken", wall=1e9)
    (place / "broken/log" / SEALED).unlink()
    (place / "broken/log" / SEALED).mkdir()
    make_run(place / "cut", wall=1e9 + 50, state="")
    with ExitStack() as stack:
        for name in ("one", "two"):
            stack.callback(RunLock(make_run(place / name, wall=1e9 + 100, state="")).release)
        yield place


def home(place, problems=(), **changes):
    started: list[list[str]] = []

    def start(argv):
        started.append([*argv])
        return ""

    opening = HomeOpening(
        RunList([place]), start, lambda: [SampleRow("a-zest.toml", "A sample", "AFL++")],
        sender=Sender(), wall=lambda: 1e9 + 200.0,
    )  # fmt: skip
    app = HomeApp(replace(opening, **changes), load_themes()[0], "midwatch", problems)
    app.started = started
    return app


async def until(pilot, done):
    async def shown():
        await pilot.pause()
        return done()

    await waiting.until(shown)


def read(app):
    return app._seen.rows and not app._seen.left


@asynccontextmanager
async def opened(place, *, size=(80, 24), **changes):
    """A home screen that has read all runs, and its pilot."""
    app = home(place, **changes)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: read(app))
        yield app, pilot


def picture_of(app):
    return "\n".join(
        "".join(segment.text for segment in line).rstrip()
        for line in app.screen._compositor.render_strips()
    )

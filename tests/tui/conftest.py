"""Pilots over made-up campaigns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes import World, world
from textual.pilot import Pilot

from fuzztui.tui.screens.base import CampaignScreen
from fuzztui.tui.widgets.table import BigTable


@dataclass
class Driver:
    """A pilot with a world."""

    world: World
    pilot: Pilot

    @property
    def app(self):
        return self.world.app

    @property
    def screen(self) -> CampaignScreen:
        screen = self.app.screen
        assert isinstance(screen, CampaignScreen)
        return screen

    @property
    def table(self) -> BigTable:
        return self.screen.query_one(BigTable)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause()

    async def until(self, condition: Callable[[], object]) -> None:
        """Let the application work until ``condition`` holds."""
        for _ in range(400):
            await self.pilot.pause()
            if condition():
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"it never happened; the screen shows\n{self.text()}")

    async def ready(self) -> None:
        """The whole log was taken in."""
        await self.until(lambda: self.world.session.state.seq == self.expected())
        await self.pilot.pause()

    def expected(self) -> int:
        clock = self.world.clock
        records = self.world.log.records
        return sum(clock is None or r.t <= clock.now() for r in records)

    def lines(self) -> list[str]:
        """What the terminal shows, as text."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    def text(self) -> str:
        return "\n".join(self.lines())

    def notices(self) -> list[str]:
        return [n.message for n in self.app._notifications]


@pytest.fixture
def drive(tmp_path: Path):
    """``async with drive(log, ...) as d``: an application under a pilot."""

    @asynccontextmanager
    async def start(log, *, size=(120, 40), wait=True, **options) -> AsyncIterator[Driver]:
        w = world(log, options.pop("run", tmp_path), **options)
        async with w.app.run_test(size=size) as pilot:
            driver = Driver(w, pilot)
            if wait:
                await driver.ready()
            yield driver

    return start

"""No log makes a screen fail: any records in any order, on all screens, at any size."""

from __future__ import annotations

import random

import pytest
from examples import examples
from fakes import Log
from random_logs import random_log

from fuzztui.kernel.model.state import State

SCREENS = "1234567"
SIZES = [(120, 40), (80, 24), (60, 20), (200, 60), (40, 12), (110, 34), (24, 7)]
KEYS = [
    "down", "up", "G", "g", "pagedown", "enter", "escape", "tab", "s", "S", "slash", "v", "f", "i",
    "l", "h", "backspace", "c", "C", "e", "m", "d", "u", "question_mark", "j", "k", "E", "r", "A",
]  # fmt: skip
REPLAY = [
    "space", "left", "right", "comma", "full_stop", "ctrl+home", "ctrl+end", "plus", "minus",
]  # fmt: skip


def clean(text: str) -> bool:
    return all(ch.isprintable() or ch == "\n" for ch in text)


async def show(d, seed: int) -> None:
    """Show log ``seed`` in the application that runs, and press keys on every screen."""
    rng = random.Random(seed)
    world = d.world
    world.log.records = records = random_log(seed)
    world.log.t = records[-1].t if records else 0.0
    world.session.state = State()
    if world.clock is not None:
        world.clock.t = world.log.t * rng.random()
    if rng.random() < 0.1:  # it costs as much as a whole screen
        await d.pilot.resize_terminal(*rng.choice(SIZES))
    d.app.nudge()
    for screen in rng.sample(SCREENS, len(SCREENS)):
        keys = rng.choices(KEYS + (2 * REPLAY if world.clock else []), k=rng.randint(1, 3))
        if "slash" in keys:
            keys += ["slash", *rng.choices(["a", "0", "left_square_bracket"], k=2), "enter"]
        await d.press(screen, *keys)
        if rng.random() < 0.4:
            assert clean(d.text())
        await d.pilot.press("escape")
    assert d.app._feed_problem == ""
    assert d.app._exception is None


async def show_all(drive, seeds: range, replay: bool) -> None:
    async with drive(Log(), wait=False, replay_at=0.0 if replay else None) as d:
        for seed in seeds:
            await show(d, seed)


@pytest.mark.parametrize("replay", [False, True])
async def test_a_few_random_logs(drive, replay):
    await show_all(drive, range(2), replay)


@pytest.mark.slow
@pytest.mark.parametrize("replay", [False, True])
@pytest.mark.parametrize("part", range(3))
async def test_many_random_logs(drive, part, replay):
    """One application shows several, as a user opens one run after the other."""
    count = examples(20)
    start = 2 + (2 * part + replay) * count
    await show_all(drive, range(start, start + count), replay)

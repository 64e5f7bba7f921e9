"""How the screens look, as text. ``pytest --snapshot-update`` after a change that is meant."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import pytest
from aimed import aimed
from fakes import Log, running, started
from fleet import fleet, fleets
from hosted import HubLog, hosted
from mixed import mixed
from mutated import analysis, mutated
from sourced import sourced
from test_yields import compared
from turnlog import midway, on_target

from fuzztui.kernel.wire.events import CampaignStarted, PassiveInstance
from fuzztui.machines.siblings.fold import SiblingState
from fuzztui.tui.frame.box import BoxScreen

NARROW, USUAL, VAST = (80, 24), (120, 40), (220, 60)


@dataclass
class Picture:
    """A screen of a campaign, once it shows a text: the options of its application, and keys."""

    size: tuple[int, int]
    campaign: Callable[[], Log | HubLog]
    keys: str = "1"
    shows: str = "0:10:00"
    options: dict[str, object] = field(default_factory=dict)


def text_engine(instances):
    return lambda: mixed(instances=instances, adaptive=len(instances) > 1)


def hosts(many, each, *lost):
    return lambda: hosted(many, each, lost=lost)


def with_sibling():
    log = fleet(2).add(PassiveInstance("libfuzzer", "/lf/corpus", 118))
    return log.add(SiblingState("libfuzzer", 130, 118, 77, 2, 600.0))


MAIN, THREE = ("main",), ("main", "s1", "s2")
PINNED = partial(aimed, pin=True)
WATCHED = {"control": False}
PICTURES = {
    "overview-80x24": Picture(NARROW, running),
    "overview-120x40": Picture(USUAL, running),
    "corpus-80x24": Picture(NARROW, running, "2"),
    "findings-120x40": Picture(USUAL, running, "3"),
    "log-80x24": Picture(NARROW, running, "5", "#96"),
    "replay-80x24": Picture(NARROW, running, options={"replay_at": 301.0}),
    "mutants-80x24": Picture(NARROW, mutated, "4jjjj", "18 │"),
    "mutants-120x40": Picture(USUAL, mutated, "4jjjj", "18 │"),
    "survivors-80x24": Picture(NARROW, mutated, "4v", "28 │"),
    "overview-mu2-80x24": Picture(NARROW, mutated),
    "overview-mu2-120x40": Picture(USUAL, mutated),
    "overview-mu2-220x60": Picture(VAST, mutated),
    "first-mutants-80x24": Picture(NARROW, midway, "4", "13 │"),
    "first-mutants-120x40": Picture(USUAL, midway, "4", "13 │"),
    "first-overview-80x24": Picture(NARROW, midway, shows="0:15:37"),
    "first-overview-target-120x40": Picture(USUAL, on_target, shows="0:40:38"),
    "afl-120x40": Picture(USUAL, fleet, "j", "0:15:00"),
    "afl-80x24": Picture(NARROW, fleet, "j", "0:15:00"),
    "afl-220x60": Picture(VAST, fleet, "j", "0:15:00"),
    "afl-two-80x24": Picture(NARROW, partial(fleet, 2), "j", "0:15:00"),
    "sibling-120x40": Picture(USUAL, with_sibling, "jjj", "exchanged"),
    "watched-120x40": Picture(USUAL, partial(fleet, watched=True), "j", "0:15:00", WATCHED),
    "watched-80x24": Picture(NARROW, partial(fleet, watched=True), "j", "0:15:00", WATCHED),
    "targets-80x24": Picture(NARROW, partial(fleets, 3), shows="0:00:10", options=WATCHED),
    "targets-120x40": Picture(USUAL, partial(fleets, 3), shows="0:00:10", options=WATCHED),
    "operators-80x24": Picture(NARROW, text_engine(MAIN), "6j"),
    "operators-120x40": Picture(USUAL, text_engine(THREE), "6j"),
    "overview-text-80x24": Picture(NARROW, text_engine(THREE), "1j"),
    "overview-text-120x40": Picture(USUAL, text_engine(MAIN), "1j"),
    "types-80x24": Picture(NARROW, aimed, "7"),
    "types-targets-80x24": Picture(NARROW, PINNED, "7t"),
    "types-120x40": Picture(USUAL, aimed, "7"),
    "overview-spoton-80x24": Picture(NARROW, PINNED),
    "overview-spoton-120x40": Picture(USUAL, aimed),
    "overview-spoton-220x60": Picture(VAST, aimed),
    "hosts-80x24": Picture(NARROW, hosts(3, 2, "h2"), ""),
    "hosts-120x40": Picture(USUAL, hosts(3, 2, "h2"), ""),
    "hosts-220x60": Picture(VAST, hosts(4, 8, "h2"), ""),
    "hosts-table-80x24": Picture(NARROW, hosts(3, 2, "h2"), "t"),
    "hosts-table-120x40": Picture(USUAL, hosts(50, 4, "h2", "h7"), "t"),
    "hosts-log-80x24": Picture(NARROW, hosts(3, 2, "h2"), "5"),
}
"""Small, usual and large terminals: all screens, and the Overview of each kind of campaign."""


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
async def test_screen(drive, picture, name):
    of = PICTURES[name]
    # Without a run, as its path would be another one each time.
    async with drive(of.campaign(), size=of.size, run=None, press=of.keys, **of.options) as d:
        await d.until_shows(of.shows)
        if d.world.clock is not None:
            await d.until(lambda: d.app.marks)
        await d.still()
        if name.startswith("hosts"):
            await d.press("j")  # not before the table has its height: the rows would be scrolled
            await d.still()
        assert d.text() + "\n" == picture


# The source of a campaign with mutants: the keys pressed there, the moment of a replay, a theme.
SOURCES = {
    "source-80x24": (NARROW, ("8",), None, "midwatch"),
    "source-code-80x24": (NARROW, ("8", "enter"), None, "midwatch"),
    "source-120x40": (USUAL, ("8", "enter", "n"), None, "midwatch"),
    "source-220x60": (VAST, ("8", "t", "n"), None, "daylight"),
    "source-replay-120x40": (USUAL, ("8", "enter"), 150.0, "daylight"),
}


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_yields(drive, picture, size):
    async with drive(compared(), size=size, run=None, press="2") as d:
        await d.still()  # a dialog keeps the picture of the screen behind it
        await d.press("v")
        await d.until(lambda: isinstance(d.app.screen, BoxScreen))
        await d.still()
        assert d.text() + "\n" == picture


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.slow
async def test_the_source(name, drive, picture):
    size, keys, at, theme = SOURCES[name]
    async with drive(sourced(goal=True), size=size, replay_at=at, theme=theme, run=None) as d:
        for key in keys:
            await d.press(key)
            await d.until(lambda: d.screen.code.rows.total)
        await d.still()
        assert d.text() + "\n" == picture


@pytest.mark.slow
async def test_an_exact_pass(drive, picture):
    log = mutated().add(CampaignStarted("c", "mu2", "m:f", budget_s=300.0))
    stats = analysis("main", 600, phase="exact", unsettled=1234, left_s=95.0, pass_share=0.25)
    log.add(stats, dt=1.0)
    async with drive(log, size=(120, 40), run=None, press="4", shows="5 │") as d:
        await d.still()
        assert d.text() + "\n" == picture


async def test_the_first_second(drive, picture):
    async with drive(started(), size=(80, 24), run=None) as d:
        await d.still()
        assert d.text() + "\n" == picture

"""How the screens look, as text. ``pytest --snapshot-update`` after a change that is meant."""

import pytest
from aimed import aimed
from fakes import running, started
from fleet import fleet
from hosted import hosted
from mixed import mixed
from mutated import analysis, mutated
from sourced import sourced
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from test_yields import compared
from turnlog import midway, on_target

from fuzztui.kernel.wire.events import CampaignStarted
from fuzztui.tui.frame.box import BoxScreen


class TextFile(SingleFileSnapshotExtension):
    """One readable file for each picture."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def picture(snapshot):
    return snapshot.use_extension(TextFile)


# What steers the picture: terminal, screen, and the moment of a replay (None: live).
CASES = {
    "overview-80x24": ((80, 24), "1", None),
    "overview-120x40": ((120, 40), "1", None),
    "corpus-80x24": ((80, 24), "2", None),
    "findings-120x40": ((120, 40), "3", None),
    "log-80x24": ((80, 24), "5", None),
    "replay-80x24": ((80, 24), "1", 301.0),
}


# The same of a campaign with mutants.
MUTATED = {
    "mutants-80x24": ((80, 24), "4"),
    "mutants-120x40": ((120, 40), "4"),
    "survivors-80x24": ((80, 24), "v"),
    "overview-mu2-80x24": ((80, 24), "1"),
    "overview-mu2-120x40": ((120, 40), "1"),
    "overview-mu2-220x60": ((220, 60), "1"),
}


# The same of one that fuzzes mutants first: whether the target's turn has come.
FIRST = {
    "first-mutants-80x24": ((80, 24), "4", False),
    "first-mutants-120x40": ((120, 40), "4", False),
    "first-overview-80x24": ((80, 24), "1", False),
    "first-overview-target-120x40": ((120, 40), "1", True),
}


# Fleets of afl-fuzz: how many, whether they are only watched.
FLEETS = {
    "afl-120x40": ((120, 40), 50, False),
    "afl-80x24": ((80, 24), 50, False),
    "afl-220x60": ((220, 60), 50, False),
    "afl-two-80x24": ((80, 24), 2, False),
    "watched-120x40": ((120, 40), 50, True),
    "watched-80x24": ((80, 24), 50, True),
}


# The source of a campaign with mutants: the keys pressed there, the moment of a replay, a theme.
SOURCES = {
    "source-80x24": ((80, 24), ("8",), None, "midwatch"),
    "source-code-80x24": ((80, 24), ("8", "enter"), None, "midwatch"),
    "source-120x40": ((120, 40), ("8", "enter", "n"), None, "midwatch"),
    "source-220x60": ((220, 60), ("8", "t", "n"), None, "daylight"),
    "source-replay-120x40": ((120, 40), ("8", "enter"), 150.0, "daylight"),
}


# The same of a text engine: one instance and a fixed mixture, or three and an adaptive one.
MIXED = {
    "operators-80x24": ((80, 24), "6", 1),
    "operators-120x40": ((120, 40), "6", 3),
    "overview-text-80x24": ((80, 24), "1", 3),
    "overview-text-120x40": ((120, 40), "1", 1),
}


# The same of an engine that aims at types: keys, whether a target is pinned.
AIMED = {
    "types-80x24": ((80, 24), "7", False),
    "types-targets-80x24": ((80, 24), "7 t", True),
    "types-120x40": ((120, 40), "7", False),
    "overview-spoton-80x24": ((80, 24), "1", True),
    "overview-spoton-120x40": ((120, 40), "1", False),
    "overview-spoton-220x60": ((220, 60), "1", False),
}


# Campaigns on hosts, of which one or two are lost: how many, instances on each, keys.
HOSTED = {
    "hosts-80x24": ((80, 24), 3, 2, ""),
    "hosts-120x40": ((120, 40), 3, 2, ""),
    "hosts-220x60": ((220, 60), 4, 8, ""),
    "hosts-table-80x24": ((80, 24), 3, 2, "t"),
    "hosts-table-120x40": ((120, 40), 50, 4, "t"),
    "hosts-log-80x24": ((80, 24), 3, 2, "5"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTED)
async def test_screen_with_hosts(drive, picture, name):
    size, many, each, keys = HOSTED[name]
    lost = [host for host in ("h2", "h7") if int(host[1:]) <= many]
    async with drive(hosted(many, each, lost=lost), size=size, run=None, press=keys) as d:
        await d.until_shows("0:10:00")
        await d.still()
        await d.press("j")  # not before the table has its height: the rows would be scrolled
        await d.still()
        assert d.text() + "\n" == picture


@pytest.mark.slow
@pytest.mark.parametrize("name", AIMED)
async def test_screen_of_spoton(drive, picture, name):
    size, keys, pin = AIMED[name]
    async with drive(aimed(pin=pin), size=size, run=None, press=keys.split()) as d:
        await d.until_shows("0:10:00")
        await d.still()
        assert d.text() + "\n" == picture


@pytest.mark.slow
@pytest.mark.parametrize("name", MIXED)
async def test_screen_of_a_text_engine(drive, picture, name):
    size, key, many = MIXED[name]
    instances = ("main", "s1", "s2")[:many]
    async with drive(mixed(instances=instances, adaptive=many > 1), size=size, run=None) as d:
        await d.press(key, "j")
        await d.until_shows("0:10:00")
        await d.still()
        assert d.text() + "\n" == picture


@pytest.mark.slow
@pytest.mark.parametrize("name", FLEETS)
async def test_screen_of_afl(drive, picture, name):
    size, many, watched = FLEETS[name]
    async with drive(fleet(many, watched=watched), size=size, run=None, control=not watched) as d:
        await d.press("j")
        await d.until_shows("0:15:00")
        await d.still()
        assert d.text() + "\n" == picture


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATED)
async def test_screen_of_mu2(drive, picture, name):
    size, key = MUTATED[name]
    async with drive(mutated(), size=size, run=None, press={"v": "4v"}.get(key, key)) as d:
        if key == "4":
            await d.press("j", "j", "j", "j")
            await d.until_shows("18 │")
        if key == "v":
            await d.until_shows("28 │")
        await d.until_shows("0:10:00")
        await d.still()
        assert d.text() + "\n" == picture


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST)
async def test_screen_of_fuzz_first(drive, picture, name):
    size, key, target = FIRST[name]
    log = on_target() if target else midway()
    async with drive(log, size=size, run=None, press=[key]) as d:
        if key == "4":
            await d.until_shows("13 │")
        await d.until(lambda: ("0:40:38" if target else "0:15:37") in d.text())
        await d.still()
        assert d.text() + "\n" == picture


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
async def test_screen(drive, picture, name):
    size, key, replay_at = CASES[name]
    run = None  # the path would be another one each time
    async with drive(running(), size=size, replay_at=replay_at, run=run, press=[key]) as d:
        if key == "5":
            await d.until_shows("#96")
        if replay_at is not None:
            await d.until(lambda: d.app.marks)
        await d.until_shows("0:10:00")
        await d.still()
        assert d.text() + "\n" == picture


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
    log = mutated()
    log.add(CampaignStarted("c", "mu2", "m:f", budget_s=300.0))
    stats = analysis("main", 600, phase="exact", unsettled=1234, left_s=95.0, pass_share=0.25)
    log.add(stats, dt=1.0)
    async with drive(log, size=(120, 40), run=None, press="4") as d:
        await d.until_shows("5 │")
        await d.still()
        assert d.text() + "\n" == picture


async def test_the_first_second(drive, picture):
    async with drive(started(), size=(80, 24), run=None) as d:
        await d.still()
        assert d.text() + "\n" == picture

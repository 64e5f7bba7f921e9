"""The tour of the screens: offered once, never in the way, each card next to what it explains."""

import pytest
from fakes import running
from textual.containers import Vertical

from fuzztui.kernel.wire import events as ev
from fuzztui.tui.app.config import Config
from fuzztui.tui.app.help import HelpScreen
from fuzztui.tui.app.tour import STEPS, TOURED, TourScreen
from fuzztui.tui.base.config_file import ConfigFile, parse_config
from fuzztui.tui.base.user_state import ViewOptions
from fuzztui.tui.screens.overview.screen import OverviewScreen


def offers(driver):
    return [notice for notice in driver.notices() if "First time here?" in notice]


async def test_it_is_offered_once_by_a_notice_with_its_key(drive):
    choices = ViewOptions()
    for expected in (1, 0):
        async with drive(running(9), tour=True, choices=choices) as d:
            assert len(offers(d)) == expected
            assert isinstance(d.app.screen, OverviewScreen), "nothing is in the way"
        assert TOURED in choices


def test_the_offer_is_remembered_for_the_next_start(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    choices = ViewOptions(stored=True)
    assert TOURED not in choices
    choices.set(TOURED, True)
    choices.store()
    assert TOURED in ViewOptions(stored=True)


@pytest.mark.parametrize(
    "options",
    [
        {"tour": False},
        {"config": Config(ConfigFile(tour=False))},
        {"read_only": "opened with --read-only", "control": False},
        {"replay_at": 5.0},
    ],
)
async def test_some_are_not_offered_it(drive, options):
    choices = ViewOptions()
    async with drive(running(9), choices=choices, **{"tour": True, **options}) as d:
        assert not offers(d)
    assert TOURED not in choices


async def test_results_are_not_covered_by_the_offer(drive):
    log = running(9).add(ev.CampaignEnded("finished", "the budget is used up"))
    async with drive(log, tour=True) as d:
        assert not offers(d)
        assert TOURED not in d.app.choices, "the next start of a running campaign has it"


async def test_no_browser_is_offered_it(drive, monkeypatch):
    monkeypatch.setattr("fuzztui.tui.app.app.FuzzApp.is_web", True)
    async with drive(running(9), tour=True) as d:
        assert not offers(d)


def test_the_configuration_switches_the_offer_off():
    assert parse_config("tour = false", [], {})[0].tour is False
    found, problems = parse_config('tour = "no"', [], {})
    assert found.tour
    assert problems == [("tour", "'no' is not true or false")]


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (220, 60), (40, 12)])
async def test_each_card_is_next_to_its_part(drive, size):
    async with drive(running(60), size=size, press="4H") as d:
        await d.until(lambda: isinstance(d.app.screen, TourScreen))
        overview = d.app.screen_stack[0]
        assert isinstance(overview, OverviewScreen), "it has the parts"
        for n, (selector, title, _) in enumerate(STEPS, 1):
            card = d.app.screen.query_one(Vertical)
            assert f"{n} of 5: {title}" in str(card.border_title)
            part = overview.query(selector).first()
            there = part.display and part.region.height and size[1] >= 24
            assert not there or not card.region.overlaps(part.region) or selector == "EventList"
            assert card.region in d.app.screen.region, "all of the card is on the screen"
            await d.press("enter")
        assert isinstance(d.app.screen, OverviewScreen), "and the tour is over"


async def test_one_can_go_back_and_leave_at_any_step(drive):
    async with drive(running(9), press="H") as d:
        await d.press("enter", "enter", "left")
        assert "2 of 5" in d.text()
        await d.press("left", "left", "left")
        assert "1 of 5" in d.text()
        await d.press("enter", "escape")
        assert isinstance(d.app.screen, OverviewScreen)


async def test_the_card_follows_a_resize(drive):
    async with drive(running(60), size=(120, 40), press="H") as d:
        await d.press("enter", "enter", "enter")
        await d.pilot.resize_terminal(80, 24)
        await d.until(lambda: d.app.screen.query_one(Vertical).region.bottom == 23)


async def test_a_terminal_of_a_few_columns_is_no_error(drive):
    async with drive(running(9), size=(6, 12), press="H") as d:
        await d.until(lambda: isinstance(d.app.screen, TourScreen))
        await d.press("enter")


async def test_help_and_palette_lead_to_it(drive):
    async with drive(running(9), press="?") as d:
        assert isinstance(d.app.screen, HelpScreen)
        d.assert_shows("H is a tour")
        await d.press("H")
        await d.until(lambda: isinstance(d.app.screen, TourScreen))
        await d.press("escape", "ctrl+p", *"five", "space", *"steps")
        await d.until_shows("Tour: Explain the Overview in five steps")


async def test_keys_are_those_of_the_user(drive):
    config = Config(keys={"app.undo": ("backspace",), "app.tour": ("f1",)})
    async with drive(running(9), config=config, tour=True) as d:
        assert any("f1 shows" in notice for notice in offers(d)), offers(d)
        await d.press("f1")
        await d.until(lambda: isinstance(d.app.screen, TourScreen))
        await d.press("enter", "enter")
        await d.until_shows("⌫ takes your last")


async def test_it_needs_neither_colours_nor_unicode(drive, monkeypatch):
    monkeypatch.setenv("FUZZTUI_ASCII", "1")
    async with drive(running(60), size=(80, 24), theme="ansi", press="H") as d:
        await d.until_shows("1 of 5: how it goes")

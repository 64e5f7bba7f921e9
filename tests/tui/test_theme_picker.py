"""A theme is tried before it is chosen; what was chosen is remembered."""

import pytest
from fakes import running

from fuzztui.tui.app.action_app import ThemeScreen

SIZES = [(120, 40), (40, 12)]


@pytest.mark.parametrize("size", SIZES)
async def test_the_screen_has_the_theme_under_the_cursor(drive, size):
    async with drive(running(), theme="daylight", size=size, press="T") as d:
        assert isinstance(d.app.screen, ThemeScreen)
        assert d.app.theme == "daylight"
        seen = []
        for key in ("down", "j", "T", "up", "k"):
            await d.press(key)
            seen.append(d.app.theme)
        assert len({"daylight", *seen[:3]}) == 4
        assert seen[3:] == [seen[1], seen[0]]
        assert d.world.themes == []


@pytest.mark.slow
async def test_escape_restores_and_remembers_nothing(drive):
    async with drive(running(), theme="daylight", press=["T", "down", "down", "escape"]) as d:
        assert d.app.theme == "daylight"
        assert d.screen.TAB == "overview"
        await d.press("q")
    assert d.world.themes == []


@pytest.mark.slow
async def test_enter_keeps_and_remembers(drive):
    async with drive(running(), theme="daylight", press=["T", "down", "enter"]) as d:
        await d.until(lambda: d.world.themes)
        assert d.world.themes == [d.app.theme]
        assert d.app.theme != "daylight"
        await d.press("T", "down", "escape")  # that one is restored now
        assert d.world.themes == [d.app.theme]


@pytest.mark.slow
async def test_all_themes_can_be_chosen(drive):
    async with drive(running(), press="T") as d:
        seen = {d.app.theme}
        for _ in d.app.available_themes:
            await d.press("down")
            seen.add(d.app.theme)
        assert seen == {*d.app.available_themes}

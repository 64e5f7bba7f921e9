"""Another tab is shown without work that only another theme needs."""

from __future__ import annotations

import pytest
from fakes import running
from textual.css.stylesheet import Stylesheet


@pytest.fixture
def parsed(monkeypatch):
    """Each time that all styles are parsed adds an item."""
    times = []
    reparse = Stylesheet.reparse

    def counted(sheet: Stylesheet) -> None:
        times.append(sheet)
        reparse(sheet)

    monkeypatch.setattr(Stylesheet, "reparse", counted)
    return times


async def test_a_new_tab_does_not_parse_all_styles_again(drive, parsed):
    async with drive(running()) as d:
        parsed.clear()
        for key in "235":
            await d.press(key)
        assert d.screen.TAB == "log"
        assert parsed == []


@pytest.mark.slow
async def test_tabs_visited_before_and_after_get_the_colours_of_another_theme(drive, parsed):
    async with drive(running(), theme="daylight", press="21") as d:
        before = d.screen.styles.background
        parsed.clear()
        d.app.theme = "midwatch"
        await d.press("3")  # new
        assert parsed
        new = d.screen.styles.background
        await d.press("2")  # visited with the other theme
        assert d.screen.styles.background == new != before
        assert d.screen.table.styles.scrollbar_background == new

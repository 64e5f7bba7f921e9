"""The search for objects of a campaign, the zoom of a panel, and kept notifications."""

import pytest
from fakes import running
from sourced import PATH, sourced

from fuzztui.tui.app.find import CampaignObject, FindScreen, campaign_objects, matching
from fuzztui.tui.base.themed import MAX_NOTIFIED
from fuzztui.tui.frame.box import BoxScreen


def test_all_kinds_of_objects_are_found_by_their_words():
    state = sourced().state
    objects = [*campaign_objects(state)]
    assert {one.kind for one in objects} >= {"instance", "finding", "file", "function", "mutant"}
    found = [*matching(objects, "FUNCTION parser.number")]
    assert [one.key for one in found] == [f"{PATH}:16"]
    assert all(one.kind == "mutant" for one in matching(objects, "mutant items"))
    assert not [*matching(objects, "no such words")]
    assert len([*matching(objects, "")]) == len(objects)


def test_those_whose_name_matches_come_before_those_in_a_path_that_does():
    objects = [
        CampaignObject("function", "load", "source", "1", "lib/_parser.py"),
        CampaignObject("function", "parse_value", "source", "2", "lib/_parser.py"),
        CampaignObject("entry", "main/1", "corpus", "3"),
    ]
    assert [one.key for one in matching(objects, "parse")] == ["2", "1"]


def test_texts_of_a_target_are_drawn_as_they_are():
    state = running(60).state
    state.instances["main"].state = "\x1b[31mrun\u202e[b]"
    line = next(campaign_objects(state)).line
    assert line.isprintable() and "[b]" in line


@pytest.mark.parametrize(
    ("words", "screen", "key"),
    [
        ("function number", "source", "16"),
        ("crash startswith", "findings", "main/crashes/id:000000"),
    ],
)
async def test_enter_goes_to_the_object(drive, words, screen, key):
    async with drive(sourced(), size=(120, 40)) as d:
        await d.press("colon")
        await d.until(lambda: isinstance(d.app.screen, FindScreen))
        await d.press(*(("space" if c == " " else c) for c in words))
        await d.until_shows(words.split()[1])
        await d.press("enter")
        await d.until(lambda: screen == d.screen.TAB and d.screen.table.cursor == key)


async def test_the_panel_with_the_focus_fills_the_screen(drive):
    async with drive(running(120), size=(100, 30)) as d:
        await d.press("tab")
        panel = d.app.focused
        await d.press("Z")
        await d.until(lambda: panel.size.height > 20)
        assert "exec/s" not in d.lines()[2]
        await d.press("Z")
        await d.until(lambda: panel.size.height <= 20)
        d.assert_shows("exec/s")


async def test_a_table_without_more_rows_is_not_enlarged(drive):
    async with drive(running(60), size=(100, 30), press="Z") as d:
        d.assert_notice("The table shows all of its rows already; tab goes to another panel")
        assert d.screen.maximized is None
        await d.press("2", "Z")
        assert d.screen.maximized is d.table, "the Corpus has more rows"


async def test_notifications_are_kept(drive):
    async with drive(running(60), size=(100, 30)) as d:
        for n in range(MAX_NOTIFIED + 5):
            d.app.say(f"message {n}")
        assert len(d.app.notified) == MAX_NOTIFIED
        await d.press("ctrl+n")
        await d.until(lambda: isinstance(d.app.screen, BoxScreen))
        await d.until_shows(f"message {MAX_NOTIFIED + 4}")
        await d.press("escape")

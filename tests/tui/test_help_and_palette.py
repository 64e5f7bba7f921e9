"""Help and command palette come from the registry and do what the keys do."""

import pytest
from fakes import running
from fleet import fleet

from fuzztui.features.findings.screen.screen import FindingsScreen
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.app.help import HelpScreen, flat, found, help_sections
from fuzztui.tui.frame.action_context import ActionContext
from fuzztui.tui.screens.overview.screen import OverviewScreen


def help_lines(d, screen):
    lines = flat(help_sections(d.app.action_context(), screen.scopes()))
    return ["".join(span.text for span in line) for line in lines]


@pytest.mark.slow
async def test_help_opens_scrolls_and_closes(drive):
    async with drive(running(), press=["2", "question_mark"]) as d:
        assert isinstance(d.app.screen, HelpScreen)
        assert "Fuzz this entry next" in d.text()
        await d.press("G")
        await d.until_shows("Close the screens; the campaign continues")
        await d.press("escape")
        assert d.screen.TAB == "corpus"


@pytest.mark.slow
async def test_a_grey_key_has_its_reason_in_the_help(drive):
    async with drive(running(), control=False, press=["question_mark"]) as d:
        await d.until_shows("(opened for viewing only)")


@pytest.mark.slow
async def test_the_palette_performs_actions(drive):
    async with drive(running(), press=["ctrl+p"]) as d:
        for ch in "Pause: Pause":
            await d.pilot.press("space" if ch == " " else "colon" if ch == ":" else ch)
        await d.until_shows("Pause the whole campaign")
        await d.press("enter")
        await d.until(lambda: [c.name for c in d.commands] == ["pause"])


@pytest.mark.slow
async def test_the_palette_knows_table_and_screen_actions(drive):
    async with drive(running(), press=["2", "ctrl+p"]) as d:
        for ch in "Promote":
            await d.pilot.press(ch)
        await d.until_lacks("Never pick this entry again")
        await d.until_shows("Fuzz this entry next")
        await d.press("enter")
        await d.until(lambda: [c.name for c in d.commands] == ["promote"])


@pytest.mark.slow
async def test_clicking_keys_and_tabs(drive):
    async with drive(running()) as d:
        await d.pilot.click("Header", offset=(15, 1))
        await d.until(lambda: d.app.current_mode == "corpus")
        footer = d.lines()[-1]
        await d.pilot.click("Footer", offset=(footer.index("Skip"), 0))
        await d.until(lambda: [c.name for c in d.commands] == ["skip"])


@pytest.mark.slow
async def test_in_a_finished_run_no_steering_key_is_grey_without_a_reason(drive):
    async with drive(running().add(ev.CampaignState("finished"))) as d:
        await d.press("3", "question_mark")
        text = help_lines(d, FindingsScreen)
        for label in ("Pause instance", "Next entry"):
            at = next(i for i, line in enumerate(text) if label in line)
            assert "(the campaign has finished)" in text[at + 1]


async def test_when_watching_every_key_that_steers_says_why_it_is_grey(drive):
    async with drive(fleet(4, watched=True), run=None, control=False) as d:
        text = help_lines(d, OverviewScreen)
        for label in ("Pause ", "Add seed", "Promote", "Skip", "Reset", "Minimise"):
            at = next(i for i, line in enumerate(text) if f"  {label}" in line)
            assert "(watched only: " in text[at + 1], label


async def test_where_a_key_of_other_screens_works(drive):
    async with drive(running()) as d:
        text = help_lines(d, FindingsScreen)
        at = next(i for i, line in enumerate(text) if "Pause instance" in line)
        assert "(on the Overview)" in text[at + 1]


@pytest.mark.slow
async def test_at_80_columns_the_findings_say_how_to_minimise(drive):
    async with drive(fleet(4), size=(80, 24), press="3") as d:
        assert "m Minimise" in d.lines()[-1]
        assert "q Leave" in d.lines()[-1]


async def test_the_help_breaks_lines_between_words_and_below_their_start(drive):
    async with drive(fleet(4), size=(80, 30), press=["question_mark"]) as d:
        await d.until_shows("Make the instance continue")
        lines = d.lines()
        at = next(i for i, line in enumerate(lines) if "Make the instance continue" in line)
        start = lines[at].index("Make the")
        first, second = (
            line[start:].split("│")[0].rstrip(" ▁▂▃▄▅▆▇█") for line in lines[at : at + 2]
        )
        assert f"{first} {second}" == "Make the instance continue with another entry"


@pytest.mark.slow
async def test_the_help_is_searched(drive):
    async with drive(running(), press=["2", "question_mark"]) as d:
        whole = d.app.screen.lines()
        await d.press("slash", *"QUEUE q")  # keys of the help itself are text here
        await d.until(lambda: len(d.app.screen.lines()) < len(whole))
        text = ["".join(span.text for span in line) for line in d.app.screen.lines()]
        assert any("Every queue entry" in line for line in text)
        await d.press("enter", "down", "escape")  # back in the pane; closed
        assert d.screen.TAB == "corpus"
        await d.press("question_mark")
        assert d.app.screen.lines() == whole
        await d.press("slash", "x", "escape")
        assert isinstance(d.app.screen, HelpScreen)
        assert d.app.screen.lines() == whole
        await d.press("slash", *"nothing like it")
        await d.until(lambda: len(d.app.screen.lines()) == 1)


def test_the_search_finds_all_words_of_text_or_title():
    sections = help_sections(ActionContext(), FindingsScreen.scopes(), [("crashes", "Files")])
    assert found(sections, "") == sections
    for words, titles in (
        ("columns FILES", {"Columns and words"}),
        ("columns crashes", {"Columns and words"}),
        ("columns seed", set()),
    ):
        assert {title for title, _ in found(sections, words)} == titles

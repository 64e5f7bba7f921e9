"""Help and command palette come from the registry and do what the keys do."""

from fakes import running

from fuzztui.tui.screens.help import HelpScreen


async def test_help_opens_scrolls_and_closes(drive):
    async with drive(running()) as d:
        await d.press("2", "question_mark")
        assert isinstance(d.app.screen, HelpScreen)
        assert "Fuzz this entry next" in d.text()
        await d.press("G")
        await d.until(lambda: "Leave the screen; the campaign goes on" in d.text())
        await d.press("escape")
        assert d.screen.TAB == "corpus"


async def test_a_grey_key_has_its_reason_in_the_help(drive):
    async with drive(running(), control=False) as d:
        await d.press("question_mark")
        await d.until(lambda: "(opened to look only)" in d.text())


async def test_the_palette_performs_actions(drive):
    async with drive(running()) as d:
        await d.press("ctrl+p")
        for ch in "Pause: Pause":
            await d.pilot.press("space" if ch == " " else "colon" if ch == ":" else ch)
        await d.until(lambda: "Pause the whole campaign" in d.text())
        await d.press("enter")
        await d.until(lambda: [c.name for c in d.world.supervisor.commands] == ["pause"])


async def test_the_palette_knows_table_and_screen_actions(drive):
    async with drive(running()) as d:
        await d.press("2", "ctrl+p")
        for ch in "Promote":
            await d.pilot.press(ch)
        await d.until(lambda: "Never pick this entry again" not in d.text())
        await d.until(lambda: "Fuzz this entry next" in d.text())
        await d.press("enter")
        await d.until(lambda: [c.name for c in d.world.supervisor.commands] == ["promote"])


async def test_clicking_keys_and_tabs(drive):
    async with drive(running()) as d:
        await d.pilot.click("Header", offset=(15, 1))
        await d.until(lambda: d.app.current_mode == "corpus")
        footer = d.lines()[-1]
        await d.pilot.click("Footer", offset=(footer.index("Skip"), 0))
        await d.until(lambda: [c.name for c in d.world.supervisor.commands] == ["skip"])

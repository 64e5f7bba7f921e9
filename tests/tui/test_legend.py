"""The help begins with this screen: its keys, and what its columns mean."""

from __future__ import annotations

import pytest
from aimed import aimed
from fakes import running
from fleet import fleet
from mixed import mixed
from mutated import mutated
from turnlog import midway

from fuzztui.tui.app.help import HelpScreen, help_lines

CAMPAIGNS = {
    "zest": running, "mu2": mutated, "afl": lambda: fleet(2, seconds=30), "text": mixed,
    "spoton": aimed, "fuzz-first": midway,
}  # fmt: skip


@pytest.mark.parametrize("kind", CAMPAIGNS)
async def test_each_column_of_each_screen_has_a_meaning(drive, kind):
    async with drive(CAMPAIGNS[kind](), size=(240, 50)) as d:
        for tab in d.app.MODES:
            d.app.perform(f"view.{tab}")
            await d.pilot.pause()
            if d.app.current_mode == tab:
                missing = [title for title, text in d.screen.column_meanings() if not text]
                assert not missing, tab


async def test_the_keys_and_columns_of_this_screen_come_first(drive):
    async with drive(running()) as d:
        await d.press("2", "question_mark")
        assert isinstance(d.app.screen, HelpScreen)
        lines = d.lines()
        assert any("Promote" in line for line in lines[:12])
        scopes = d.app._campaign_screen.scopes()
        whole = [
            "".join(s.text for s in line) for line in help_lines(d.app.action_context(), scopes)
        ]
        assert whole[0] == "This screen"
        keys = [line for line in whole if "Promote the entry" in line or "Add seed" in line]
        assert len(keys) == len(set(keys))

"""The help begins with this screen: its keys, and what its columns mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from aimed import aimed
from fakes import running
from fleet import fleet
from hosted import hosted
from mixed import mixed
from mutated import mutated
from turnlog import midway

from fuzztui.tui.app.help import HelpScreen, flat, help_sections
from fuzztui.tui.labels.features import whole_legend

ABOVE = whole_legend().above

CAMPAIGNS = {
    "zest": running, "mu2": mutated, "afl": lambda: fleet(2, seconds=30), "text": mixed,
    "spoton": aimed, "fuzz-first": midway, "hosts": hosted,
}  # fmt: skip


@pytest.mark.parametrize("kind", CAMPAIGNS)
async def test_each_column_of_each_screen_has_a_meaning(drive, kind):
    async with drive(CAMPAIGNS[kind](), size=(110, 24)) as d:
        for tab in d.app.MODES:
            d.app.perform(f"view.{tab}")
            await d.pilot.pause()
            if d.app.current_mode == tab:
                missing = [title for title, text in d.screen.column_meanings() if not text]
                assert not missing, tab


async def test_the_keys_and_columns_of_this_screen_come_first(drive):
    async with drive(running(), press=["2", "question_mark"]) as d:
        assert isinstance(d.app.screen, HelpScreen)
        lines = d.lines()
        assert any("Promote" in line for line in lines[:12])
        scopes = d.app._campaign_screen.scopes()
        whole = [
            "".join(s.text for s in line)
            for line in flat(help_sections(d.app.action_context(), scopes))
        ]
        assert whole[0] == "This screen"
        keys = [line for line in whole if "Promote the entry" in line or "Add seed" in line]
        assert len(keys) == len(set(keys))


GLOSSARY = Path(__file__).parents[2] / "docs/glossary.md"


@pytest.mark.parametrize("screen", ABOVE)
def test_words_above_the_tables_are_in_the_glossary(screen):
    text = GLOSSARY.read_text().casefold()
    words = {word.removesuffix("s") for word in ABOVE[screen]}
    ours = {"( )", "at least", "now", "next", "text", "further off", "gain"}
    assert not [word for word in words - ours if word not in text]


async def test_the_help_explains_the_words_above_the_table(drive):
    for log, words in ((mutated(), "mutants"), (midway(), "fuzz-first")):
        async with drive(log, press="4") as d:
            assert ABOVE[words].items() <= dict(d.screen.column_meanings()).items()

"""Entries of other machines on the Overview: a passive instance, which cannot be steered."""

import pytest
from fleet import fleet

from fuzztui.kernel.model.selectors import totals
from fuzztui.kernel.wire import events as ev
from fuzztui.machines.siblings.fold import SiblingState


@pytest.fixture
def log():
    return fleet(2).add(ev.PassiveInstance("box_main", "/shared/box_main", 1234))


async def test_its_row_says_how_many_entries_there_are(drive, log):
    async with drive(log, size=(160, 40)) as d:
        assert "⇄ 1,234 to import" in d.text()
        d.table.go_to("box_main")
        await d.until_shows("1,234 entries from outside; this instance never fuzzes")
        assert "/shared/box_main" in d.text()


async def test_it_is_no_part_of_the_campaigns_numbers(drive, log):
    async with drive(log) as d:
        before = totals(d.app.screen.campaign).stats
        log.add(ev.PassiveInstance("box_main", "/shared/box_main", 99999))
        await d.until_shows("99,999")
        assert totals(d.app.screen.campaign).stats == before


async def test_a_hostile_source_is_escaped(drive, log):
    log.add(ev.PassiveInstance("evil", "a\x1b[31m\u202eb", 3))
    async with drive(log, size=(160, 40), row="evil") as d:
        await d.until_shows("3 entries from outside")
        d.assert_lacks("\x1b", "\u202e")


async def test_a_sibling_says_what_was_exchanged(drive, log):
    log.add(SiblingState("box_main", 1500, 1234, 77, 2, 3.0, problem="no\x1b[31m disk"))
    async with drive(log, size=(160, 40), row="box_main") as d:
        await d.until_shows("77 exported")
        await d.until_shows("2 crashes")
        await d.until_shows("disk")
        d.assert_lacks("\x1b[31m")

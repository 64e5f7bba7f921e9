"""Until the log was read, a screen without rows does not say why there are none."""

import pytest
from fakes import started

from fuzztui.tui.app.app import FuzzApp
from fuzztui.tui.frame.table import LOADING, BigTable
from fuzztui.tui.screens.overview.event_list import EventList


@pytest.mark.parametrize(
    ("engine", "tab"), [("mu2", "2"), ("mu2", "3"), ("mu2", "4"), ("spoton", "7")]
)
async def test_a_reason_comes_with_the_log(drive, monkeypatch, engine, tab):
    async with drive(started(engine=engine), size=(80, 24), press=tab) as d:
        reason, lines = d.table.empty, d.details()
        assert reason in d.text() and lines and LOADING not in d.text()
        with monkeypatch.context() as reading:
            reading.setattr(FuzzApp, "_caught_up", lambda _: 0.5)
            d.app.tick()
            await d.until(lambda: d.details() == LOADING)
            assert all(LOADING in d.text() for table in d.screen.query(BigTable) if table.display)
            assert reason not in d.text()
        d.app.tick()
        await d.until(lambda: d.details() == lines)
        d.assert_lacks(LOADING)


async def test_the_overview_waits_for_no_event_that_is_there(drive, monkeypatch):
    monkeypatch.setattr(FuzzApp, "_caught_up", lambda _: 0.5)
    async with drive(started(), size=(120, 40)) as d:
        d.app.tick()
        d.screen.redraw_charts()
        await d.until_lacks("waiting for the first statistics…")
        events = d.screen.query_one(EventList)
        events._rows = ()
        assert any(LOADING in line for line in d.painted(EventList))

"""Until the log was read, a screen without rows does not say why there are none."""

import pytest
from fakes import started
from fleet import fleet

from fuzztui.kernel.wire import events as ev
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


def crash(instance, title):
    file = f"crashes/id:000009,sig:06,{title}"
    yield ev.FindingSaved(instance, "crash", file, 9, [], "", 6)
    yield ev.FindingDescribed(instance, "crash", file, title, title)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_of_a_watched_campaign_nothing_is_shown_before_all_of_its_past(drive, size):
    log = fleet(4, watched=True)
    past = log.records
    log.records = [*past[:1], ev.Record(2, 0.0, ev.CatchingUp(0.4)), *past[1:]]
    log.records = [ev.Record(n, r.t, r.event) for n, r in enumerate(log.records, 1)]
    log.add(*crash("main", "long ago"))
    async with drive(log, size=size, run=None, control=False, toasts=True, wait=False) as d:
        await d.until_shows("CATCHING UP 40%", "…")
        d.assert_lacks("RUNNING", "elapsed", "ago", "main")
        assert not d.row_keys() and not d.notices()
        await d.press("3")
        d.assert_shows("CATCHING UP 40%", LOADING)
        assert not d.row_keys()
        d.log.add(*crash("s2", "before"), ev.CatchingUp(1.0))
        await d.until(d.row_keys)
        await d.press("1")
        await d.until_shows("RUNNING", "elapsed", "main")
        assert not d.notices()  # what happened long ago is no news
        d.log.add(*crash("s1", "now"))
        await d.until(d.notices)
        assert len(d.notices()) == 1
        d.assert_notice("now")


async def test_a_watcher_that_dies_leaves_what_it_has_read(drive):
    log = fleet(4, watched=True).add(ev.CatchingUp(0.4))
    async with drive(log, run=None, control=False, wait=False) as d:
        await d.until_shows("CATCHING UP 40%")
        object.__setattr__(d.app._opening, "died", lambda: "It was killed.")
        await d.until_shows("NO WATCHER", "main", "It was killed.")

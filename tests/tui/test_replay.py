"""Looking at the past: the same screens under another clock."""

import pytest
from fakes import running
from mutated import mutated

from fuzztui.tui.frame.timeline import Timeline
from fuzztui.wire import events as ev


async def test_a_replay_shows_the_campaign_as_it_was(drive):
    async with drive(running(), replay_at=300.0) as d:
        text = d.text()
        assert "▷ REPLAY" in text
        assert "0:05:00" in text
        assert "RecursionError" not in text  # half a second later
        await d.press("full_stop")
        await d.until(lambda: "RecursionError" in d.text())
        assert d.app.campaign.t <= 300.5


@pytest.mark.slow
@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 15)])
async def test_the_head_says_what_the_run_came_to(drive, size):
    log = running(60)
    log.add(ev.CampaignEnded("stopped", "stopped by ann@box"), dt=1.0)
    async with drive(log, size=size, replay_at=30.0) as d:
        await d.until(lambda: "▷ REPLAY of a stopped run" in d.lines()[0])
        assert d.lines()[0].endswith(" · then running") == (size[0] > 60)
        await d.press("ctrl+end")
        await d.until(lambda: d.lines()[0].endswith("▷ REPLAY of a stopped run"))
    async with drive(running(60), size=size, replay_at=30.0) as d:
        await d.until(lambda: d.lines()[0].endswith("▷ REPLAY · then running"))


@pytest.mark.slow
async def test_nothing_can_be_steered(drive):
    async with drive(running(), replay_at=300.0) as d:
        assert "Pause" not in d.text().splitlines()[-1].replace("space", "")
        for key in "px":
            await d.press(key)
        await d.press("2", "u")
        assert d.world.supervisor.commands == []
        assert d.notices() == ["Pause: not in a replay", "Stop: not in a replay",
                               "Promote: not in a replay"]  # fmt: skip


@pytest.mark.slow
async def test_keys_move_through_time(drive):
    async with drive(running(), replay_at=300.0) as d:
        end = d.world.session.end_t
        await d.press("right")
        assert d.world.clock.t == 300.0 + end / 100
        await d.press("left", "left")
        assert abs(d.world.clock.t - (300.0 - end / 100)) < 1e-6
        await d.press("ctrl+end")
        await d.until(lambda: d.app.campaign.seq == len(d.world.log.records))
        await d.press("ctrl+home")
        await d.until(lambda: d.app.campaign.t == 0)
        assert "waiting for the first statistics…" in d.text()


@pytest.mark.slow
async def test_going_from_find_to_find(drive):
    async with drive(running(), replay_at=0.0) as d:
        await d.until(lambda: d.app.marks)
        seen = []
        for _ in range(5):
            await d.press("full_stop")
            seen.append(d.world.clock.t)
        assert seen == [95.5, 96.5, 300.5, 400.5, 480.5]
        await d.press("full_stop")
        assert d.notices() == ["No further finding in that direction."]
        await d.press("comma")
        assert d.world.clock.t == 400.5


async def test_without_findings_ahead_it_goes_from_kill_to_kill(drive):
    log = mutated(count=40, seconds=60)
    log.add(dt=5.0)
    log.add(ev.FindingSaved("main", "crash", "crashes/id:000000", id=0))
    async with drive(log, replay_at=0.0) as d:
        await d.until(lambda: d.app.kills)
        kills = sorted(set(d.app.kills))
        await d.press("full_stop")
        (finding,) = {t for t, _ in d.app.marks}
        assert d.world.clock.t == finding
        await d.press("comma")  # no finding before
        assert d.world.clock.t == kills[-1]
        await d.press("comma")
        assert d.world.clock.t == kills[-2]
        await d.press("ctrl+home", "comma")
        assert len(d.notices()) == 1


@pytest.mark.slow
async def test_play_hold_and_speed(drive):
    async with drive(running(), replay_at=10.0) as d:
        assert "‖    1x" in d.text()
        await d.press("space")
        assert not d.world.clock.paused
        assert "▶" in d.text()
        assert "space Pause" in d.text()
        await d.press("plus", "plus", "minus")
        assert d.world.clock.speed == 2.0
        assert "2x" in d.text()
        d.world.clock.t = d.world.session.end_t + 50
        await d.until(lambda: d.world.clock.paused)  # nothing to play beyond the end
        assert d.world.clock.t == d.world.session.end_t
        await d.press("space")  # from the start
        assert d.world.clock.t == 0.0
        assert not d.world.clock.paused


async def test_a_click_on_the_timeline(drive):
    async with drive(running(), replay_at=0.0) as d:
        timeline = d.screen.query_one(Timeline)
        await d.pilot.click(Timeline, offset=(timeline.size.width - 11, 0))
        await d.until(lambda: d.world.clock.t > 0.95 * d.world.session.end_t)
        assert "✗" in d.text()
        assert "▲" in d.lines()[-2]


@pytest.mark.slow
async def test_tables_follow_back_in_time(drive):
    async with drive(running(), replay_at=600.0) as d:
        await d.press("2", "G")
        n = len(d.table.source)
        await d.press("5")
        await d.until(lambda: len(d.table.source) > 0)
        await d.until(lambda: d.app.marks)
        await d.press("comma", "comma")
        await d.until(lambda: d.app.campaign.t < 450)
        await d.until(lambda: all(int(d.table.source.key(i)) <= d.app.campaign.seq
                                  for i in range(len(d.table.source))))  # fmt: skip
        await d.press("2")
        await d.until(lambda: len(d.table.source) == len(d.app.campaign.entries) < n)
        assert d.table.cursor in d.app.campaign.entries


@pytest.mark.slow
async def test_the_timeline_is_on_every_screen(drive):
    async with drive(running(), replay_at=300.0, size=(60, 16)) as d:
        for key in "23451":
            await d.press(key)
            assert "0:10:00" in d.lines()[-2]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_timeline_is_the_only_bar(drive, size):
    log = running()
    async with drive(log, size=size) as d:
        await d.until(lambda: "0:30:00" in "".join(d.lines()[:2]))
        assert set("━╸─") & set("".join(d.lines()[:2])), "the budget's, of a live campaign"
    async with drive(log, size=size, replay_at=300.0) as d:
        await d.until(lambda: "0:30:00" in "".join(d.lines()[:2]))
        assert not set("━╸─") & set("".join(d.lines()[:2]))
        assert "━" in d.lines()[-2]

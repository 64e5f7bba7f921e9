"""Looking at the past: the same screens under another clock."""

from itertools import pairwise

import pytest
from fakes import running
from hypothesis import given
from hypothesis import strategies as st
from mutated import mutated

from fuzztui.kernel.model.gains import Gains
from fuzztui.kernel.model.state import RECENT_COMMANDS, Entry, State
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.frame.marks import ANY, KINDS, MAX_TIMES, STEERING_SIGN, Marks, marks_of
from fuzztui.tui.frame.timeline import Timeline
from fuzztui.tui.labels.states import STEERED

BARS = "▁▂▃▄▅▆▇█"


@pytest.mark.slow
async def test_a_replay_shows_the_campaign_as_it_was(drive):
    async with drive(running(), replay_at=300.0) as d:
        d.assert_shows("▷ REPLAY", "0:05:00")
        d.assert_lacks("RecursionError")  # half a second later
        await d.press("full_stop")
        await d.until_shows("RecursionError")
        assert d.app.campaign.t <= 300.5


@pytest.mark.slow
@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 15)])
async def test_the_head_says_what_the_run_came_to(drive, size):
    log = running(60).add(ev.CampaignEnded("stopped", "stopped by ann@box"), dt=1.0)

    def head(d):
        return d.lines()[0].partition("▷ REPLAY")[2].replace(",", "").split()

    async with drive(log, size=size, replay_at=30.0) as d:
        words = (
            ["running", "at", "0:00:30", "stopped", "at", "0:01:01"]
            if size[0] > 60
            else ["running"]
        )
        await d.until(lambda: head(d) == words)
        await d.press("ctrl+end")
        await d.until(lambda: head(d) == (["stopped", "at", "0:01:01"] if size[0] > 60 else
                                          ["stopped"]))  # fmt: skip
    async with drive(running(60), size=size, replay_at=30.0) as d:
        await d.until(lambda: head(d) == words[:3])


@pytest.mark.slow
async def test_nothing_can_be_steered(drive):
    async with drive(running(), replay_at=300.0) as d:
        assert "Pause" not in d.text().splitlines()[-1].replace("space", "")
        for key in "px":
            await d.press(key)
        await d.press("2", "u")
        assert not d.commands
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
        await d.until(lambda: d.app.campaign.seq == len(d.log.records))
        await d.press("ctrl+home")
        await d.until(lambda: d.app.campaign.t == 0)
        assert "waiting for the first statistics…" in d.text()


@pytest.mark.slow
async def test_going_from_finding_to_finding(drive):
    async with drive(running(), replay_at=0.0) as d:
        await d.until(lambda: d.app.marks)
        await d.until(lambda: d.app.player.kind == "finding")
        seen = []
        for _ in range(3):
            await d.press("full_stop")
            seen.append(d.world.clock.t)
        assert seen == [95.5, 300.5, 400.5]  # the first of each group
        await d.press("full_stop")
        assert len(d.notices()) == 1
        assert d.world.clock.t == 400.5
        await d.press("comma")
        assert d.world.clock.t == 300.5


def everything():
    """A campaign with marks of all kinds."""
    log = mutated(count=40, seconds=60).add(dt=5.0)
    log.add(ev.FindingSaved("main", "crash", "crashes/id:000000", id=0))
    log.add(ev.CommandIssued("c1", {"name": "pause"}, "me@here"), dt=3.0)
    log.add(ev.EntrySaved("main", 900, "queue/id:000900"), dt=2.0)
    log.add(ev.EntryDescribed("main", 900, ["edge"], 5))
    log.add(dt=2.0)
    return log


@pytest.mark.slow
async def test_a_key_chooses_the_kind_to_jump_to(drive):
    async with drive(everything(), replay_at=0.0, size=(80, 24)) as d:
        await d.until(lambda: d.app.marks)
        marks = d.app.marks
        seen = {}
        for _ in marks.kinds():
            kind = d.app.player.kind
            assert f" {kind} " in d.lines()[-2]
            await d.press("ctrl+home", "full_stop")
            seen[kind] = d.world.clock.t
            await d.press("semicolon")
        assert seen.keys() == {ANY, *KINDS}
        assert all(seen[kind] == min(marks.of(kind)) for kind in KINDS)
        assert seen[ANY] == min(seen.values())
        await d.press("semicolon")
        assert d.app.player.kind == "steering"
        await d.press("ctrl+end", "comma")
        assert d.world.clock.t == seen["steering"]


async def test_without_findings_it_goes_from_kill_to_kill(drive):
    async with drive(mutated(count=40, seconds=60), replay_at=0.0) as d:
        await d.until(lambda: d.app.marks)
        kills = sorted(set(d.app.marks.of("kill")))
        await d.press("full_stop", "full_stop")
        assert d.world.clock.t == kills[1]
        await d.press("comma")
        assert d.world.clock.t == kills[0]
        await d.press("comma")
        assert len(d.notices()) == 1


async def test_marks_of_all_kinds_are_on_the_timeline(drive):
    async with drive(everything(), replay_at=0.0, size=(220, 24)) as d:
        await d.until(lambda: d.app.marks)
        await d.until(lambda: {"✗", STEERED} <= {*d.lines()[-3]})
        assert set(BARS) & {*d.lines()[-3]}


def test_a_cell_shows_its_most_important_mark():
    times = ([5.0], [5.0, 3.0], [5.0, 2.0], [5.0, 1.0])
    marks = Marks([(5.0, "hang")], tuple(sorted(each) for each in times))
    signs = [marks.sign(t - 0.5, t + 0.5) for t in (5.0, 3.0, 2.0, 1.0, 4.0)]
    assert signs == [("▲", "hang"), STEERING_SIGN, None, None, None]


@given(
    st.lists(st.lists(st.floats(0, 100), max_size=8).map(sorted), min_size=4, max_size=4),
    st.floats(-1, 101),
)
def test_jumps_lead_to_the_nearest_mark(times, t):
    marks = Marks([(t, "crash") for t in times[0]], tuple(times))
    for kind in (ANY, *KINDS):
        every = [x for each in times for x in each] if kind == ANY else marks.of(kind)
        assert marks.after(kind, t) == min((x for x in every if x > t), default=None)
        assert marks.before(kind, t) == max((x for x in every if x < t), default=None)
        assert marks.count(kind, t) == (sum(x <= t for x in every), len(every))


def test_all_commands_have_a_mark_though_the_state_keeps_the_newest_only():
    log = running(60)
    for n in range(3 * RECENT_COMMANDS):
        log.add(ev.CommandIssued(f"c{n}", {"c": "skip", "entry": 1}, "me"), dt=1.0)
    state = log.state
    assert len(state.commands) <= RECENT_COMMANDS
    marks = marks_of(state)
    assert marks.of("steering")[0] < log.records[0].t + 70
    # Each part of the timeline has its mark.
    begin = marks.of("steering")[0]
    step = (state.t - begin) / 200
    assert all(marks.sign(begin + n * step, begin + (n + 1) * step) for n in range(200))


def test_marks_are_bounded_and_cover_the_whole_campaign():
    state = State(t=1000.0)
    for i in range(3 * MAX_TIMES):
        t = i / (3 * MAX_TIMES) * 1000.0
        state.entries[f"main/{i}"] = Entry(f"main/{i}", "main", i, t, cov=True)
    edges = marks_of(state).of("edge")
    assert MAX_TIMES // 2 < len(edges) <= MAX_TIMES
    assert [*edges] == sorted(edges)
    assert max(b - a for a, b in pairwise([0.0, *edges, 1000.0])) < 1.0


@pytest.mark.parametrize("size", [(80, 24), (220, 60)])
async def test_one_key_goes_to_the_largest_gain_and_then_to_the_next_one(drive, size):
    log = running(1)
    for second, (edges, entry) in {10: (40, 1), 30: (500, 2), 70: (90, 3)}.items():
        log.add(dt=second - log.state.t)
        log.add(ev.EntrySaved("main", 900 + entry, f"queue/id:00090{entry}"))
        log.add(ev.EntryDescribed("main", 900 + entry, ["edge"], edges))
        log.add(ev.Stats("main", 1000 * second, 10.0, edges=4000 + 10 * second))
    log.add(dt=100 - log.state.t)
    gains = Gains.of(log.state, named=True)
    async with drive(log, replay_at=0.0, size=size) as d:
        await d.until(lambda: d.app.marks)
        smaller, larger = "right_square_bracket", "left_square_bracket"
        # 4,100 edges at 10 s, 400 at 70 s, 200 at 30 s.
        for key, t, entry in ((smaller, 10, 901), (smaller, 70, 903), (smaller, 30, 902),
                              (larger, 70, 903)):  # fmt: skip
            await d.press(key)
            assert d.world.clock.t == pytest.approx(t)
            assert gains.between(t, t + 1).entries == [f"main/{entry}"]
            await d.until(lambda entry=entry: f"main/{entry}" in d.lines()[-2])
        while not d.notices():
            await d.press(smaller)
        assert d.notices() == ["No smaller gain of edges and kills."]


async def test_a_notification_leaves_the_timeline_visible(drive):
    async with drive(running(60), replay_at=30.0, size=(60, 16), toasts=True) as d:
        timeline = d.lines()[-2]
        d.app.say("a text that is as wide as the terminal, and a little wider than that")
        await d.until_shows("a text that")
        await d.still()
        assert d.lines()[-2] == timeline


@pytest.mark.slow
async def test_play_hold_and_speed(drive):
    async with drive(running(), replay_at=10.0) as d:
        assert "‖    1x" in d.text()
        await d.press("space")
        assert not d.world.clock.paused
        d.assert_shows("▶", "space Pause")
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
        await d.until(lambda: d.app.marks)
        end = d.lines()[-3].index(" 0:10:00")
        await d.pilot.click(Timeline, offset=(end - 2, 0))
        await d.until(lambda: d.world.clock.t > 0.95 * d.world.session.end_t)
        assert "✗" in d.text()
        assert "▲" in d.lines()[-3]


@pytest.mark.slow
async def test_tables_follow_back_in_time(drive):
    async with drive(running(), replay_at=600.0, press="2G") as d:
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


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_timeline_is_the_only_bar(drive, size):
    log = running()
    async with drive(log, size=size) as d:
        await d.until(lambda: "0:30:00" in "".join(d.lines()[:2]))
        assert set("━╸─") & set("".join(d.lines()[:2])), "the budget's, of a live campaign"
    async with drive(log, size=size, replay_at=300.0) as d:
        await d.until(lambda: "0:30:00" in "".join(d.lines()[:2]))
        assert not set("━╸─") & set("".join(d.lines()[:2]))
        assert set(BARS) & {*d.lines()[-3]}

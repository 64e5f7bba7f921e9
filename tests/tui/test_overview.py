"""The first screen: what a user sees in the first second and from then on."""

import re

import pytest
from fakes import WALL, Log, running, started
from mutated import found, killed, mutated

from fuzztui.kernel.model.state import Changes, State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import Pause, Resume, SkipCurrent
from fuzztui.tui.frame.actions import TABS
from fuzztui.tui.frame.banner import Banner
from fuzztui.tui.frame.header import brief_target
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels.status import status_of
from fuzztui.tui.screens.overview.charts import ChartGrid
from fuzztui.tui.screens.overview.event_list import EventList


@pytest.mark.slow
async def test_arrow_keys_name_the_charts_until_these_have_the_focus(drive):
    async with drive(running(), size=(120, 40)) as d:
        charts = d.screen.query_one(ChartGrid)
        for focus in (BigTable, EventList):
            d.app.clear_notifications()
            d.screen.set_focus(d.screen.query_one(focus))
            await d.press("left")
            assert any("charts" in n.message for n in d.app._notifications), focus
        d.app.clear_notifications()
        while d.screen.focused is not charts:
            await d.press("tab")
        await d.press("left")
        assert not d.app._notifications


async def test_the_first_second_says_that_it_waits(drive):
    async with drive(started()) as d:
        text = d.text()
        assert text.count("waiting for the first statistics…") == 4
        assert "(p Pause)" in text  # greyed, and not by colour only
        await d.press("p")
        assert d.notices() == ["Pause: the campaign is still starting"]


@pytest.mark.slow
async def test_before_there_is_a_log_it_is_tried_again(drive):
    async with drive(started(), wait=False) as d:
        # The fake opens at once; the failing case is below.
        await d.ready()

    async with drive(started(), wait=False) as d:
        attempts = []

        def failing():
            attempts.append(1)
            if len(attempts) < 3:
                raise FileNotFoundError("no log in RUN yet")
            return d.world.session

        object.__setattr__(d.app._opening, "session", failing)
        d.app.session = None
        d.app.run_worker(d.app._open())
        await d.until_shows("no log in RUN yet")
        await d.until(lambda: d.app.session is not None)
        await d.until_lacks("no log in RUN yet")


async def test_totals_charts_instances_and_events(drive):
    async with drive(running()) as d:
        d.assert_shows(
            "● RUNNING", "2.76M", "1,065", "26%", "62%", "edges 745", "0:10:00", "33%",
            "KeyError: 'a.b'  at _parser.py:212", "×3", "no answer in 1 s",
            "main", "second", "● running",
        )  # fmt: skip
        assert any(0x2800 < ord(ch) < 0x2900 for ch in d.text())


async def test_new_figures_arrive_without_a_key(drive):
    async with drive(running()) as d:
        d.log.add(ev.Stats("main", 9_000_000, 1234.0, 500, crashes=5, edges=2000, edges_total=4096))
        await d.until_shows("2,000")
        assert d.app.status.stats.edges == 2000
        d.log.add(ev.FindingSaved("main", "crash", "crashes/new-shape", op="havoc"))
        await d.until_shows("crashes/new-shape")


@pytest.mark.slow
async def test_old_figures_are_said_to_be_old(drive):
    async with drive(running()) as d:
        d.log.t += 45  # time continues, the engine says nothing
        await d.until_shows("stats 40s old")
        assert len(re.findall("● running +40s", d.text())) == 2


@pytest.mark.slow
async def test_without_a_supervisor_nothing_looks_alive(drive):
    async with drive(running()) as d:
        assert d.text().count("● running") == 2
        live = d.lines()[4].split()[1]
        opening, running_ = d.app._opening, d.app._opening.running
        object.__setattr__(opening, "running", lambda: None)  # it is looked for again and again
        d.app._alive = False
        d.app.tick()
        await d.until(lambda: d.text().count("? was running") == 2)
        assert "● running" not in d.text()
        assert f"was {live}" in d.lines()[5]
        row = next(line for line in d.lines() if " main " in line)
        assert "–" in row
        assert "%" not in row  # of a processor
        await d.press("enter")
        await d.until_shows("last seen running")
        assert "when last seen" in d.text()
        assert "cpu" not in d.text().split("supports")[0].split("state")[-1]
        await d.press("escape")
        object.__setattr__(opening, "running", running_)
        d.app._alive = True
        d.app.tick()
        await d.until(lambda: d.text().count("● running") == 2)


@pytest.mark.slow
async def test_a_column_of_ages_goes_when_the_ages_do(drive):
    async with drive(running(), size=(120, 40)) as d:
        assert "cpu" in d.text()
        d.log.t += 45
        await d.until(lambda: re.search(r"state +age ", d.text()))
        for look in range(12):
            for name in ("main", "second"):
                d.log.add(ev.Stats(name, 9_000_000, 1234.0, 500, age=0.1))
            d.log.add(dt=2)
            await d.ready()
            d.app.tick()
            if look == 3:
                assert re.search(r"state +age ", d.text())  # not at once: nothing jumps
        await d.until(lambda: not re.search(r"state +age ", d.text()))


@pytest.mark.slow
async def test_a_long_name_is_whole_where_there_is_room(drive):
    log = started().add(ev.Message("warning", "[/x] odd", "dead:default-secondary"))
    async with drive(log, size=(140, 40), shows="dead:default-secondary  [/x] odd") as d:
        await d.press("5")
        await d.until_shows("dead:default-secondary  [/x] odd")
        await d.pilot.resize_terminal(80, 24)
        await d.press("1")
        await d.until_shows("dead:default…  [/x] odd")


@pytest.mark.slow
async def test_pausing_and_resuming_the_campaign(drive):
    async with drive(running(), press="p", shows="‖ PAUSED") as d:
        assert d.commands == [Pause()]
        assert "p Resume" in d.text()
        # The log may say it before whoever has asked for it hears the answer.
        await d.until(lambda: "pause the campaign: done at trial 1,234; z undoes" in d.notices())
        await d.press("p")
        await d.until_shows("● RUNNING")
        assert d.commands == [Pause(), Resume()]


@pytest.mark.slow
async def test_pausing_one_instance(drive):
    async with drive(running(), press=["down", "P"]) as d:
        await d.until_sent(Pause("second"))
        d.log.add(ev.InstanceState("second", "paused"))
        await d.until_shows("‖ paused")
        await d.press("P")
        await d.until_sent(Resume("second"), after=1)


def columns_of(table):
    return [(column.id, width) for column, width in table._layout.cells]


@pytest.mark.parametrize("command", [Pause("second"), SkipCurrent("second")])
async def test_steering_an_instance_moves_no_column(drive, command):
    async with drive(running(), size=(80, 24)) as d:
        before = columns_of(d.screen.instances)
        d.log.add(ev.CommandIssued("c1", encode_command(command)))
        await d.until(lambda: d.screen._pending.get("second") == [command.name])
        assert columns_of(d.screen.instances) == before
        d.log.add(ev.CommandApplied("c1", "second", 7), ev.InstanceState("second", "paused"))
        await d.until_shows("‖ paused")
        assert columns_of(d.screen.instances) == before


@pytest.mark.parametrize("size", [(80, 24), (160, 40)])
async def test_a_difference_is_no_crash_of_its_instance(drive, size):
    log = running().add(
        ev.Stats("oracle", 0, 0.0, 0, crashes=2),
        ev.FindingSaved("oracle", "crash", "crashes/id:000000"),
        ev.FindingSaved("oracle", "crash", "crashes/id:000001"),
        ev.FindingDescribed("oracle", "differs", "crashes/id:000000", "differs @ x", "x"),
        ev.FindingDescribed("oracle", "crash", "crashes/id:000001", "message @ y", "y"),
    )
    async with drive(log, size=size) as d:
        labels = next(line for line in d.lines() if line.startswith(" execs"))
        assert "…" not in labels
        table = d.screen.instances
        row = d.app.campaign.instances["oracle"]
        shown = {column.id: column.cell(row)[0] for column, _ in table._layout.cells}
        assert (shown["crashes"], shown["differs"]) == ("1", "1")


async def test_a_command_without_an_answer_shows_as_pending(drive):
    async with drive(running()) as d:
        d.world.supervisor.silent = True
        await d.press("p")
        await d.until_shows("1 pending")
        await d.until_notice("sent: no answer yet")
        d.log.add(ev.CommandApplied("c1", "", 7), ev.CampaignState("paused"))
        await d.until_lacks("1 pending")


async def test_a_refusal_gives_its_reason(drive):
    async with drive(running()) as d:
        d.world.supervisor.refuse = "[/x] not now"
        await d.press("p")
        await d.until(lambda: "pause the campaign: rejected: [/x] not now" in d.notices())


@pytest.mark.slow
async def test_stopping_asks_first(drive):
    async with drive(running(), press="x") as d:
        assert "Stop the campaign 'tomllib-zest'" in d.text()
        await d.press("n")
        assert "Stop the campaign" not in d.text()
        await d.press("x", "enter")  # the harmless answer has the focus
        assert not d.commands
        await d.press("x", "y")
        await d.until(lambda: [c.name for c in d.commands] == ["stop"])


async def test_a_dead_supervisor_is_said_with_the_way_out(drive):
    async with drive(running(), alive=False, shows="NO SUPERVISOR") as d:
        d.assert_shows("Resume with: fuzztui RUN/campaign.toml", "(p Pause)")
        await d.press("p")
        assert d.notices() == ["Pause: no supervisor is running"]
        assert not d.commands


async def test_what_the_log_cannot_say_is_said(drive):
    async with drive(running(), unwritten="the log cannot be written: [/x] disk full") as d:
        await d.until_shows("the log cannot be written: [/x] disk full")


@pytest.mark.slow
async def test_time_stands_still_once_all_instances_have_ended(drive):
    log = running().add(ev.CampaignState("stopping", "looking at 2 findings"))
    async with drive(log) as d:
        log.t += 30
        assert d.app.now() == pytest.approx(log.t)
    for name in ("main", "second"):
        log.add(ev.InstanceState(name, "stopped"))
    async with drive(log) as d:
        then = d.app.now()
        log.t += 30
        assert d.app.now() == then


async def test_a_finished_campaign_needs_no_supervisor(drive):
    log = running().add(ev.CampaignEnded("finished", "the budget is used up"))
    async with drive(log, alive=False, shows="✓ FINISHED") as d:
        assert "NO SUPERVISOR" not in d.text()
        await d.press("x")
        assert d.notices() == ["Stop: the campaign has finished"]


async def test_looking_only(drive):
    async with drive(running(), control=False, press="p") as d:
        assert d.notices() == ["Pause: opened for viewing only"]


@pytest.mark.slow
async def test_a_failing_session_shows_a_banner_and_kills_nothing(drive):
    async with drive(running()) as d:
        d.world.session.error = OSError("[/x] the log is on fire\x1b[2J")
        await d.until_shows("on fire")
        assert r"[/x] the log is on fire\e[2J  (trying again)" in d.text()
        await d.press("2", "3", "4", "5", "1")
        assert d.screen.query_one(Banner).display
        d.world.session.error = None
        await d.until_lacks("on fire")


@pytest.mark.slow
async def test_damage_of_the_log_is_on_every_screen_until_it_is_repaired(drive):
    async with drive(running()) as d:
        d.world.session.problems.append("line 3 is torn")
        for key in "2351":
            await d.press(key)
            await d.until_shows("all numbers are lower bounds")
            assert d.screen.query_one(Banner).size.height == 1
        assert not d.notices()
        d.world.session.problems.clear()
        await d.until(lambda: not d.screen.query_one(Banner).display)
        d.log.add(ev.RecordsLost(1, "a block was damaged"))
        await d.until(lambda: d.screen.query_one(Banner).display)
        assert "lost" in d.screen.query_one(Banner).troubles[0]


async def test_how_far_a_long_log_was_read_is_shown_until_the_end(drive):
    async with drive(running()) as d:
        d.world.session.is_long = True
        d.log.add(ev.Message("info", "on"))
        await d.until(lambda: d.screen.query_one(Banner).display)
        assert f"of {d.world.session.end_seq:,} records" in d.screen.query_one(Banner).troubles[0]
        d.world.session.is_long = False
        d.log.add(ev.Message("info", "on"))
        await d.until(lambda: not d.screen.query_one(Banner).display)


@pytest.mark.slow
@pytest.mark.usefixtures("whole_frames")
async def test_nothing_is_painted_when_nothing_changes(drive):
    async with drive(running().add(ev.CampaignEnded("stopped")), shows="STOPPED") as d:
        await d.still()
        painted = []
        d.app._display = lambda screen, renderable: painted.append(renderable)

        async def quiet():
            painted.clear()
            polls = d.world.session.polls
            d.app.tick()
            await d.until(lambda: d.world.session.polls > polls + 10)
            await d.pilot.pause()
            return not [p for p in painted if p is not None]

        # What was in progress may be painted late, but then it comes to rest.
        assert any([await quiet() for _ in range(3)][1:])


async def test_leaving(drive):
    async with drive(running()) as d:
        await d.press("q")
    assert d.app.return_code == 0


@pytest.mark.slow
async def test_a_poll_that_ends_while_all_is_taken_down(drive, monkeypatch):
    """Who leaves may do so while the log is read: the screens lose their widgets meanwhile."""

    def gone(*_):
        raise AssertionError("a screen without widgets was drawn on")

    async with drive(running(), press="2") as d:
        d.app._running = False  # what Textual does first; nothing can come in between here
        for name in ("show", "tick", "describe_row", "details"):
            monkeypatch.setattr(d.screen, name, gone)
        d.app.on_changes(Changes(campaign=True, reset=True, records=1))
        d.app.tick()
        d.screen.show_detail()
        d.app.refresh_footer()
        monkeypatch.undo()
        d.app._running = True


@pytest.mark.parametrize(
    ("target", "room", "shown"),
    [
        ("/w/x-2.0/test/test_a.py:test_of_b", 33, "/w/x-2.0/test/test_a.py:test_of_b"),
        ("/w/x-2.0/test/test_a.py:test_of_b", 32, "…/x-2.0/test/test_a.py:test_of_b"),
        ("/w/x-2.0/test/test_a.py:test_of_b", 29, "…/test/test_a.py:test_of_b"),
        ("/w/a b/test_a.py:test_of_b", 20, "…test_a.py:test_of_b"),
        ("package.module:function", 12, "…le:function"),
        ("/usr/bin/tiffinfo -q /a/b @@", 20, "tiffinfo -q /a/b @@"),
    ],
)
def test_of_a_target_folders_are_left_out_first(target, room, shown):
    assert brief_target(target, room) == shown


@pytest.mark.slow
async def test_the_name_of_a_test_is_seen_on_every_screen(drive):
    log = Log()
    target = "/home/somebody/projects/priority-2.0.0/test/test_priority.py:test_of_weights"
    log.add(ev.CampaignStarted("weights", "zest", target, 7, 60.0, 0, ["main"], WALL, "0.1"))
    async with drive(log, size=(80, 24)) as d:
        for key in "12345":
            await d.press(key)
            assert "/test_priority.py:test_of_weights " in d.lines()[0]


@pytest.mark.slow
async def test_at_80_cells_titles_of_screens_are_whole_and_the_budget_is_there(drive):
    async with drive(mutated(), size=(80, 24)) as d:
        tabs = d.lines()[1]
        titles = [title for tab, _, title in TABS if tab not in d.app.status.absent]
        assert all(title in tabs for title in titles), tabs
        assert "0:10:00 / 0:30:00" in tabs


async def test_narrow_short_and_tiny_terminals(drive):
    async with drive(running(), size=(200, 60)) as d:
        for size in ((60, 12), (30, 6), (8, 3)):
            await d.pilot.resize_terminal(*size)
            await d.until(lambda size=size: len(d.lines()) == size[1])
            assert "fuzztui"[: size[0] - 2] in d.lines()[0]
            for key in "23451":
                await d.pilot.press(key)


@pytest.mark.slow
async def test_resizing_keeps_up(drive):
    async with drive(running()) as d:
        for size in ((60, 20), (140, 50), (80, 24)):
            await d.pilot.resize_terminal(*size)
            await d.until(lambda size=size: len(d.lines()) == size[1])
            await d.until(lambda: "RUNNING" in d.text() and "Events" in d.text())


@pytest.mark.slow
async def test_kills_have_a_tile_a_line_and_a_chart(drive):
    async with drive(mutated()) as d:
        assert "Corpus  " not in d.text().split("Edges", 1)[1]  # the chart that gave way
        for size, gone in (((80, 24), "Exec/s  "), ((60, 22), "Edges  ")):
            await d.pilot.resize_terminal(*size)
            await d.until(lambda size=size: len(d.lines()) == size[1])
            await d.until(lambda gone=gone: "Mutants killed" in d.text() and gone not in d.text())


async def test_without_mutants_there_is_no_word_of_them(drive):
    async with drive(running()) as d:
        d.assert_lacks("killed", "last kill")


async def test_mutants_that_come_later_change_the_picture(drive):
    async with drive(started("late", engine="mu2")) as d:
        assert "Corpus" in d.text()
        ids = found(d.log, 40)
        d.log.add(killed("main", ids[3], 1, 5), dt=1.0)
        await d.until_shows("1/40", "Mutants killed  1", "last kill 0s ago")


async def test_what_one_entry_killed_is_one_event(drive):
    log = started("m", engine="mu2")
    ids = found(log, 10)
    for id in ids[:4]:
        log.add(ev.MutantState("main", id, "killed", "main/7", "value"))
    log.add(ev.MutantState("main", ids[5], "killed", "main/8", "value"))
    async with drive(log) as d:
        d.assert_shows("tests/program.py:13  pos [+ → -] 0  by main/7  and 3 more", "by main/8")
        assert d.text().count("by main/") == 2


async def test_a_long_trouble_is_read_to_its_end(drive):
    log = running(60)
    reason = "core_pattern starts a program: echo core >/proc/sys/kernel/core_pattern, " * 2
    log.add(ev.InstanceState("main", "stalled", reason=f"{reason}or fuzz it as it is"))
    async with drive(log, size=(80, 24)) as d:
        await d.until(lambda: "or fuzz it as it is" in " ".join(d.text().split()))
        assert d.screen.query_one(Banner).size.height == 3
        await d.pilot.resize_terminal(200, 40)
        await d.until(lambda: d.screen.query_one(Banner).size.height == 1)


async def test_a_trouble_that_is_longer_still_is_cut_with_a_sign(drive):
    log = running(60).add(ev.InstanceState("main", "stalled", reason="words " * 200))
    async with drive(log, size=(80, 24)) as d:
        await d.until(lambda: d.screen.query_one(Banner).size.height == 3)
        assert d.lines()[4].endswith("…")


async def test_how_to_go_on_is_whole_in_a_narrow_terminal(drive):
    async with drive(running(60), size=(80, 24), alive=False) as d:
        await d.until(
            lambda: "Resume with: fuzztui RUN/campaign.toml" in " ".join(d.text().split())
        )


async def test_a_replay_of_a_pause_is_not_a_pause_of_the_replay(drive):
    async with drive(running(60).add(ev.CampaignState("paused")), replay_at=1e6) as d:
        assert "paused" in d.lines()[0].partition("▷ REPLAY")[2]


@pytest.mark.parametrize(("state", "orphaned"), [("empty", False), ("running", True)])
def test_nobody_is_said_to_be_dead_before_the_log_was_read(state, orphaned):
    assert status_of(State(state=state), 0.0, alive=False).orphaned is orphaned


def paused_for_66_seconds(seconds: int = 600):
    return running(seconds).add(ev.CampaignState("paused")).add(ev.CampaignState("running"), dt=66)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "words"),
    [
        (140, "0:10:00 of 0:30:00 run, paused 1m 06s   33%"),
        (110, "0:10:00 of 0:30:00 run   33%"),
        (80, "33% of 0:30:00 run"),
        (60, "0:11:06 33%"),
    ],
)
async def test_after_a_pause_there_is_one_clock_and_the_budget_says_what_it_counts(
    drive, width, words
):
    async with drive(paused_for_66_seconds(), size=(width, 40)) as d:
        await d.until_shows(words)
        top = d.lines()[1]
        assert "0:11:06" in top  # campaign time
        assert any("0:11:06" in line for line in d.lines()[2:])  # of charts and events
        await d.press("x")
        assert "after 0:11:06?" in " ".join(d.text().replace("│", " ").split())


async def test_without_a_pause_the_budget_is_a_plain_limit(drive):
    async with drive(running()) as d:
        assert "0:10:00 " in d.lines()[1]
        assert " run" not in d.lines()[1]


async def test_why_a_campaign_failed_can_be_read_to_its_end(drive):
    why = (
        "The program was not compiled with afl-cc, or its instrumentation is hidden behind a "
        "script: build it with target.build, or name the program that does contain it."
    )
    log = started()
    log.add(ev.InstanceState("main", "failed", 0, why), ev.CampaignState("failed", why), dt=3)
    async with drive(log, size=(80, 24)) as d:
        banner = d.screen.query_one(Banner)
        assert banner.size.height == 3
        words = " ".join(" ".join(d.lines()[2:5]).split())
        assert words == f"! The campaign has failed: {why}"


async def test_a_failed_campaign_tells_what_its_instances_said(drive):
    log = started().add(
        ev.InstanceState("main", "failed", 0, "no seeds"),
        ev.CampaignState("failed", "every instance has failed"),
        dt=3,
    )
    async with drive(log, size=(80, 24)) as d:
        troubles = d.screen.query_one(Banner).troubles
        assert troubles == [
            "The campaign has failed: every instance has failed", "main failed: no seeds"
        ]  # fmt: skip

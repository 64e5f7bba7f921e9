"""What the screens show of hosts: their state, their sums, and what is old while one is lost."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hosted import CUT, HubLog, connected, hosted, instances_on, start
from turnlog import midway

from fuzztui.kernel.model.finding_tallies import tallies
from fuzztui.kernel.model.host_summary import host_summaries, waiting_commands
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import Pause, Resume
from fuzztui.tui.frame.action_context import ActionContext, why_not_show_hosts
from fuzztui.tui.frame.banner import Banner
from fuzztui.tui.labels.event_rows import event_rows
from fuzztui.tui.labels.hosts import host_facts, host_warning, hosts_text, link_cell
from fuzztui.tui.labels.run_files import on_host
from fuzztui.tui.labels.status import Status, status_of
from fuzztui.tui.screens.overview.tables import HostTabs


def status(log: HubLog, *, alive: bool = True, later: float = 0.0) -> Status:
    state = log.state
    return status_of(state, state.t + later, alive=alive)


# ------------------------------------------------------------------------ sums


def test_sums_by_host_and_what_is_unknown_of_a_lost_one():
    state = hosted(3, 2).state
    of = host_summaries(state, tallies(state))
    assert list(of) == ["h1", "h2", "h3"]
    rows = [i for i in state.instances.values() if i.host == "h1"]
    assert of["h1"].execs == sum(i.stats.execs for i in rows)
    assert of["h1"].execs_per_sec == pytest.approx(sum(i.stats.execs_per_sec for i in rows))
    assert of["h1"].corpus == sum(i.corpus for i in rows)
    assert (of["h1"].instances, of["h1"].cpu, of["h1"].groups) == (2, 1.94, {"crash": 1})
    assert (of["h2"].execs_per_sec, of["h2"].cpu) == (-1.0, -1.0)
    assert of["h2"].execs > 0
    assert of["h2"].where == "ann@box2:/runs/ann/run2"
    # One cause is one group, whichever host has met it.
    assert tallies(state)["crash"].groups == 1


def test_the_rate_of_a_lost_host_leaves_the_sum_and_comes_back():
    log = hosted(2, 1, lost=())
    before = status(log).execs_per_sec
    log.add(ev.HostState("h2", "lost", CUT), dt=1.0)
    lost = status(log).execs_per_sec
    assert 0 < lost < before
    assert log.state.series["rate"].last == pytest.approx(lost)
    log.add(ev.HostState("h2", "connected"), ev.Resources("h2_main", 0.9, 1, 1), dt=1.0)
    assert status(log).execs_per_sec == pytest.approx(lost)
    log.add(ev.Stats("h2_main", 9_999_999, 1000.0, 50), host="h2", dt=1.0)
    assert status(log).execs_per_sec == pytest.approx(lost + 1000.0)


def test_a_paused_instance_of_a_lost_host_stays_at_rate_0():
    log = hosted(1, 2, lost=()).add(ev.InstanceState("h1_s1", "paused"), host="h1")
    log.add(ev.HostState("h1", "lost", CUT))
    rates = {i.id: i.execs_per_sec for i in log.state.instances.values()}
    assert rates == {"h1_main": -1.0, "h1_s1": 0.0}


def test_instances_are_of_their_host_before_it_has_reported_them():
    log = HubLog().add(ev.CampaignStarted("c", "zest", instances=["h1_main", "h10_main", "h1_s1"]))
    log.add(ev.HostState("h1", "connecting"))
    assert {i.id: i.host for i in log.state.instances.values()} == {
        "h1_main": "h1", "h10_main": "", "h1_s1": "h1",
    }  # fmt: skip


def test_the_age_of_statistics_is_not_that_of_a_lost_host():
    now = status(hosted(3, 2, lost=["h2"], lost_s=300))
    assert now.stats_age < now.stale_s
    assert now.hosts["h2"].stats_t <= 300


# ------------------------------------------------------------------------ text


def test_a_lost_host_has_an_age_and_a_reason():
    now = status(hosted(3, 2), later=30.0)
    text, style = link_cell(now.hosts["h2"], now)
    assert "lost 1m" in text
    assert CUT in text
    assert style == "bold failed"
    assert hosts_text(now.hosts.values()) == ("3 hosts, 1 lost", True)
    assert host_warning(now).startswith("h2 lost 1m")
    facts = {f.name: "".join(s.text for s in f.spans) for f in host_facts(now.hosts["h2"], now)}
    assert facts["run there"] == "ann@box2:/runs/ann/run2"
    assert facts["clock there"] == "1h 00m ahead"
    assert "8 cores" in facts["machine"]
    assert "clock there" not in [f.name for f in host_facts(now.hosts["h1"], now)]


def test_many_lost_hosts_are_one_warning_that_names_some():
    now = status(hosted(20, 1, lost=[f"h{n}" for n in range(1, 11)]))
    assert host_warning(now).startswith("10 of 20 hosts are not connected")
    assert host_warning(now).endswith("and 7 more")


def test_hostile_text_of_a_host_is_not_drawn():
    log = HubLog().add(ev.HostState("h1", "lost", "\x1b[31m[/x]", "a\x07b", "/r\x1b[2J"))
    now = status(log)
    drawn = "".join(s.text for f in host_facts(now.hosts["h1"], now) for s in f.spans)
    assert "\x1b" not in drawn
    assert "\x07" not in drawn


def test_without_a_hub_the_last_known_states_are_no_present_ones():
    now = status(hosted(2, 1, lost=()), alive=False)
    assert now.orphaned
    assert all(link_cell(of, now)[0].startswith("?") for of in now.hosts.values())
    assert not any(link_cell(of, now)[1] == "running" for of in now.hosts.values())


def test_the_steps_of_preparing_a_host_are_one_row_of_the_event_list():
    log = HubLog().add(ev.CampaignStarted("c", "zest"))
    connected(log, "h1")
    state = log.state
    rows = [row for row in event_rows(state) if row.described.label == "host"]
    assert [row.described.text.split()[0] for row in rows] == ["connected", "connected"]
    log.add(ev.HostState("h1", "preparing", "sending the campaign 99%"))
    [newest, *_] = event_rows(log.state)
    assert newest.described.text.endswith("99%")


def test_events_about_the_campaign_on_a_host_have_its_name():
    log = hosted(2, 1, lost=())
    rows = event_rows(log.state)
    states = {(r.described.instance, r.described.text) for r in rows if r.screen == "log"}
    assert {("h1", "running"), ("h2", "running"), ("", "running")} <= states


def test_a_command_for_a_lost_host_waits_and_others_do_not():
    log = hosted(2, 1, lost=["h2"])
    waits = "waits until h2 is connected again"
    for n, name in enumerate(("h1_main", "h2_main", "")):
        log.add(ev.CommandIssued(f"c{n}", encode_command(Pause(name)), "me"))
        log.add(ev.CommandProgress(f"c{n}", waits if n else "half", 0.5))
    assert [c.id for c in waiting_commands(log.state)] == ["c1", "c2"]
    log.add(ev.CommandApplied("c1", "h2_main"), ev.HostState("h2", "connected"))
    assert waiting_commands(log.state) == []


# ------------------------------------------------------------------ mutant phase


def test_the_path_of_an_entry_on_its_host():
    state = hosted().state
    path = on_host(state.entries["h3_main/0"], state)
    assert path.endswith("ann@box3:/runs/ann/run3/out/h3_main/queue/id:000000,time:0")
    state.instances["h3_main"].host = ""
    assert on_host(state.entries["h3_main/0"], state) == ""


def test_hosts_in_different_phases():
    log = HubLog().add(ev.CampaignStarted("c", "afl", budget_s=600.0))
    for n, host in enumerate(("h1", "h2"), 1):
        connected(log, host, n)
        plan = {"mutants_s": 300.0, "abreast": 2, "count": 10, "listed": 7, "each_s": 5.0}
        start(log, host, instances_on(host, 1))
        log.add(
            ev.MutantsShard("", n, 2, 14, "p"),
            ev.PhaseStarted("mutants", plan),
            ev.MutantsFound("", "m", "m.c", "", [{"id": f"m{n}", "line": 1, "place": n}]),
            ev.MutantProgress(f"m{n}", "fuzzing", f"{host}_m{n}"),
            ev.InstanceHello(f"{host}_m{n}", "afl", mutant=f"m{n}"),
            ev.Stats(f"{host}_m{n}", 500, 100.0, 5),
            host=host,
        )
    state = log.state
    assert (state.plan["listed"], state.plan["abreast"], state.plan["mutants_s"]) == (14, 4, 300.0)
    assert state.shard == 0  # all hosts together have all of them
    of = host_summaries(state, tallies(state))
    assert (of["h1"].instances, of["h1"].execs) == (1, 500)  # executions of mutants count
    log.add(ev.PhaseStarted("target", plan), host="h1")
    state = log.state
    assert state.stage == "mutants"
    assert [h.stage for h in state.hosts.values()] == ["target", "mutants"]


# ---------------------------------------------------------------------- screens


def row_of(d, name: str) -> str:
    return next(line for line in d.lines() if line.startswith(f" {name} "))


async def test_a_lost_host_cannot_be_overlooked(drive):
    async with drive(hosted(), size=(80, 24)) as d:
        text = d.text()
        assert "3 hosts, 1 lost" in d.lines()[0]
        assert d.screen.query_one(Banner).display
        assert CUT in text.replace("\n", " ")
        assert "? was running" in row_of(d, "h2_main")
        assert "▲ h2 lost" in row_of(d, "h2_main")
        assert "● h1" in row_of(d, "h1_main")
        d.log.add(ev.HostState("h2", "connected"))
        await d.until_lacks("3 hosts, 1 lost")
        assert not d.screen.query_one(Banner).display
        assert "● running" in row_of(d, "h2_main")


async def test_the_table_of_hosts_and_the_instances_of_one(drive):
    async with drive(hosted(4, 2), press="t") as d:
        assert d.app.focused is d.screen.hosts
        assert [d.screen.hosts.source.key(n) for n in range(4)] == ["h1", "h2", "h3", "h4"]
        assert not d.screen.instances.display
        await d.press("P")  # all instances of the host
        assert d.commands == [Pause("h1")]
        await d.press("down", "enter")
        assert d.app.focused is d.screen.instances
        assert {row.host for row in map(d.screen.instances.source.row, ("h2_main", "h2_s1"))}
        assert len(d.screen.instances.source) == 2
        assert "instances of h2" in d.text()
        await d.press("t")
        assert d.screen.hosts.current.name == "h2"
        await d.press("t")
        assert len(d.screen.instances.source) == 8


async def test_a_host_that_was_given_up_is_tried_again_by_the_same_key(drive):
    log = hosted(2, 1, lost=()).add(ev.HostState("h1", "failed", "its disk is full"))
    async with drive(log, press="t") as d:
        assert d.screen.hosts.current.name == "h1"
        await d.press("P")
        assert d.commands == [Resume("h1")]


def test_without_a_log_it_is_not_known_whether_there_are_hosts():
    read = ActionContext(state="running")
    assert "[hosts]" in why_not_show_hosts(read)
    unread = why_not_show_hosts(ActionContext())
    assert unread and "[hosts]" not in unread
    assert not why_not_show_hosts(replace(read, hosts=True))


async def test_hosts_are_sorted_by_their_link(drive):
    async with drive(hosted(4, 1, lost=["h3"]), press="t") as d:
        d.screen.hosts.sort_by(next(c for c in d.screen.hosts.columns if c.id == "link"))
        assert d.screen.hosts.source.key(0) == "h3"
        d.screen.instances.sort_by(next(c for c in d.screen.instances.columns if c.id == "host"))
        keys = [d.screen.instances.source.key(n) for n in range(4)]
        assert keys == ["h1_main", "h2_main", "h3_main", "h4_main"]


async def test_a_campaign_without_hosts_shows_none(drive):
    async with drive(hosted(0, lost=()), size=(120, 40)) as d:
        assert not d.screen.query_one(HostTabs).display
        assert "host" not in [c.id for c, _ in d.screen.instances._layout.cells]
        assert "t Hosts" not in d.text()
        await d.press("t")
        d.assert_notice("[hosts]")
        assert d.screen.instances.display


async def test_a_pending_command_says_for_what_it_waits(drive):
    async with drive(hosted()) as d:
        d.log.add(ev.CommandIssued("c1", encode_command(Pause("h2_main")), "me"))
        d.log.add(ev.CommandProgress("c1", "waits until h2 is connected again"))
        await d.until_shows("waits until h2 is connected again")
        assert "pause…" in row_of(d, "h2_main")


@pytest.mark.slow
async def test_the_log_of_one_host(drive):
    async with drive(hosted(), size=(120, 40), press="5") as d:
        await d.until(lambda: len(d.table.source) > 5)
        d.screen.narrow("host=h2 event=campaign")
        await d.until(lambda: len(d.table.source) == 3)
        await d.until(lambda: d.table.current is not None)
        assert {d.table.current.host} == {"h2"}
        d.screen.narrow("event=host")
        await d.until(lambda: d.table.current is not None and len(d.table.source) > 9)
        await d.press("G", "i")
        await d.until_shows("of host h2")
        assert d.screen.source.query.host == "h2"
        await d.press("i")
        assert d.screen.source.query.host == ""


async def test_a_group_names_all_its_hosts_and_an_entry_where_it_is(drive):
    async with drive(hosted(), size=(120, 40), press="3") as d:
        await d.until(lambda: re.search(r" h1 h3 ", d.text()))
        await d.press("2")
        d.screen.narrow("host=h3")
        await d.until(lambda: d.table.current is not None and d.table.current.key == "h3_main/0")
        assert all(d.table.source.row(d.table.source.key(n)).instance.startswith("h3_")
                   for n in range(len(d.table.source)))  # fmt: skip
        await d.until_shows("only on the host h3")


async def test_in_a_replay_hosts_come_and_go(drive):
    log = hosted(2, 1, lost=["h2"])
    async with drive(log, replay_at=log.t) as d:
        await d.until(lambda: d.screen.query_one(HostTabs).display)
        await d.press("t")
        assert d.screen.hosts.display
        d.app.seek(0.0)
        await d.until(lambda: d.app.campaign.hosts == {} or "lost" not in d.lines()[0])
        d.app.seek(log.t)
        await d.until_shows("▲ h2 lost")


async def test_without_a_hub_it_is_the_hub_that_is_missing(drive):
    async with drive(hosted(lost=()), alive=False, shows="NO HUB") as d:
        assert "the hosts continue" in d.text()
        assert "? was running" in row_of(d, "h1_main")


@pytest.mark.slow
@pytest.mark.parametrize("many", [1, 4, 50, 200])
async def test_any_number_of_hosts_in_any_terminal(drive, many):
    async with drive(hosted(many, 2, seconds=120, lost=["h1"]), size=(80, 24)) as d:
        for size in ((80, 24), (60, 20), (120, 40), (40, 12), (220, 60), (24, 7)):
            await d.pilot.resize_terminal(*size)
            await d.until(lambda size=size: len(d.lines()) == size[1])
            for _ in range(2):
                await d.press("t", "down")
                assert d.app._exception is None
        await d.pilot.resize_terminal(80, 24)
        await d.until(lambda: len(d.lines()) == 24)
        await d.press("g")
        names = [re.match(r" (h\d+)(_\w+)? ", line) for line in d.lines()]
        assert sum(m is not None for m in names) >= min(5, 2 * many)


@pytest.mark.slow
async def test_fuzz_first_is_the_same_as_before(drive):
    async with drive(midway()) as d:
        assert not d.screen.query_one(HostTabs).display

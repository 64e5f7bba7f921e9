"""What each kind of event means for the state."""

from dataclasses import replace

import pytest
from folding import fold
from restored import restored

from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.fold import MAX_UNKNOWN_KINDS, apply
from fuzztui.kernel.model.selectors import progress, remaining, running_time, totals
from fuzztui.kernel.model.state import RECENT_COMMANDS, RECENT_RECORDS, State
from fuzztui.kernel.wire import events as ev
from fuzztui.tools.status.status import status_dict


def test_the_campaign():
    state = fold(
        ev.CampaignStarted("c", "zest", "lib:f", 7, 60.0, 1000, ["main", "w1"], 1e9, "0.1"),
        ev.SupervisorStarted(12, 1e9 + 5, "box"),
        ev.CampaignState("running"),
        ev.BudgetSet(120.0, 0),
    )
    assert (state.name, state.engine, state.target, state.seed) == ("c", "zest", "lib:f", 7)
    assert (state.budget_s, state.budget_trials) == (120.0, 0)
    assert state.host == "box"
    assert (state.started_wall, state.wall, state.wall_t) == (1e9, 1e9 + 5, 2.0)
    assert state.state == "running"
    assert [i.state for i in state.instances.values()] == ["waiting", "waiting"]
    fold(ev.CampaignEnded("finished", "budget"), state=state)
    assert (state.state, state.reason) == ("finished", "budget")


def test_sums_and_maxima_over_instances():
    state = fold(
        ev.Stats("a", execs=100, execs_per_sec=10.5, corpus=3, crashes=1, edges=50, edges_valid=40),
        ev.Stats("b", execs=7, execs_per_sec=0.25, corpus=2, hangs=2, edges=60),
        ev.Resources("a", 0.9, 1000, 2),
        ev.Resources("b", 0.5, 500, 1),
        ev.Stats("a", execs=200, execs_per_sec=20.5, corpus=4, crashes=1, edges=55, edges_valid=41),
    )
    last = {name: series.last for name, series in state.series.items()}
    assert last == {
        "execs": 207, "rate": 20.75, "corpus": 6, "crashes": 1, "hangs": 2, "edges": 60,
        "edges_valid": 41, "cpu": 1.4,
    }  # fmt: skip
    fold(ev.Stats("b", edges=20), state=state)
    assert state.series["edges"].last == 55, "an instance that begins again takes its edges along"


def test_an_instance_has_brief_series_of_its_own_unless_it_fuzzes_a_mutant():
    state = fold(
        ev.Stats("a", execs_per_sec=100.0, edges=5),
        ev.Stats("b", execs_per_sec=50.0, edges=7),
        ev.InstanceState("a", "paused"),
        ev.InstanceHello("m", "afl", mutant="m1"),
        ev.Stats("m", execs_per_sec=9.0, edges=9),
    )
    last = {name: series.last for name, series in state.instance_series.items()}
    assert last == {"rate/a": 0, "edges/a": 5, "rate/b": 50.0, "edges/b": 7}
    assert restored(to_json(state)).instance_series == state.instance_series


@pytest.mark.parametrize("word", ["paused", "stopped", "finished", "failed", "restarting"])
def test_what_does_not_run_has_no_rate(word):
    state = fold(
        ev.InstanceState("a", "running", 5),
        ev.Stats("a", execs=10, execs_per_sec=100.0),
        ev.Resources("a", 1.0, 1000, 2),
        ev.InstanceState("a", word, 5 if word == "paused" else 0),
        ev.Stats("a", execs=12, execs_per_sec=90.0),  # a late look at the same file
    )
    a = state.instances["a"]
    assert (a.stats.execs, a.execs_per_sec, state.series["rate"].last) == (12, 0.0, 0)
    assert (a.cpu, a.rss) == ((1.0, 1000) if word == "paused" else (0.0, 0))
    fold(ev.InstanceState("a", "running", 6, "", 1), ev.Stats("a", execs_per_sec=80.0), state=state)
    fold(ev.InstanceState("a", "stalled", 6, "75 s since the last execution"), state=state)
    assert (state.instances["a"].execs_per_sec, state.series["rate"].last) == (0.0, 0)
    fold(ev.Stats("a", execs_per_sec=80.0), state=state)  # of before
    assert totals(state).stats.execs_per_sec == 0.0
    fold(ev.InstanceState("a", "running", 6, "", 1), ev.Stats("a", execs_per_sec=80.0), state=state)
    assert state.series["rate"].last == 80.0
    assert (a.pid, a.restarts) == (6, 1)


def test_a_rate_that_nobody_knows_is_none_and_adds_nothing():
    state = fold(ev.InstanceState("a", "running", 5), ev.Stats("a", execs=8, execs_per_sec=-1.0))
    assert (totals(state).stats.execs_per_sec, status_dict(state)["execs_per_sec"]) == (-1.0, None)
    assert "rate" not in state.series  # 0 would be a figure
    fold(ev.Stats("b", execs_per_sec=50.0), state=state)
    assert (totals(state).stats.execs_per_sec, state.series["rate"].last) == (50.0, 50.0)
    fold(ev.Stats("a", execs_per_sec=30.0), state=state)
    assert (totals(state).stats.execs_per_sec, state.series["rate"].last) == (80.0, 80.0)
    fold(ev.Stats("a", execs_per_sec=-7.0), state=state)
    assert (state.instances["a"].execs_per_sec, state.series["rate"].last) == (-1.0, 50.0)
    fold(ev.InstanceState("b", "stopped"), ev.InstanceState("a", "paused", 5), state=state)
    assert (totals(state).stats.execs_per_sec, state.series["rate"].last) == (0.0, 0.0)


def test_the_age_of_figures():
    state = fold(ev.Message("info", "x"), ev.Stats("a", age=0.5), ev.Stats("b", age=99.0))
    assert state.instances["a"].stats_t == 1.5
    assert state.instances["b"].stats_t == 0.0


def test_numbers_that_make_no_sense_are_unknown():
    nan, huge = float("nan"), 10**30
    state = fold(
        ev.Stats("a", execs=-5, execs_per_sec=nan, corpus=huge, edges=huge, stability=nan, age=nan),
        ev.Resources("a", float("inf"), -1),
    )
    a = state.instances["a"]
    assert (a.stats.execs, a.execs_per_sec, a.corpus, a.stats.edges) == (0, 0.0, 0, -1)
    assert (a.cpu, a.rss) == (0.0, 0)
    assert a.stats.stability == -1.0


def test_hello():
    state = fold(ev.InstanceHello("a", "zest", "0.1", "3.12.1", 44, ["skip", "promote"]))
    a = state.instances["a"]
    assert (a.engine, a.version, a.python, a.pid) == ("zest", "0.1", "3.12.1", 44)
    assert a.capabilities == ["skip", "promote"]


SAVED = ev.EntrySaved("a", 4, "queue/id:4", [1, 2], "havoc", time_ms=10, execs=20, size=5, cov=True)
DESCRIBED = ev.EntryDescribed("a", 4, ["edge"], 31, True, "success", "promoted")


def test_entries_in_either_order():
    one, two = fold(SAVED, DESCRIBED), fold(DESCRIBED, SAVED)
    assert replace(one.entries["a/4"], reported_seq=2) == two.entries["a/4"]
    entry = one.entries["a/4"]
    assert (entry.src, entry.op, entry.size, entry.cov) == ([1, 2], "havoc", 5, True)
    assert (entry.reasons, entry.edges, entry.steer) == (["edge"], 31, "promoted")
    assert (entry.seq, entry.t, entry.saved) == (1, 1.0, True)
    assert not fold(DESCRIBED).entries["a/4"].saved
    fold(ev.EntryDescribed("a", 4, ["kill"]), state=one)
    entry = one.entries["a/4"]
    assert (entry.reasons, entry.steer, entry.op) == (["kill"], "", "havoc")


def test_files_count_at_once_though_statistics_lag():
    state = fold(
        ev.Stats("a", corpus=1, crashes=0),
        ev.EntrySaved("a", 0),
        ev.EntrySaved("a", 1),
        ev.EntrySaved("a", 1),
        ev.FindingSaved("a", "crash", "crashes/x"),
        ev.FindingSaved("a", "hang", "hangs/y"),
        ev.Stats("a", corpus=1, crashes=0),
    )
    a = state.instances["a"]
    assert (a.corpus, a.crashes, a.hangs) == (2, 1, 1)
    assert state.series["corpus"].last == 2
    assert state.series["crashes"].last == state.series["hangs"].last == 1
    fold(ev.Stats("a", corpus=9, crashes=3), state=state)
    assert (a.corpus, a.crashes) == (9, 3)


def test_an_id_that_a_resumed_afl_gives_to_another_input():
    before = ev.EntrySaved("main", 3, "queue/id:000003,src:000001,op:havoc", [1], "havoc")
    described = ev.EntryDescribed("main", 3, ["edge"], edges=9, steer="skipped")
    after = ev.EntrySaved("main", 3, "queue/id:000003,time:0,orig:id:000007", [], "orig:id:000007")
    state = fold(before, described, after)
    entry = state.entries["main/3"]
    assert (entry.file, entry.src, entry.reasons, entry.edges) == (after.file, [], [], -1)
    assert (entry.t, entry.steer) == (0.0, "skipped"), "found when its name says"
    assert state.instances["main"].corpus == 1
    assert state.instances["main"].last_find_t == 1.0


def test_imported_entries_are_no_finds():
    state = fold(ev.EntrySaved("a", 0), ev.EntrySaved("a", 1, sync="b"))
    assert state.instances["a"].last_find_t == 1.0


def finding(file, signature, count=1):
    return (
        ev.FindingSaved("a", "crash", file, 3, [1], "havoc", 6),
        ev.FindingDescribed("a", "crash", file, signature, "T", "p.py:1", "trace", "b'x'", count),
    )


def test_findings_in_either_order():
    saved, described = finding("crashes/x", "S")
    one, two = fold(saved, described), fold(described, saved)
    assert one.findings == two.findings
    assert one.groups == two.groups == {"S": ["a/crashes/x"]}
    row = one.findings["a/crashes/x"]
    assert (row.id, row.sig, row.title, row.place, row.count) == (3, 6, "T", "p.py:1", 1)


def test_the_first_of_a_signature_by_the_log_not_by_its_description():
    (x, x2), (y, y2), (z, z2) = finding("x", "S"), finding("y", "S"), finding("z", "R")
    state = fold(x, y, z, y2, z2)
    assert state.groups == {"S": ["a/y"], "R": ["a/z"]}
    assert state.findings["a/y"].first
    changes = apply(state, [ev.Record(6, 6, x2)])
    assert state.groups["S"] == ["a/x", "a/y"]
    assert (state.findings["a/x"].first, state.findings["a/y"].first) == (True, False)
    assert changes.findings == {"a/x", "a/y"}


def test_a_signature_may_change():
    (x, x2), (y, y2) = finding("x", "S"), finding("y", "S")
    state = fold(x, x2, y, y2, finding("x", "R")[1])
    assert state.groups == {"S": ["a/y"], "R": ["a/x"]}
    assert state.findings["a/y"].first
    fold(finding("y", "")[1], state=state)
    assert state.groups == {"R": ["a/x"]}
    assert state.findings["a/y"].first


def test_commands():
    issued = [ev.CommandIssued(f"c{n}", {"c": "skip", "entry": n}, "me@box") for n in range(3)]
    state = fold(
        *issued, ev.CommandApplied("c0", "a", 77, "skipped"), ev.CommandRejected("c1", "a", "gone")
    )
    c0, c1, c2 = state.commands.values()
    assert (c0.state, c0.trial, c0.text, c0.instance) == ("applied", 77, "skipped", "a")
    assert (c0.t, c0.done_t) == (1.0, 4.0)
    assert (c1.state, c1.text, c1.trial) == ("rejected", "gone", -1)
    assert (c2.state, c2.by, c2.command) == ("pending", "me@box", {"c": "skip", "entry": 2})


def test_how_far_a_command_has_come():
    issued = ev.CommandIssued("c1", {"c": "minimise", "file": "crashes/x"}, "me")
    state = fold(issued, ev.CommandProgress("c1", "half", 0.5), ev.CommandProgress("c9", "?", 0.1))
    assert (state.commands["c1"].text, state.commands["c1"].part) == ("half", 0.5)
    assert list(state.commands) == ["c1"]
    assert [r.event for r in state.recent] == [issued]
    fold(ev.CommandApplied("c1", detail="done"), ev.CommandProgress("c1", "late", 0.9), state=state)
    assert state.commands["c1"].text == "done"


def test_whose_queues_an_instance_imports():
    state = fold(ev.Synced("main", {"s1": 12, "stranger": 3, "odd": "x", "worse": True}))
    assert state.instances["main"].peers == {"s1": 12, "stranger": 3}
    assert not state.recent


def test_entries_of_a_passive_instance_are_not_the_campaigns():
    state = fold(ev.Stats("main", 100, corpus=7), ev.PassiveInstance("box_main", "box:/shared", 40))
    one = state.instances["box_main"]
    assert (one.state, one.passive, one.received) == ("passive", "box:/shared", 40)
    assert (totals(state).stats.corpus, totals(state).stats.execs) == (7, 100)
    assert not state.recent
    row = status_dict(state)["instances"][1]
    assert (row["passive"], row["received"], row["corpus"]) == ("box:/shared", 40, 0)
    assert restored(to_json(state)).instances == state.instances
    fold(ev.InstanceHello("box_main", "zest"), ev.InstanceState("box_main", "running"), state=state)
    assert (one.state, one.passive, one.received) == ("running", "", 0)


def test_what_cannot_be_asked_and_where_it_lies():
    hello = ev.InstanceHello("a", unable={"skip": "no compiler"}, directory="/x/a")
    state = fold(hello, ev.Stats("a", stability=9.0, age=0.5, slow_age=1.5), ev.InstanceHello("a"))
    one = state.instances["a"]
    assert (one.unable, one.directory) == ({}, "/x/a")
    assert (one.stats_t, one.slow_t) == (1.5, 0.5)


def test_commands_are_bounded_and_pending_ones_stay_longest():
    state = fold(ev.CommandIssued("old"), ev.CommandIssued("done"), ev.CommandApplied("done"))
    fold(*(ev.CommandIssued(f"c{n}") for n in range(RECENT_COMMANDS - 1)), state=state)
    assert "old" in state.commands
    assert "done" not in state.commands
    fold(ev.CommandIssued("one more"), ev.CommandApplied("done"), state=state)
    assert len(state.commands) == RECENT_COMMANDS
    assert "one more" in state.commands


def test_the_answer_to_a_command_that_nobody_knows():
    state = fold(ev.CommandApplied("c9", "a", 3, "skipped"))
    assert (state.commands["c9"].state, state.commands["c9"].command) == ("applied", {})


def test_recent_is_the_event_list_without_figures():
    state = fold(ev.Message("info", "1"), ev.Stats("a"), ev.Resources("a"), ev.Message("info", "2"))
    assert [r.seq for r in state.recent] == [1, 4]
    fold(*(ev.Message("info", str(n)) for n in range(RECENT_RECORDS)), state=state)
    assert len(state.recent) == RECENT_RECORDS


def test_unknown_kinds_are_counted_and_bounded():
    state = fold(ev.Unknown("a"), ev.Unknown("b"), ev.Unknown("a"))
    assert state.unknown == {"a": 2, "b": 1}
    fold(*(ev.Unknown(f"k{n}") for n in range(300)), state=state)
    assert len(state.unknown) == MAX_UNKNOWN_KINDS + 1
    assert sum(state.unknown.values()) == 303


def test_what_json_cannot_hold_becomes_a_message():
    deep = {}
    for _ in range(100):
        deep = {"x": deep}
    state = fold(
        ev.Unknown("k", {"x": float("inf")}), ev.Unknown("k", deep), ev.CommandIssued("c", deep)
    )
    assert [r.event.level for r in state.recent] == ["warning"] * 3
    assert state.commands["c"].command == {}


def test_changes_name_what_was_touched():
    state = State()
    changes = apply(state, [ev.Record(1, 0, ev.Message("info", "x"))])
    assert (changes.reset, changes.records) == (True, 1)
    changes = apply(state, [ev.Record(2, 0, SAVED), ev.Record(3, 0, finding("x", "S")[1])])
    assert (changes.instances, changes.entries, changes.findings) == ({"a"}, {"a/4"}, {"a/x"})
    assert not changes.reset
    changes = apply(state, [ev.Record(4, 0, ev.CommandIssued("c1"))])
    assert (changes.commands, changes.campaign) == ({"c1"}, False)
    assert apply(state, [ev.Record(4, 0, ev.CommandIssued("c2"))]).records == 0


def test_a_pause_of_the_whole_campaign_is_no_running_time():
    state = State()
    words = ((0, "running"), (10, "paused"), (12, "paused"), (50, "running"), (57, "stopping"))
    apply(state, [ev.Record(i, t, ev.CampaignState(w)) for i, (t, w) in enumerate(words, start=1)])
    assert (state.paused_s, state.paused_at, running_time(state)) == (40, -1, 17)
    assert sum(state.pauses[1::2]) - sum(state.pauses[::2]) == state.paused_s
    assert running_time(state, now=60) == 20
    apply(state, [ev.Record(6, 70, ev.CampaignState("paused"))])
    assert (running_time(state), running_time(state, now=99)) == (30, 30)
    state.budget_s = 40
    assert remaining(state) == 10
    assert progress(state) == 0.75
    apply(state, [ev.Record(7, 80, ev.CampaignEnded("stopped"))])
    assert running_time(state) == 30


@pytest.mark.parametrize("name", [[], {}, None, 7])
def test_a_command_whose_name_is_no_text_is_refused_as_any_other(name):
    state = fold(
        ev.CommandIssued("c1", {"c": name}),
        ev.CommandApplied("c1", "main"),
        ev.CommandRejected("c1", "s1", "why"),
    )
    assert (state.commands["c1"].state, state.commands["c1"].text) == ("rejected", "why")


def test_turns_too_short_for_a_rate_leave_a_gap() -> None:
    state = fold(ev.CampaignStarted("c", "afl"))
    for name in ("m1", "m2"):
        fold(
            ev.InstanceState(name, "starting"),
            ev.InstanceState(name, "running", 1),
            ev.Stats(name, execs=500, execs_per_sec=-1.0),
            ev.InstanceState(name, "finished"),
            state=state,
        )
    assert "rate" not in state.series, "0 would be a value"
    fold(ev.InstanceState("main", "running", 1), state=state)
    fold(ev.Stats("main", execs=900, execs_per_sec=40.0), state=state)
    fold(ev.InstanceState("main", "paused"), state=state)
    assert state.series["rate"].last == 0.0, "nothing is executed"

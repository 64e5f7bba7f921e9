"""Selectors and series."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.kernel.model import finding_tallies, lineage, selectors
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.series import BRIEF_LIMIT, LIMIT, Series
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.run.observe.saved_inputs import entry_event
from fuzztui.tools.status.status import status_dict


def fold(*timed):
    state = State()
    apply(state, [ev.Record(n, t, event) for n, (t, event) in enumerate(timed, 1)])
    return state


CAMPAIGN = fold(
    (0, ev.CampaignStarted("c", "zest", "lib:f", 7, 60.0, 1000, ["a", "b"], 1e9, "0.1")),
    (0, ev.CampaignState("running")),
    (1, ev.EntrySaved("a", 0, "queue/id:0,orig:seed", op="", size=10)),
    (2, ev.EntrySaved("a", 1, "queue/id:1", [0], "havoc", size=30)),
    (3, ev.EntrySaved("b", 5, "queue/id:5", [1], "", "a", size=30)),
    (4, ev.EntrySaved("b", 6, "queue/id:6", [5], "splice", size=20)),
    (5, ev.EntryDescribed("b", 6, ["valid-edge"], 9, True, "success", "skipped")),
    (6, ev.FindingSaved("b", "crash", "crashes/1", 1, [6])),
    (7, ev.FindingSaved("a", "crash", "crashes/2", 2, [1])),
    (8, ev.FindingSaved("a", "hang", "hangs/1", 3, [99])),
    (9, ev.FindingDescribed("b", "crash", "crashes/1", "S", "KeyError: 1", "x.py:3", count=4)),
    (9, ev.FindingDescribed("a", "crash", "crashes/2", "S", "KeyError: 2", "x.py:3", count=1)),
    (10, ev.Stats("a", 100, 10.0, 2, crashes=1, edges=50, edges_total=200, valid=40, invalid=60)),
    (20, ev.Stats("b", 300, 30.0, 2, crashes=1, edges=60, edges_total=200, edges_third_party=900)),
    (30, ev.Stats("a", 500, 20.0, 2, crashes=1, edges=55, edges_total=200, valid=40, invalid=460)),
    (30, ev.CommandIssued("c1", {"c": "pause"})),
    (30, ev.Unknown("later")),
)


def keys(rows):
    return [r.key for r in rows]


def test_totals():
    all_, t = selectors.totals(CAMPAIGN), selectors.totals(CAMPAIGN).stats
    assert (t.execs, t.execs_per_sec, t.corpus, t.crashes, t.hangs) == (800, 50.0, 4, 2, 1)
    assert (t.edges, t.edges_total, t.edges_valid, t.edges_third_party) == (60, 200, -1, 900)
    assert (t.valid, t.invalid, all_.last_find_t) == (40, 460, 4.0)
    assert selectors.totals(State()).stats.edges == -1


def test_what_an_adopted_fleet_had_executed_before_is_in_no_average():
    state = fold(
        (0, ev.CampaignStarted("c", "afl", instances=["main"])),
        (0, ev.SupervisorStarted(1, 1e9, before=["main", "of no campaign"])),
        (0, ev.CampaignState("running")),
        (1, ev.Stats("main", 1000, 9.0, 1)),
        (101, ev.Stats("main", 1200, 9.0, 1)),
        # A supervisor that resumes this campaign: its own executions count.
        (101, ev.SupervisorStarted(1, 1e9, resumed=["main"])),
        (200, ev.Stats("main", 1400, 9.0, 1)),
        (200, ev.CampaignEnded("stopped")),
    )
    assert [*state.instances] == ["main"]
    assert selectors.totals(state).stats.execs == 1400
    assert selectors.throughput(state) == 2.0
    main = state.instances["main"]
    assert selectors.instance_throughput(main, 200.0, over=True) == 2.0


def test_a_total_below_what_was_found_is_no_total():
    def edges(*of):
        state = fold(
            *((1, ev.Stats(str(n), edges=e, edges_total=t)) for n, (e, t) in enumerate(of))
        )
        return selectors.totals(state).stats.edges, selectors.totals(state).stats.edges_total

    assert edges((50, 100)) == (50, 100)
    assert edges((100, 100)) == (100, 100)
    assert edges((305, 100)) == (305, -1)
    assert edges((50, 0)) == (50, -1)
    assert edges((-1, -1)) == (-1, -1)
    assert edges((300, -1), (250, 280)) == (300, -1)  # builds of different sizes
    assert edges((300, 100), (250, 400)) == (300, 400)


def test_time_and_budget():
    assert selectors.remaining(CAMPAIGN) == 30
    assert selectors.progress(CAMPAIGN) == 0.8
    assert selectors.remaining(State()) is None
    assert selectors.progress(State()) is None
    assert selectors.wall_time(CAMPAIGN, 12.5) == 1e9 + 12.5
    assert selectors.wall_time(State(), 12.5) == 0


def test_groups():
    one, two = finding_tallies.groups(CAMPAIGN)
    assert (one.signature, one.first.key, keys(one.findings)) == (
        "S",
        "b/crashes/1",
        ["b/crashes/1", "a/crashes/2"],
    )
    assert one.count == 5, "each instance counts for itself"
    assert (two.signature, two.first.key, two.count) == ("", "a/hangs/1", 1)


def test_lineage_goes_back_to_the_seed_across_instances():
    def line(row):
        return keys(lineage.lineage(CAMPAIGN, row))

    assert line(CAMPAIGN.entries["a/0"]) == []
    assert line(CAMPAIGN.entries["b/6"]) == ["b/5", "a/1", "a/0"]
    assert line(CAMPAIGN.findings["b/crashes/1"]) == ["b/6", "b/5", "a/1", "a/0"]
    (step,) = lineage.lineage(CAMPAIGN, CAMPAIGN.findings["a/hangs/1"])
    assert (step.key, step.entry) == ("a/99", None)


def test_lineage_ends_at_a_cycle():
    state = fold(*((n, ev.EntrySaved("a", n, src=[(n + 1) % 3])) for n in range(3)))
    assert keys(lineage.lineage(state, state.entries["a/0"])) == ["a/1", "a/2"]
    state = fold((0, ev.EntrySaved("a", 0, src=[0])))
    assert lineage.lineage(state, state.entries["a/0"]) == []


def test_lineage_ends_where_it_is_from_before_the_log():
    """A queue of which the log saw only what a resume had made of it."""
    resumed = ["id:000000,time:0,execs:0,orig:id:000002,src:000001,time:3,execs:3,op:havoc,rep:1"]
    resumed += ["id:000001,src:000000,time:2,execs:2,op:havoc,rep:1"]  # the number that it had
    resumed += ["id:000002,time:0,execs:0,orig:seed"]
    found = ["id:000003,src:000000,time:4,execs:4,op:havoc,rep:1"]
    found += ["id:000004,src:000003,time:5,execs:5,op:havoc,rep:1"]
    state = fold(*((0, entry_event("m", name, 1, -1)) for name in resumed + found))

    def line(key):
        return keys(lineage.lineage(state, state.entries[key]))

    assert [line(f"m/{n}") for n in range(3)] == [[], [], []]
    assert (line("m/3"), line("m/4")) == (["m/0"], ["m/3", "m/0"])


def test_the_status_object():
    status = status_dict(CAMPAIGN)
    assert json.loads(json.dumps(status, allow_nan=False)) == status
    wanted = {
        "name": "c",
        "engine": "zest",
        "state": "running",
        "elapsed_s": 30,
        "execs": 800,
        "execs_per_sec": 50.0,
        "corpus": 4,
        "crashes": 2,
        "hangs": 1,
        "coverage": {
            "covered": 60,
            "total": 200,
            "valid": None,
            "third_party": 900,
            "probes_left": None,
        },
        "mutants": None,
        "remaining_s": 30.0,
        "pending_commands": ["c1"],
        "unknown_events": 1,
        "unknown_kinds": {"later": 1},
    }
    assert {k: status[k] for k in wanted} == wanted
    assert [i["id"] for i in status["instances"]] == ["a", "b"]
    assert [(g["title"], g["files"], g["count"]) for g in status["findings"]] == [
        ("KeyError: 1", 2, 5),
        ("", 1, 1),
    ]
    assert status_dict(State())["coverage"] == {
        "covered": None, "total": None, "valid": None, "third_party": None, "probes_left": None,
    }  # fmt: skip


def test_a_series_keeps_the_last_value_of_each_bucket():
    s = Series()
    for t, v in [(0.0, 1), (0.1, 2), (0.3, 3), (0.49, 4), (2.0, 5)]:
        s.add(t, v)
    assert (s.times, s.values) == ([0.1, 0.49, 2.0], [2, 4, 5])
    assert [s.at(t) for t in (0.0, 0.1, 0.2, 0.49, 1.9, 2.0, 99)] == [0, 2, 2, 4, 4, 5, 5]


def test_a_long_series_is_halved_and_stays_true():
    s = Series()
    for n in range(100_000):
        s.add(n, n * 3)
        assert len(s.times) <= LIMIT
    assert len(s.times) >= LIMIT // 2
    assert s.width == 256
    assert all(v == t * 3 for t, v in zip(s.times, s.values, strict=True))
    assert all(b - a == s.width for a, b in zip(s.times, s.times[1:-1], strict=False))
    assert s.last == 99_999 * 3


@pytest.mark.parametrize(("ago", "apart"), [(300, 2.0), (3600, 16.0), (90_000, 256.0)])
def test_the_end_of_a_long_series_has_detail(ago, apart):
    s = Series()
    for n in range(100_000):
        s.add(n, n * 3)
    times, values = s.since(99_999 - ago)
    assert times[0] <= 99_999 - ago < times[1]
    assert max(b - a for a, b in itertools.pairwise(times)) <= apart
    assert [t * 3 for t in times] == list(values)
    assert values[-1] == s.last
    assert sum(len(r.times) for r in s.recent) <= LIMIT


@given(st.lists(st.tuples(st.floats(0, 30), st.integers(0, 9)), max_size=80), st.floats(0, 2500))
def test_the_values_since_a_time_are_those_of_the_series(steps, start):
    s, t, last = Series(), 0.0, []
    for dt, value in steps:
        t += dt
        s.add(t, value)
        last.append((t, value))
    times, values = s.since(start)
    assert len(times) == len(values)
    assert all(time > start for time in times[1:])
    for time, value in zip(times, values, strict=True):
        # Points at one time are one bucket's: the last one counts.
        assert value == [v for at, v in last if at == time][-1]
    assert (values[-1] if values else 0) == s.last


def test_a_brief_series_stays_brief():
    s = Series.brief()
    for n in range(10_000):
        s.add(n, n)
    assert len(s.times) <= BRIEF_LIMIT
    assert s.recent == []
    assert Series.from_json(json.loads(json.dumps(s.to_json()))) == s


def test_a_series_that_sleeps_long_ends():
    s = Series()
    for n in range(LIMIT):
        s.add(n, n)
    s.add(1e12, 7)
    s.add(1e12, 8)
    assert s.last == 8
    assert len(s.times) <= LIMIT


def test_a_series_survives_json_and_goes_on_alike():
    s = Series()
    for n in range(3 * LIMIT):
        s.add(n * 0.7, n)
    copy = Series.from_json(json.loads(json.dumps(s.to_json())))
    assert copy == s
    for series in (s, copy):
        for n in range(3 * LIMIT, 5 * LIMIT):
            series.add(n * 0.7, n)
    assert copy == s

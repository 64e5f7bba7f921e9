"""What is known of a fuzz-first campaign, as functions of a state: queue, budget, thanks."""

import json

import pytest
from restored import restored

from fuzztui.cli.worklist import stage_rows, worklist_table
from fuzztui.features.fuzzfirst.fold import (
    PROMOTED_BUDGET,
    file_of,
    first_dict,
    fuzzed_for,
    most_of,
    mutant_behind,
    mutants_can_run,
    order,
    outlook,
    queue,
    same_program,
    share_of,
    trials_of,
)
from fuzztui.features.fuzzfirst.screen.worklist import Worklist
from fuzztui.features.fuzzfirst.screen.worklist_text import remaining_text
from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.lineage import lineage
from fuzztui.kernel.model.mutants import with_verdict
from fuzztui.kernel.model.progress import PHASES, phase, verdict
from fuzztui.kernel.model.selectors import totals
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.selection import parse_selection
from fuzztui.tools.status.status import status_dict

PLAN = {"mutants_s": 100.0, "each_s": 30.0, "abreast": 1}


class Campaign:
    """A state that events are told to, at times."""

    def __init__(self, *, plan=PLAN, mutants=6, trials=0):
        self.state = State()
        self.t = 0.0
        rows = [
            {"id": f"a.c#{i}", "line": i, "operator": "x", "before": "a", "after": "b",
             "place": float(i)}
            for i in range(mutants)
        ]  # fmt: skip
        self.tell(
            ev.CampaignStarted("c", "afl", "t", 1, 200.0, trials, ["main"], 1.0, "0"),
            ev.CampaignState("running"),
            ev.PhaseStarted("mutants", plan),
            ev.MutantsFound("", "", "a.c", "/a.c", rows),
        )

    def tell(self, *events, dt=0.0):
        self.t += dt
        seq = self.state.seq
        apply(self.state, [ev.Record(seq + n, self.t, e) for n, e in enumerate(events, 1)])

    def names(self):
        return [m.id[-1] for m in queue(self.state)]

    def row(self, n):
        return self.state.mutants[f"a.c#{n}"]


def test_the_queue_is_what_still_waits_in_the_order_of_places():
    c = Campaign()
    assert c.names() == list("012345")
    c.tell(ev.MutantPositions({"a.c#4": -1.0, "a.c#0": 99, "nobody": 1.0, "a.c#1": "first"}))
    assert c.names() == list("412350")
    c.tell(
        ev.MutantProgress("a.c#4", "fuzzing", "m1"),
        ev.MutantProgress("a.c#1", "failed", reason="no"),
        ev.MutantProgress("a.c#2", "built"),
        ev.MutantState("", "a.c#3", "skipped", reason="by hand"),
    )
    assert c.names() == list("250")
    ordered = sorted(c.state.mutants.values(), key=order)
    assert [m.id[-1] for m in ordered] == list("425013")
    assert [phase(m) for m in ordered] == ["at work", *["waiting"] * 3, "failed", "skipped"]
    assert all(phase(m) in PHASES for m in ordered)


def test_time_of_a_turn_is_running_time():
    c = Campaign()
    c.tell(ev.MutantProgress("a.c#0", "fuzzing", "m1"), dt=5)
    assert fuzzed_for(c.state, c.row(0), 15.0) == 10
    c.tell(ev.CampaignState("paused"), dt=10)
    c.tell(ev.CampaignState("running"), dt=100)
    c.tell(ev.MutantProgress("a.c#0", "collecting", "m1"), dt=10)
    assert fuzzed_for(c.state, c.row(0), 999.0) == 20
    c.tell(ev.MutantState("", "a.c#0", "pending"), ev.MutantProgress("a.c#0", "queued"))
    assert (c.row(0).fuzzed_s, c.row(0).slot, c.row(0).turn_began_s) == (0.0, "", -1.0)


@pytest.mark.parametrize(
    ("plan", "left", "eta"),
    [
        (PLAN, 4, 100.0),  # the last one gets what is left
        ({**PLAN, "mutants_s": 90.0}, 3, 90.0),
        (
            {**PLAN, "mutants_s": 1000.0, "listed": 6},
            6,
            180.0,
        ),  # the queue ends before the budget does
        ({**PLAN, "abreast": 2, "mutants_s": 60.0}, 4, 60.0),
        ({**PLAN, "mutants_s": 0.0}, 0, 0.0),
        ({}, 0, 0.0),
    ],
)
def test_what_the_budget_allows(plan, left, eta):
    view = outlook(Campaign(plan=plan or {"each_s": 1.0}).state)
    assert (view.left, view.eta_s, view.waiting, view.trials) == (left, eta, 6, False)


def test_the_outlook_follows_the_queue_and_the_clock():
    c = Campaign()
    c.tell(ev.MutantProgress("a.c#0", "fuzzing", "m1"))
    c.tell(ev.Stats("m1", 5), dt=20)
    view = outlook(c.state)
    assert (view.used, view.left, view.eta_s) == (20.0, 3, 80.0)
    c.tell(ev.MutantState("", "a.c#1", "pending", steer="promoted"))
    assert share_of(c.state, c.row(1)) == 30 * PROMOTED_BUDGET
    assert outlook(c.state).left == 1
    assert outlook(c.state, now=1000.0).left == 0
    given = outlook(c.state, waiting=queue(c.state))
    assert given == outlook(c.state)
    c.tell(ev.PhaseStarted("target", {**PLAN, "before_s": 100.0}), dt=80)
    view = outlook(c.state)
    assert (view.used, view.left, view.eta_s, view.waiting) == (100.0, 0, -1.0, 5)


def test_a_budget_in_trials():
    c = Campaign(plan={"mutants_trials": 1000, "each_trials": 300}, trials=2000)
    c.tell(
        ev.InstanceHello("m1", mutant="a.c#0"),
        ev.MutantProgress("a.c#0", "fuzzing", "m1"),
        ev.Stats("m1", 100),
        ev.Stats("main", 77),
    )
    view = outlook(c.state)
    assert (view.used, view.of, view.trials, view.left, view.eta_s) == (100, 1000, True, 3, -1.0)


def turn(c, n, seconds, *, prune=0.0, handover=0.0, build=0.0, stage="done", execs=0):
    """A mutant has its turn, with all its costs."""
    key, slot = f"a.c#{n}", f"m{n + 1}"
    c.tell(
        ev.MutantProgress(key, "built", costs={"build": build}),
        ev.MutantProgress(key, "pruning", slot, costs={"prune": prune}),
    )
    c.tell(
        ev.InstanceHello(slot, mutant=key),
        ev.MutantProgress(key, "fuzzing", slot),
        dt=prune,
    )
    c.tell(ev.Stats(slot, execs), dt=seconds)
    c.tell(ev.MutantProgress(key, "collecting", slot))
    c.tell(ev.MutantProgress(key, stage, slot, costs={"handover": handover}), dt=handover)


def test_the_budget_allows_what_turns_really_cost():
    c = Campaign(plan={"mutants_s": 240.0, "each_s": 10.0, "abreast": 1}, mutants=26)
    assert outlook(c.state).left == 24
    for n in range(3):
        turn(c, n, 11.0, prune=2.0, handover=2.0)
    view = outlook(c.state)
    assert (view.used, view.waiting, view.left) == (45.0, 23, 13)
    turn(c, 25, 1.0)
    c.tell(ev.MutantState("", "a.c#25", "skipped"))  # by a user, whose hurry tells nothing
    c.tell(ev.PhaseStarted("mutants", {**c.state.plan, "mutants_s": 241.0}))
    view = outlook(c.state)
    assert (view.used, view.cost(10.0)) == (46.0, 15.0)
    assert view.left == 13  # the nominal budget would allow 20
    shown = Worklist(lambda: c.state)
    assert remaining_text(shown.glance(c.t)) == "the budget allows 13 of 22 waiting mutants"
    waits = shown.waits(view, c.t)
    assert [round(waits[f"a.c#{n}"]) for n in (3, 4, 15)] == [0, 15, 180]
    c.tell(ev.MutantProgress("a.c#3", "pruning", "m4"))
    assert outlook(c.state).left == 12
    c.tell(ev.PhaseStarted("mutants", {**c.state.plan, "listed": 26, "mutants_s": 900.0}))
    view = outlook(c.state)
    assert (view.left, view.eta_s) == (21, 22 * 15.0)


def test_turns_cannot_begin_faster_than_mutants_are_built():
    c = Campaign(plan={"mutants_s": 300.0, "each_s": 5.0, "abreast": 2}, mutants=40)
    turn(c, 0, 5.0, build=12.0)
    c.tell(ev.MutantProgress("a.c#1", "failed", costs={"build": 8.0}))
    view = outlook(c.state)
    assert view.cost(5.0) == 40.0  # two at once, and 20 s of builds for each that has a turn
    assert view.left == 15


def test_turns_that_end_early_leave_room_for_others():
    c = Campaign(plan={"mutants_s": 100.0, "each_s": 30.0, "abreast": 1, "stretch": 3}, mutants=12)
    turn(c, 0, 10.0)
    turn(c, 1, 10.0, stage="refused")
    assert outlook(c.state).left == 8
    c.tell(ev.MutantProgress("a.c#2", "fuzzing", "m3"))
    assert most_of(c.state, c.row(2)) == 90.0


def test_a_forecast_in_trials_is_of_trials():
    c = Campaign(plan={"mutants_trials": 1000, "each_trials": 100}, trials=2000, mutants=12)
    turn(c, 0, 99.0, prune=50.0, build=70.0, execs=160)
    turn(c, 1, 1.0, execs=140)
    view = outlook(c.state)
    assert (view.used, view.cost(100.0), view.left) == (300.0, 150.0, 5)


def test_trials_of_an_earlier_turn_are_not_those_of_the_next():
    c = Campaign()
    turn(c, 0, 5.0, execs=700)
    c.tell(ev.MutantProgress("a.c#0", "queued"))
    assert trials_of(c.state, c.row(0)) == 0
    c.tell(
        ev.MutantProgress("a.c#0", "fuzzing", "m9"),
        ev.Stats("m9", 20),
        ev.Stats("m9-s1", 3),
        ev.Stats("m9-sx", 1000),
    )
    assert trials_of(c.state, c.row(0)) == 23


def over_by(c, how):
    if how == "budget":
        c.tell(ev.Stats("main", 1), dt=100.0)
    elif how == "phase":
        c.tell(ev.PhaseStarted("target", {**c.state.plan, "before_s": 40.0}))
    else:
        c.tell(ev.CampaignState(how))


@pytest.mark.parametrize(
    ("how", "over"),
    [("budget", True), ("phase", True), ("finished", True), ("stopped", False), ("paused", False)],
)
def test_mutants_that_cannot_run_any_more_do_not_wait(how, over):
    c = Campaign()
    over_by(c, how)
    assert mutants_can_run(c.state) is not over
    assert [row.split()[1] for row in worklist_table(c.state, queue(c.state)) if "#" in row] == (
        ["no" if over else "queued"] * 6
    )
    first = Worklist(lambda: c.state).glance(c.t)
    assert ("got no turn" in remaining_text(first)) is over
    status = dict(stage_rows(c.state))
    assert status["mutants"] == ("6: 6 no turn" if over else "6: 6 waiting")
    assert ("queue" in status) is not over
    assert (outlook(c.state).left == 0) is over


def test_a_turn_that_waits_for_a_worker_has_used_nothing():
    c = Campaign(plan={"mutants_s": 100.0, "each_s": 10.0, "abreast": 1, "placed": 1})
    c.tell(
        ev.MutantProgress("a.c#0", "fuzzing", "m1"),
        ev.InstanceHello("m1", mutant="a.c#0"),
        dt=1,
    )
    c.tell(dt=24)
    c.tell(ev.Stats("main", 1))
    first = Worklist(lambda: c.state).glance(c.t)
    assert [use[1:] for use in first.working] == [(0.0, 10.0)]
    assert dict(stage_rows(c.state))["now"].endswith("waits for a worker of the cluster")
    c.tell(ev.InstanceHello("m1", "zest", "0.1", mutant="a.c#0"))
    assert fuzzed_for(c.state, c.row(0), c.t + 4) == 4.0
    c.tell(ev.InstanceHello("m1", "zest", "0.1"), dt=4)  # the engine is started again
    assert fuzzed_for(c.state, c.row(0), c.t + 2) == 6.0
    assert dict(stage_rows(c.state))["now"].endswith(", 4s of 10s")
    c.tell(ev.MutantProgress("a.c#0", "queued"))
    c.tell(ev.MutantProgress("a.c#0", "fuzzing", "m2"), dt=3)
    assert fuzzed_for(c.state, c.row(0), c.t + 9) == 0.0


def test_a_turn_whose_engines_take_time_to_end_does_not_use_more_than_its_budget():
    c = Campaign(plan={"mutants_s": 100.0, "each_s": 10.0, "abreast": 1})
    c.tell(ev.MutantProgress("a.c#0", "fuzzing", "m1"))
    c.tell(ev.Stats("m1", 1), dt=24)
    assert [use[1:] for use in Worklist(lambda: c.state).glance(c.t).working] == [(10.0, 10.0)]
    assert dict(stage_rows(c.state))["now"].endswith(", 10s of 10s")


def thanks():
    """Two turns, a transfer, and what the target made of it."""
    c = Campaign()
    c.tell(
        ev.InstanceHello("m1", mutant="a.c#0"),
        ev.MutantProgress("a.c#0", "fuzzing", "m1"),
        ev.EntriesSeeded("m1", {"0": "seed:x"}),
        ev.EntrySaved("m1", 9, "queue/id:9", [0], "havoc"),
        ev.InstanceHello("m2", mutant="a.c#1"),
        ev.EntriesSeeded("m2", {"3": "m1/9", "4": 5}),
        ev.EntrySaved("m2", 11, "queue/id:11", [3], "havoc"),
        ev.EntrySaved("handed", 0, "queue/id:0", [3], "", "m2"),
        ev.EntrySaved("handed", 1, "queue/id:1", [11], "", "m2"),
        ev.FindingSaved("handed", "crash", "crashes/a", 0, [11], sync="m2"),
        ev.EntrySaved("main", 0, "queue/id:0", [], "orig:x"),
        ev.EntrySaved("main", 1, "queue/id:1", [0], "", "handed"),
        ev.EntrySaved("main", 2, "queue/id:2", [1], "havoc"),
        ev.EntrySaved("main", 3, "queue/id:3", [0], "havoc"),
        ev.FindingSaved("main", "crash", "crashes/b", 0, [2]),
        ev.FindingSaved("main", "crash", "crashes/c", 1, [3]),
        ev.Stats("m1", 500, corpus=70, crashes=9),
    )
    return c


def test_who_is_thanked():
    c = thanks()
    entries, findings = c.state.entries, c.state.findings
    behind = {key: mutant_behind(c.state, row)[-1:] for key, row in (entries | findings).items()}
    assert behind == {
        "m1/9": "0", "m2/11": "1", "handed/0": "0", "handed/1": "1", "handed/crashes/a": "1",
        "main/0": "", "main/1": "0", "main/2": "0", "main/3": "", "main/crashes/b": "0",
        "main/crashes/c": "",
    }  # fmt: skip
    keys = [step.key for step in lineage(c.state, findings["main/crashes/b"])]
    assert keys == ["main/2", "main/1", "handed/0", "m1/9", "seed:x"]


def test_what_a_mutant_fails_on_is_not_the_targets():
    c = thanks()
    found = totals(c.state).stats
    assert (found.execs, found.corpus, found.crashes) == (500, 6, 3)


def test_the_same_program():
    c = Campaign()
    words = "the same program as a.c#2 once it is compiled"
    c.tell(
        ev.MutantProgress("a.c#0", "dropped", reason=words),
        ev.MutantProgress("a.c#1", "failed", reason=words),
    )
    assert same_program(c.row(0), c.state.mutants) is c.row(2)
    assert same_program(c.row(1), c.state.mutants) is None
    c.tell(
        ev.MutantProgress("a.c#0", "dropped", reason="it is the same program once it is compiled")
    )
    assert same_program(c.row(0), c.state.mutants) is None


def test_the_status_object():
    assert first_dict(State()) is None
    c = thanks()
    c.tell(
        ev.MutantProgress("a.c#0", "done", "m1", brought={"entries": 2, "kills": 1, "odd": "x"}),
        ev.MutantState("", "a.c#0", "killed", "m1/9", "crash"),
        ev.MutantProgress("a.c#1", "fuzzing", "m2", costs={"build": 0.5, "odd": "x"}),
        ev.MutantProgress("a.c#2", "failed"),
        ev.MutantProgress("a.c#3", "dropped"),
        dt=30,
    )
    status = status_dict(c.state)
    first = status["first"]
    json.dumps(status, allow_nan=False)
    wanted = {
        "stage": "mutants", "unit": "s", "waiting": 2, "allowed": 2, "fuzzing": ["a.c#1"],
        "killed": 1, "judged": 1, "score": 1.0,
        "brought": {"entries": 2, "kills": 1},
        "findings_thanks_to_mutants": ["handed/crashes/a", "main/crashes/b"],
    }  # fmt: skip
    assert {key: first[key] for key in wanted} == wanted
    assert c.row(1).costs == {"build": 0.5}
    assert {name: n for name, n in first["phases"].items() if n} == {
        "at work": 1, "waiting": 2, "done": 1, "failed": 1, "dropped": 1,
    }  # fmt: skip
    assert status["mutants"]["score"] == status["mutants"]["adjusted_score"] == first["score"]


def test_roadblocks_of_mutants():
    c = Campaign()
    c.tell(
        ev.MutantsFound("", "", "a.c", "/a.c", [
            {"id": "a.c#0", "line": 3, "place": 0.0, "roadblock": 2, "hides": 7},
            {"id": "a.c#1", "line": 2, "place": 1.0, "roadblock": 2, "opens": 7},  # an old log
            {"id": "a.c#2", "line": 9, "place": 2.0, "roadblock": 9, "hides": 30},
            {"id": "a.c#3", "line": 9, "place": 3.0, "roadblock": "9", "hides": [30]},
        ]),
        ev.MutantProgress("a.c#0", "done"),
    )  # fmt: skip
    assert [(c.row(n).roadblock, c.row(n).hides) for n in range(5)] == [
        (2, 7), (2, 7), (9, 30), (-1, -1), (-1, -1),
    ]  # fmt: skip
    assert first_dict(c.state)["roadblocks"] == [
        {"file": "a.c", "line": 9, "hides": 30, "turns": 0, "edges": 0},
        {"file": "a.c", "line": 2, "hides": 7, "turns": 1, "edges": 0},
    ]
    kept = to_json(c.state)
    assert to_json(restored(json.loads(json.dumps(kept)))) == kept


def test_the_score_is_of_those_with_a_verdict():
    c = Campaign(mutants=9)

    def turn(n, stage="done", state="", fuzzed=True):
        begun = [ev.MutantProgress(f"a.c#{n}", "fuzzing", f"m{n}")] if fuzzed else []
        judged = [ev.MutantState("", f"a.c#{n}", state)] if state else []
        c.tell(*begun, ev.MutantProgress(f"a.c#{n}", stage, f"m{n}"), *judged)

    turn(0, state="killed")
    turn(1, state="alive")
    turn(2, "refused", "killed", fuzzed=False)  # by the seeds
    turn(3, "refused", fuzzed=False)  # it cannot be run at all
    turn(4, state="skipped")  # left early
    turn(5, state="skipped", fuzzed=False)  # while its corpus was pruned
    turn(6, state="equivalent")
    turn(7, "fuzzing")
    verdicts = [verdict(c.row(n)) for n in range(9)]
    assert verdicts == ["killed", "alive", "killed", "", "alive", "", "", "", ""]
    assert with_verdict(c.state) == (2, 4)
    c.tell(ev.MutantState("", "a.c#0", "pending"), ev.MutantProgress("a.c#0", "queued"))
    assert with_verdict(c.state) == (1, 3)  # the log tells of no kill of it


def test_selections_name_the_stage_that_lists_print():
    c = Campaign()
    c.tell(
        ev.MutantState("", "a.c#0", "skipped", reason="by hand"),
        ev.MutantState("", "a.c#1", "equivalent", reason="it is the same program"),
        ev.MutantProgress("a.c#1", "dropped"),
        ev.MutantProgress("a.c#2", "dropped"),
        ev.MutantProgress("a.c#3", "built"),
    )

    def named(stage):
        chosen = parse_selection(f"stage={stage}").of(c.state.mutants.values())
        return "".join(m.id[-1] for m in chosen)

    words = ("skipped", "equivalent", "dropped", "built", "queued")
    assert [named(word) for word in words] == [*"0123", "45"]


def test_it_all_survives_a_checkpoint():
    c = thanks()
    c.tell(ev.MutantPositions({"a.c#3": -4.5}), ev.PhaseStarted("target", {"mutants_s": 1}), dt=9)
    again = restored(json.loads(json.dumps(to_json(c.state), allow_nan=False)))
    assert again == c.state
    assert first_dict(again) == first_dict(c.state)
    assert again.instances["m2"].origins == {"3": "m1/9"}


def test_the_file_of_a_killer_in_a_turn():
    assert file_of("m7/crashes/3") == "mutants/slots/m7/out/m7/crashes/id:000003"
    assert file_of("m7-2/hangs/12") == "mutants/slots/m7/out/m7-2/hangs/id:000012"


@pytest.mark.parametrize("number", ["", "x", "-1", "²", "9" * 5000])
def test_a_killer_in_a_log_can_be_any_text(number):
    assert file_of(f"m7/crashes/{number}") == ""

"""Properties of a suite in the state: fold, sums over instances, checkpoint, undo."""

import json

from restored import restored

from fuzztui.features.properties.fold import properties_list, property_rows
from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.examples import takes_examples
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.inverses import inverse
from fuzztui.kernel.model.state import MAX_PROPERTY_NAME, State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import WeighProperty
from fuzztui.kernel.wire.events import Record

A, B, C = "tests/test_a.py::test_a", "tests/test_a.py::test_b[1]", "tests/test_a.py::test_c"


def row(**figures):
    return {"trials": 0, "invalid": 0, "entries": 0, "edges": 0, "findings": 0, "cpu_ms": 0,
            "share": 0, "weight": 1.0, **figures}  # fmt: skip


def state_of(*events):
    state = State()
    apply(state, [Record(n, n / 10, event) for n, event in enumerate(events, 1)])
    return state


def two_instances():
    return state_of(
        ev.InstanceState("main", "running"),
        ev.InstanceState("s1", "running"),
        ev.PropertiesFound("main", {A: "", B: "", C: "skipped: not today"}, 7),
        ev.PropertyFigures("main", {A: row(trials=10, edges=5, share=600_000, entries=2)}),
        ev.PropertyFigures("main", {B: row(trials=4, findings=1, share=400_000)}),
        ev.PropertyFigures("s1", {A: row(trials=30, edges=9, share=200_000, weight=2.0)}),
        ev.FindingDescribed("main", "crash", "crashes/id:0", "E @ f", "E", "f", property=B),
    )


def test_what_instances_know_together():
    state = two_instances()
    rows = property_rows(state)
    assert list(rows) == [A, B, C]
    assert (rows[A].trials, rows[A].edges, rows[A].share) == (40, 9, 0.4)
    assert rows[A].weights == {"main": 1.0, "s1": 2.0}
    assert [r.state for r in rows.values()] == ["run", "failed", "not run"]
    listed = {one["name"]: one for one in properties_list(state)}
    assert listed[B]["signatures"] == ["E @ f"] and listed[C]["reason"] == "skipped: not today"
    assert state.other_tests == 7
    json.dumps(properties_list(state))


def test_states_after_the_end():
    state = state_of(
        ev.InstanceState("main", "running"),
        ev.PropertiesFound("main", {A: "", B: "", C: "skipped"}, 0),
        ev.PropertyFigures("main", {"off": row(trials=9, weight=0.0), A: row(trials=10)}),
        ev.PropertyFigures("main", {B: row(trials=4, findings=1), "no turn": row()}),
    )
    states = {r.name: r.state for r in property_rows(state).values()}
    assert states == {A: "run", B: "failed", C: "not run", "off": "off", "no turn": "run"}
    apply(state, [Record(state.seq + 1, 9.0, ev.CampaignEnded("stopped"))])
    states = {r.name: r.state for r in property_rows(state).values()}
    assert states == {A: "passed", B: "failed", C: "not run", "off": "off", "no turn": "not run"}
    assert [one["state"] for one in properties_list(state)] == [*states.values()]


def test_shares_of_different_moments_are_no_more_than_the_whole():
    state = state_of(
        ev.InstanceState("main", "running"),
        ev.PropertyFigures("main", {A: row(share=900_000)}),
        ev.PropertyFigures("main", {B: row(share=600_000)}),
    )
    assert sum(r.share for r in property_rows(state).values()) == 1


def test_only_tests_that_can_have_examples_are_offered_the_patch():
    state = state_of(
        ev.FindingDescribed("main", "crash", "crashes/id:0", "E", "E", property="t.py::T::runTest"),
        ev.FindingDescribed("main", "crash", "crashes/id:1", "E", "E", property=A),
    )
    assert [takes_examples(f) for f in state.findings.values()] == [False, True]


def test_a_campaign_with_one_target_has_none():
    assert properties_list(state_of(ev.InstanceState("main", "running"))) is None


def test_nothing_of_an_engine_is_believed():
    state = state_of(
        ev.PropertiesFound("main", {"x" * 9000: "y" * 9000, "n": 3}, -5),
        ev.PropertyFigures(
            "main", {"n": "none", "m": row(trials="1", share=float("nan"), edges=-4)}
        ),
    )
    rows = property_rows(state)
    assert "n" not in rows
    assert (rows["m"].trials, rows["m"].share, rows["m"].edges) == (0, 0.0, 0)
    assert (
        max(map(len, rows)) == MAX_PROPERTY_NAME
        and len(rows["x" * MAX_PROPERTY_NAME].reason) == MAX_PROPERTY_NAME
    )
    assert state.other_tests == 0


def test_a_checkpoint_has_all_of_it():
    state = two_instances()
    again = restored(json.loads(json.dumps(to_json(state))))
    assert property_rows(again) == property_rows(state)
    assert again.findings == state.findings


def test_a_weight_is_set_back():
    before = two_instances()
    now = two_instances()
    apply(now, [Record(99, 9.9, ev.PropertyFigures("main", {A: row(weight=8.0)}))])
    undo = inverse(WeighProperty(A, 8.0, "main"), before, now)
    assert undo.commands == (WeighProperty(A, 1.0, "main"),)
    assert inverse(WeighProperty(A, 8.0), before, before).commands == ()


def killed(instance, mutant, name, state="killed"):
    return ev.MutantState(instance, mutant, state, f"{instance}/3", "exception", 7, property=name)


def test_a_mutant_counts_for_the_property_that_has_killed_it_first():
    mutants = [{"id": one} for one in ("m:f:math:0:+", "m:f:math:1:+", "m:g:negate:0:!=")]
    state = state_of(
        ev.PropertiesFound("main", {A: "", B: ""}, 0),
        ev.MutantsFound("main", "m", "m.py", "/m.py", mutants),
        killed("main", "m:f:math:0:+", A),
        killed("s1", "m:f:math:0:+", B),  # another instance, later
        killed("main", "m:f:math:1:+", B),
        killed("main", "m:g:negate:0:!=", B),
    )
    assert [row.killed for row in property_rows(state).values()] == [1, 2]
    assert state.mutants["m:f:math:0:+"].by_property == A
    requeued = ev.MutantState("main", "m:f:math:1:+", "pending")
    apply(state, [Record(7, 1.0, requeued)])
    assert [row.killed for row in property_rows(state).values()] == [1, 1]
    again = restored(json.loads(json.dumps(to_json(state))))
    assert again.property_kills == state.property_kills and again == state
    assert [one["killed"] for one in properties_list(state)] == [1, 1]

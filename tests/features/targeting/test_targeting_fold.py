"""Types and goals that are left: folding them, and what they come to over all instances."""

import json
from dataclasses import replace

import pytest
from restored import restored

from fuzztui.features.targeting.fold import (
    MAX_GOALS,
    MAX_TYPES,
    TargetingSummary,
    goal_rows,
    reached_share,
    stale,
    targeting_summary,
    type_rows,
    types_dict,
    weights,
)
from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.commands import unanswered
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State, UncoveredGoal
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import (
    IgnoreGoal,
    Pause,
    PinGoal,
    SetTargetedShare,
    TypeCommand,
    WeighType,
)
from fuzztui.kernel.wire.events import (
    CampaignState,
    CommandApplied,
    CommandIssued,
    CommandRejected,
    GoalsUncovered,
    InstanceState,
    Record,
    TargetingStats,
)
from fuzztui.tools.status.status import status_dict

DATE, PATH = "datetime.date", "pathlib.Path"
THEN, ELSE, LOOP = "a/app.py:18:then", "a/app.py:18:else", "a/app.py:7:loop"


def told(instance="main", **changes):
    figures = TargetingStats(
        instance, 0.5, targets=9, uncovered=2, frontier=1, names=[DATE, PATH], distances=[2, 4],
        weights=[1.0, 2.0], factors=[1.0, 4 / 3], probabilities=[600_000, 400_000],
        picks=[10, 5], matches=[8, 1], misses=[2, 4], new_arms=[3, 0],
    )  # fmt: skip
    return replace(figures, **changes)


def left(instance="main", asked=100, gone=(), *, anew=False, **rows):
    """A row is (frontier, reached, types) by name of the constant."""
    named = {globals()[name]: row for name, row in rows.items()}
    data = {
        location: {"frontier": frontier, "reached": reached, "types": near}
        for location, (frontier, reached, near) in named.items()
    }
    return GoalsUncovered(instance, asked, data, list(gone), anew)


def asked(key, command, by="ann"):
    return CommandIssued(key, encode_command(command), by)


def fold(*events, state=None):
    state = state or State()
    records = [Record(state.seq + n, state.seq + n, e) for n, e in enumerate(events, 1)]
    apply(state, records)
    return state


def aim(state):
    whole = targeting_summary(state)
    return whole.targeted, whole.pinned


# ------------------------------------------------------------------- folding


def test_what_is_left_is_told_by_changes():
    state = fold(
        left(THEN=(True, 0, [[DATE, 2], [PATH, 4]]), LOOP=(False, 0, [])),
        left(asked=200, THEN=(True, 150, [[DATE, 2]]), ELSE=(True, 7, [])),
        left(asked=300, gone=[LOOP, "nobody/knows.py:1:then"]),
    )
    assert state.uncovered_goals["main"] == {
        THEN: UncoveredGoal(True, 150, 200, ((DATE, 2),)),
        ELSE: UncoveredGoal(True, 7, 200, ()),
    }
    assert state.checked_trials == {"main": 300}
    fold(left(anew=True, LOOP=(False, 0, [])), state=state)
    assert list(state.uncovered_goals["main"]) == [LOOP]
    assert not state.recent


def test_what_is_covered_is_not_left_whatever_else_is_told_of_it():
    state = fold(left(gone=[THEN], THEN=(True, 0, []), ELSE=(True, 0, [])))
    assert list(state.uncovered_goals["main"]) == [ELSE]


def test_no_more_is_kept_than_is_bearable():
    many = {f"a.py:{n}:then": {"reached": 1} for n in range(3 * MAX_GOALS)}
    state = fold(
        GoalsUncovered("main", 1, many),
        TargetingStats("main", names=[f"t{n}" for n in range(9999)]),
    )
    assert list(state.uncovered_goals["main"]) == list(many)[:MAX_GOALS]
    assert len(state.types["main"].names) == MAX_TYPES
    # What is there changes, and what goes makes room.
    new = {"a.py:0:then": {"reached": 2}, "b.py:1:then": {}, "b.py:2:then": {}}
    fold(GoalsUncovered("main", 3, new, ["a.py:1:then"]), state=state)
    assert state.uncovered_goals["main"]["a.py:0:then"].reached == 2
    assert "b.py:1:then" in state.uncovered_goals["main"]
    assert len(state.uncovered_goals["main"]) == MAX_GOALS


HUGE = "x" * 10_000_000


def test_hostile_figures_do_not_survive():
    state = fold(
        TargetingStats(
            "main", float("nan"), HUGE, -5, 2**80, 1,
            names=[DATE, 7, DATE, HUGE, "", None, PATH, "m.C"],
            distances=[-7, 1, 1, 1, 1, 1, True], weights=[-1, 1, 1, 1, 1, 1, float("inf")],
            factors=[0.5, 1, 1, 1, 1, 1, float("nan")], probabilities=[2**40], picks=[3, 4],
            matches=["7"], misses=[{}], new_arms=[-1], ignored=[HUGE, 7, THEN, "", None],
            changed=[HUGE, 7, "a.py", ""], analysis=HUGE,
        ),
        GoalsUncovered(
            "main", -3,
            {
                THEN: {"frontier": "yes", "reached": 9, "types": {"a": 1}},
                ELSE: [1], HUGE: {}, "": {},
                LOOP: {"types": [[PATH, 4], [PATH, 2], [DATE, 3], ["x"], "xy", [HUGE, 1], [1, 2],
                                 ["a", -1], ["b", 1.5], ["c", 2**70], [[], 1]]},
            },
            [HUGE, None, {}, 3],
        ),
    )  # fmt: skip
    f = state.types["main"]
    assert f == TargetingStats(
        "main", 0.0, "", 0, 0, 1, [DATE, PATH, "m.C"], [-1, -1, -1], [1, 1, 1], [1, 1, 1],
        [0, 0, 0], [3, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [THEN], ["a.py"],
    )  # fmt: skip
    assert state.uncovered_goals["main"] == {
        THEN: UncoveredGoal(False, 0, 0, ()),
        LOOP: UncoveredGoal(False, 0, 0, ((PATH, 2), (DATE, 3))),
    }
    assert restored(to_json(state)) == state


def test_a_checkpoint_carries_them():
    state = fold(told(pinned=THEN, ignored=[LOOP]), left(THEN=(True, 0, [[DATE, 2]])))
    again = restored(json.loads(json.dumps(to_json(state))))
    assert again == state
    more = (left(asked=200, gone=[THEN], ELSE=(True, 1, [[PATH, 1]])), told("s1"))
    assert fold(*more, state=again) == fold(*more, state=state)


# ------------------------------------------------------------------- looking


def test_rows_are_sums_and_means_over_instances():
    s1 = told("s1", weights=[3.0, 2.0], distances=[-1, 1], probabilities=[0, 1_000_000])
    state = fold(told(), s1)
    rows = type_rows(state)
    assert list(rows) == [PATH, DATE]  # the most likely first
    date, path = rows[DATE], rows[PATH]
    assert (date.distance, date.weight, date.differs, date.probability) == (2, 1.0, True, 0.3)
    assert (path.distance, path.weight, path.differs, path.probability) == (1, 2.0, False, 0.7)
    assert path.factor == pytest.approx(4 / 3)
    assert (date.picks, date.matches, date.misses, date.new_arms) == (20, 16, 4, 6)
    assert weights(state, DATE) == {"main": 1.0, "s1": 3.0}
    assert weights(state, DATE, "s1") == {"s1": 3.0}


def test_who_has_ended_aims_no_more_but_has_done_what_it_has():
    s1 = told("s1", targeted=1.0, weights=[3.0, 2.0], distances=[0, 0], pinned=THEN)
    state = fold(told(), s1, InstanceState("s1", "finished"))
    date = type_rows(state)[DATE]
    assert (date.distance, date.weight, date.differs, date.probability) == (2, 1.0, False, 0.6)
    assert date.picks == 20
    assert aim(state) == (0.5, "")
    fold(InstanceState("main", "finished"), state=state)
    assert (type_rows(state)[DATE].distance, type_rows(state)[DATE].differs) == (0, True)
    assert aim(state) == (0.75, THEN)


def test_a_type_that_only_one_instance_knows():
    state = fold(told(), told("s1", names=["m.C"], probabilities=[1_000_000], weights=[0.0]))
    row = type_rows(state)["m.C"]
    assert (row.probability, row.weight, row.differs, row.distance) == (0.5, 0.0, False, 2)
    assert type_rows(state)[DATE].probability == 0.3


def test_what_one_instance_has_covered_is_left_in_none():
    state = fold(
        told(), told("s1", uncovered=1),
        left(THEN=(False, 3, [[DATE, 2]]), LOOP=(False, 0, [])),
        left("s1", 50, THEN=(True, 4, [[DATE, 2]])),
    )  # fmt: skip
    rows = goal_rows(state)
    assert list(rows) == [THEN]
    row = rows[THEN]
    assert (row.frontier, row.reached, row.types) == (True, 7, ((DATE, 2),))
    assert row.checked_trials == 150
    assert reached_share(row) == pytest.approx(7 / 150)
    # Who has loaded less of the program has not covered what it does not know.
    fold(told("s1", uncovered=1, targets=8), state=state)
    assert list(goal_rows(state)) == [THEN, LOOP]
    fold(told("s1", uncovered=1), state=state)
    # But of one that does not tell of all that it has left nobody knows.
    fold(told("s1", uncovered=300), state=state)
    assert list(goal_rows(state)) == [THEN, LOOP]


def test_what_is_counted_as_left_is_what_is_told_as_left():
    """Each of two has covered what the other has not."""
    state = fold(
        told(frontier=2), told("s1"),
        left(THEN=(True, 3, [[DATE, 2]]), LOOP=(True, 0, [])),
        left("s1", 50, THEN=(False, 4, [[DATE, 2]]), ELSE=(True, 0, [])),
    )  # fmt: skip
    assert list(goal_rows(state)) == [THEN]
    whole = targeting_summary(state)
    assert (whole.targets, whole.uncovered, whole.frontier) == (9, 1, 1)
    # As long as not all is told nobody knows better than the one that has covered the most.
    fold(told(uncovered=3), told("s1", uncovered=3, frontier=2), state=state)
    assert (targeting_summary(state).uncovered, targeting_summary(state).frontier) == (3, 1)


def test_who_has_covered_all_leaves_nothing():
    state = fold(told(uncovered=0), told("s1"), left(gone=[THEN]), left("s1", THEN=(True, 0, [])))
    assert goal_rows(state) == {}


def test_how_often_a_target_was_reached_is_as_of_when_that_was_told():
    state = fold(left(asked=100, THEN=(True, 60, []), ELSE=(True, 0, [])), left(asked=110))
    rows = goal_rows(state)
    assert (rows[THEN].reached, rows[THEN].checked_trials) == (60, 100)
    # The first trial that reached it would have been reported.
    assert (rows[ELSE].reached, rows[ELSE].checked_trials) == (0, 110)
    assert reached_share(rows[ELSE]) == 0.0
    nothing = goal_rows(fold(left(asked=0, THEN=(True, 0, []))))[THEN]
    assert reached_share(nothing) == -1.0


def test_the_frontier_comes_first_and_what_is_pinned_says_so():
    state = fold(
        told(pinned=LOOP), left(LOOP=(False, 0, []), THEN=(True, 0, []), ELSE=(True, 0, []))
    )
    assert list(goal_rows(state)) == [THEN, ELSE, LOOP]
    assert [row.pinned for row in goal_rows(state).values()] == [False, False, True]


def test_what_any_instance_that_lives_ignores_comes_last_and_says_so():
    state = fold(
        told(ignored=[THEN]), told("s1"),
        left(THEN=(True, 0, []), LOOP=(False, 0, []), ELSE=(True, 0, [])),
        left("s1", THEN=(True, 0, []), LOOP=(False, 0, []), ELSE=(True, 0, [])),
    )  # fmt: skip
    assert list(goal_rows(state)) == [ELSE, LOOP, THEN]
    assert [row.ignored for row in goal_rows(state).values()] == [False, False, True]
    assert targeting_summary(state).ignored == (THEN,)
    whole = targeting_summary(state)
    assert (whole.uncovered, whole.frontier) == (2, 1)  # an ignored goal is uncovered, too
    fold(InstanceState("main", "finished"), state=state)
    assert list(goal_rows(state)) == [THEN, ELSE, LOOP]
    assert targeting_summary(state).ignored == ()


def test_the_aim_is_of_whom_has_loaded_the_most_of_the_program():
    assert targeting_summary(State()) is None
    begun = told("s1", targets=0, uncovered=0, frontier=0, targeted=0.1, pinned=THEN)
    state = fold(begun, told(), told("s2", uncovered=5, frontier=4, targeted=0.6))
    assert targeting_summary(state) == TargetingSummary(pytest.approx(0.4), THEN, 9, 2, 1)


def test_what_has_changed_since_the_analysis():
    changed = told("s1", changed=["b.py", "a/__init__.py"], analysis="0123")
    state = fold(told(), changed, told("s2", changed=["b.py"]))
    assert targeting_summary(state).changed == ("a/__init__.py", "b.py")
    words = "a/__init__.py and b.py have changed since their types were analysed: "
    assert stale(state) == f"{words}stop and start the campaign to have them analysed again"
    assert restored(to_json(state)) == state
    fold(InstanceState("s1", "stopped"), CampaignState("stopped"), state=state)
    assert stale(state) == (
        "b.py has changed since its types were analysed: "
        "start the campaign to have it analysed again"
    )
    assert status_dict(state)["types"]["changed"] == ["b.py"]
    fold(told("s2"), state=state)
    assert stale(state) == stale(State()) == ""


def test_as_json():
    assert types_dict(State()) is None
    assert status_dict(State())["types"] is None
    state = fold(told(weights=[0.0, 2.0], ignored=[LOOP]), left(THEN=(True, 0, [[DATE, 2]])))
    fold(asked("c1", PinGoal(THEN)), state=state)
    status = status_dict(state)["types"]
    assert status == {
        "targeted": 0.5, "adaptive": False, "pinned": None, "ignored": [LOOP], "targets": 9,
        "uncovered": 2,
        "frontier": 1, "changed": [],
        "likeliest": [{"name": DATE, "probability": 0.6}, {"name": PATH, "probability": 0.4}],
        "banned": [DATE], "pending": [{"c": "pin-target", "location": THEN}],
    }  # fmt: skip
    whole = types_dict(state)
    assert {key: whole[key] for key in status} == status
    assert whole["types"][1] == {
        "name": PATH, "probability": 0.4, "weight": 2.0, "differs": False, "distance": 4,
        "factor": 1.333333, "picks": 5, "matches": 1, "misses": 4, "new_arms": 0,
    }  # fmt: skip
    assert whole["left"] == [
        {
            "location": THEN, "frontier": True, "pinned": False, "ignored": False, "reached": 0,
            "asked": 100, "types": [{"name": DATE, "distance": 2}],
        }
    ]  # fmt: skip


# ------------------------------------------------------------------ steering


def test_what_was_done_is_so_before_figures_say_it():
    state = fold(
        told(),
        told("s1"),
        asked("c1", WeighType(PATH, 0.0)),
        asked("c2", PinGoal(THEN)),
        asked("c3", SetTargetedShare(0.75)),
        asked("c4", WeighType("m.C", 5.0)),
        asked("c5", Pause()),
    )
    assert [c for _, c in unanswered(state, TypeCommand)] == [
        WeighType(PATH, 0.0), PinGoal(THEN), SetTargetedShare(0.75), WeighType("m.C", 5.0),
    ]  # fmt: skip
    done = [CommandApplied(f"c{n}", name) for n in range(1, 6) for name in ("main", "s1")]
    fold(*done, state=state)
    assert not unanswered(state, TypeCommand)
    assert (type_rows(state)[PATH].weight, type_rows(state)[DATE].weight) == (0.0, 1.0)
    assert aim(state) == (0.75, THEN)
    fold(asked("c6", PinGoal("")), CommandApplied("c6", "main"), state=state)
    assert targeting_summary(state).pinned == THEN  # by s1
    assert restored(to_json(state)) == state


def test_pinning_and_ignoring_end_each_other_before_figures_say_it():
    state = fold(told(pinned=LOOP, ignored=[ELSE]), told("s1"))

    def after(*commands):
        for n, command in enumerate(commands):
            fold(asked(f"c{n}", command), CommandApplied(f"c{n}", "main"), state=state)
        return targeting_summary(state).pinned, targeting_summary(state).ignored

    assert after(IgnoreGoal(THEN)) == (LOOP, (ELSE, THEN))
    assert after(IgnoreGoal(LOOP), IgnoreGoal(LOOP)) == ("", (ELSE, THEN, LOOP))
    assert after(PinGoal(THEN), IgnoreGoal(ELSE, False)) == (THEN, (LOOP,))
    assert after(IgnoreGoal(THEN, False)) == (THEN, (LOOP,))
    assert state.types["s1"].ignored == []
    assert restored(to_json(state)) == state


def test_no_more_is_ignored_than_is_bearable():
    state = fold(told(ignored=[f"a.py:{n}:then" for n in range(3 * MAX_GOALS)]))
    fold(asked("c1", IgnoreGoal(THEN)), CommandApplied("c1", "main"), state=state)
    assert len(state.types["main"].ignored) == MAX_GOALS


def test_refused_ones_change_nothing():
    state = fold(told(), asked("c1", WeighType(DATE, 0.0)), CommandRejected("c1", "main", "no"))
    assert not unanswered(state, TypeCommand)
    assert type_rows(state)[DATE].weight == 1.0


def test_one_that_cannot_does_not_undo_what_another_could():
    state = fold(told(), told("s1"), asked("c1", PinGoal(THEN)))
    fold(CommandApplied("c1", "main"), CommandRejected("c1", "s1", "covered"), state=state)
    assert state.commands["c1"].state == "applied"
    assert targeting_summary(state).pinned == THEN


@pytest.mark.parametrize(
    "command",
    [
        WeighType(DATE, -1.0), WeighType(DATE, 1e7),
        SetTargetedShare(1.5), PinGoal("x" * 10_000),
        IgnoreGoal("x" * 10_000),
    ],
)  # fmt: skip
def test_what_means_nothing_changes_nothing(command):
    before = fold(told()).types
    assert fold(told(), asked("c1", command), CommandApplied("c1", "main")).types == before


def test_an_answer_of_one_who_has_told_of_no_types():
    state = fold(asked("c1", SetTargetedShare(0.1)), CommandApplied("c1", "main"))
    assert state.types == {}

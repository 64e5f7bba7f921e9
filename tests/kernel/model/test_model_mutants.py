"""What events about mutants mean for the state."""

import json
from collections import Counter

import pytest
from folding import fold
from restored import restored

from fuzztui.kernel.model.chain import Chain, Link
from fuzztui.kernel.model.checkpoint import CheckpointMark, tables, to_json
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.mutants import (
    EXCLUDED,
    NOT_RUN,
    RAN,
    REACHED,
    UNKNOWN_REACH,
    UNREACHED,
    WAITS,
    Knowledge,
    excluded_mutants,
    knowledge,
    mutants_summary,
    nearest,
    outcome,
    survivor_group,
    survivors,
    uncompared_text,
)
from fuzztui.kernel.model.selectors import overtime, throughput
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.wire import events as ev
from fuzztui.tools.status.status import status_dict

FOUND = ev.MutantsFound(
    "main", "lib", "lib/__init__.py", "/p/lib/__init__.py",
    [
        {"id": "a", "line": 3, "function": "f", "operator": "math", "before": "x+1",
         "after": "x-1"},
        {"id": "b", "line": 9, "function": "<module>", "operator": "returns", "static": True},
        {"id": "c", "line": 4, "function": "f", "operator": "negate"},
        {"id": "d", "line": 5, "function": "f", "operator": "negate"},
    ],
)  # fmt: skip


def says(instance, word, key="a", **fields):
    return ev.MutantState(instance, key, word, **fields)


def test_found_once_told_twice():
    state = fold(FOUND)
    a, b, *_ = state.mutants.values()
    assert (a.id, a.module, a.file, a.path) == ("a", "lib", "lib/__init__.py", "/p/lib/__init__.py")
    assert (a.line, a.function, a.operator, a.before, a.after) == (3, "f", "math", "x+1", "x-1")
    assert (a.state, a.t, a.seq, a.static, b.static) == ("pending", 1.0, 1, False, True)
    again = apply(state, [ev.Record(2, 2.0, FOUND)])
    assert again.mutants == frozenset()
    assert state.mutant_counts == {"pending": 4}
    assert state.static_mutants == 1


def test_a_program_that_was_edited_shows_where_mutants_are_now():
    state = fold(FOUND, says("main", "killed"))
    moved = [{"id": "a", "line": 30, "function": "f", "operator": "math"}]
    changes = apply(
        state, [ev.Record(3, 3.0, ev.MutantsFound("s1", "lib", "l.py", "/l.py", moved))]
    )
    a = state.mutants["a"]
    assert (a.line, a.file, a.state, a.t) == (30, "l.py", "killed", 1.0)
    assert changes.mutants == {"a"}


def test_a_word_may_come_before_the_mutant():
    state = fold(says("main", "alive"), ev.MutantRuns("main", {"b": [1, 1, 1]}), FOUND)
    assert (state.mutants["a"].line, state.mutants["a"].state) == (3, "alive")
    assert (state.mutants["b"].line, state.mutants["b"].runs) == (9, 1)
    assert state.mutant_counts == {"alive": 1, "pending": 3}


def test_a_kill():
    word = says("main", "killed", killer="main/7", oracle="value", trial=99, detail="3, not 4")
    state = fold(FOUND, word)
    a = state.mutants["a"]
    assert (a.state, a.killer, a.oracle, a.trial, a.killed_t) == (
        "killed", "main/7", "value", 99, 2.0,
    )  # fmt: skip
    assert list(zip(state.series["killed"].times, state.series["killed"].values, strict=True)) == [
        (1.0, 0),
        (2.0, 1),
    ]
    fold(says("main", "killed", killer="main/7", oracle="exception"), state=state)
    assert (state.mutants["a"].oracle, state.mutants["a"].killed_t) == ("exception", 2.0)


@pytest.mark.parametrize("word", ["pending", "alive", "invalid", "killed", "nonsense"])
def test_killed_by_one_is_killed(word):
    state = fold(FOUND, says("main", "killed", killer="main/7"), says("s1", word, killer="s1/2"))
    a = state.mutants["a"]
    assert (a.state, a.killer, a.killed_t) == ("killed", "main/7", 2.0)


def test_a_requeue_takes_a_kill_back():
    state = fold(FOUND, says("main", "killed"), says("s1", "killed"))
    fold(says("s1", "pending"), says("main", "pending"), state=state)
    assert (state.mutants["a"].state, state.mutants["a"].killed_t) == ("pending", -1.0)
    assert state.series["killed"].last == 0
    fold(says("s1", "killed", killer="s1/3"), state=state)
    assert (state.mutants["a"].killer, state.mutants["a"].killed_t) == ("s1/3", 6.0)


@pytest.mark.parametrize("verdict", ["skipped", "equivalent"])
def test_a_persons_word_counts_until_the_next(verdict):
    state = fold(FOUND, says("main", "killed"), says("s1", verdict, reason="because"))
    assert (state.mutants["a"].state, state.mutants["a"].reason) == (verdict, "because")
    assert state.series["killed"].last == 0
    fold(says("main", "alive", steer="promoted"), state=state)
    a = state.mutants["a"]
    assert (a.state, a.reason, a.steer) == ("alive", "", "promoted")


def test_counts_are_of_each_instance():
    state = fold(
        FOUND,
        ev.MutantRuns("main", {"a": [10, 5, 2], "b": [1, 0, 0]}),
        ev.MutantRuns("s1", {"a": [7, 7, 7], "c": [-4, 2**80, 1], "d": "x", "": [1, 1, 1]}),
        ev.MutantRuns("main", {"a": [20, 6, 2]}),
    )
    a = state.mutants["a"]
    assert a.counts == {"main": [20, 6, 2], "s1": [7, 7, 7]}
    assert (a.reached, a.infected, a.runs) == (27, 13, 9)
    assert state.mutants["c"].counts == {"s1": [0, 0, 1]}
    assert state.mutants["d"].counts == {}


def test_the_entry_nearest_to_a_kill():
    state = fold(
        FOUND,
        ev.MutantRuns("main", {"a": [1, 0, 0]}, {"a": ["main/3", "reached"]}),
        ev.MutantRuns("s1", {"a": [1, 1, 0]}, {"a": ["s1/0", "infected"]}),
        ev.MutantRuns("main", {"a": [2, 0, 0]}),
        ev.MutantRuns("main", {"b": [1, 0, 0], "c": [1, 0, 0], "d": [1, 0, 0]},
                   {"b": ["main/3", "near"], "c": [1, 2, 3], "d": "x", "e": ["main/1", "ran"]}),
    )  # fmt: skip
    a = state.mutants["a"]
    assert a.near == {"main": ["main/3", "reached"], "s1": ["s1/0", "infected"]}
    assert nearest(a) == ("s1/0", "infected")
    assert [nearest(state.mutants[id]) for id in "bcd"] == [None] * 3
    assert "e" not in state.mutants
    assert restored(json.loads(json.dumps(to_json(state)))).mutants == state.mutants


def test_survivors_in_groups():
    state = fold(
        FOUND, says("main", "alive", "a"),
        ev.MutantRuns("main", {"a": [4, 3, 2], "b": [4, 1, 0], "c": [1, 0, 0]}),
    )  # fmt: skip
    groups = survivors(state.mutants.values())
    assert {name: [m.id for m in rows] for name, rows in groups.items()} == {
        RAN: ["a"], WAITS: ["b"], REACHED: ["c"], UNREACHED: ["d"],
    }  # fmt: skip
    assert survivor_group(state.mutants["d"], Knowledge(reach=False)) == UNKNOWN_REACH


@pytest.mark.parametrize(("share", "seconds"), [(-1.0, 0.0), (0.0, 10.0), (0.5, 10.0)])
def test_running_time_beyond_the_budget_is_the_exact_passs(share, seconds):
    stats = {"main": ev.MutationStats("main", pass_share=share)}
    assert overtime(State(t=30.0, budget_s=20.0, mutation=stats)) == seconds
    assert overtime(State(t=19.0, budget_s=20.0, mutation=stats)) == 0
    assert overtime(State(t=30.0, mutation=stats)) == 0


def test_the_exact_passs_time_does_not_count_in_the_rate():
    stats = {"main": ev.MutationStats("main", pass_share=0.5)}
    ran = {"main": Instance("main", stats=ev.Stats("main", execs=4000))}
    ended = State(t=30.0, state="finished", budget_s=20.0, mutation=stats, instances=ran)
    assert throughput(ended) == 200


def test_what_is_no_mutant_is_passed_over():
    hostile = [3, {}, {"id": 7}, {"id": ""}, {"id": "a", "line": "x", "before": [1], "static": 1}]
    state = fold(ev.MutantsFound("main", mutants=hostile))
    (a,) = state.mutants.values()
    assert (a.line, a.before, a.static) == (-1, "", False)


def test_the_place_of_a_mutant_may_be_unknown():
    """Logs of earlier versions have the line only, and an edited program has other places."""
    known = {"id": "a", "line": 3, "column": 5, "end_line": 4, "end_column": 2}
    state = fold(ev.MutantsFound("main", mutants=[known, {"id": "b", "line": 3, "column": "x"}]))
    places = [(m.line, m.column, m.end_line, m.end_column) for m in state.mutants.values()]
    assert places == [(3, 5, 4, 2), (3, -1, -1, -1)]
    fold(ev.MutantsFound("main", mutants=[{**known, "column": 7}]), state=state)
    assert state.mutants["a"].column == 7


def test_the_event_list_has_kills_and_no_lists():
    runs, stats = ev.MutantRuns("main", {"a": [1, 1, 1]}), ev.MutationStats("main")
    state = fold(FOUND, runs, stats, says("main", "alive"), says("main", "killed"))
    assert [r.seq for r in state.recent] == [5]


def test_a_list_of_mutants_is_much_work():
    many = ev.MutantsFound("main", mutants=[{"id": str(n)} for n in range(300)])
    assert fold(many).cost > 50
    assert fold(FOUND, FOUND).cost < 5


def test_an_entry_says_how_many_it_killed():
    assert fold(ev.EntryDescribed("main", 3, ["kill"], kills=4)).entries["main/3"].kills == 4


def test_a_checkpoint_holds_of_a_mutant_what_changed():
    state = fold(FOUND)
    mark = CheckpointMark.of(state)
    fold(ev.MutantRuns("s1", {"a": [1, 2, 3]}), says("main", "alive", key="c"), state=state)
    data = json.loads(json.dumps(to_json(state, mark)))
    assert data["mutants"] == [
        ["a", {"counts": {"s1": [1, 2, 3]}}],
        ["c", {"state": "alive", "instance": "main"}],
    ]
    assert restored(json.loads(json.dumps(to_json(state)))) == state


def test_a_mutant_with_a_verdict_has_run_though_its_counts_are_late():
    state = fold(
        FOUND, says("main", "killed"), says("main", "killed", "c"), says("main", "alive", "d")
    )
    fold(ev.MutantRuns("main", {"c": [3, 2, 2]}), state=state)
    assert [state.mutants[key].runs for key in "acdb"] == [1, 2, 1, 0]


def test_the_score():
    state = fold(FOUND, says("main", "killed"), says("main", "skipped", "c"))
    summary = mutants_summary(state)
    assert (summary.total, summary.killed, summary.pending, summary.skipped) == (4, 1, 2, 1)
    assert (summary.score, summary.static) == (0.25, 1)
    assert summary.adjusted == pytest.approx(1 / 3)
    fold(says("main", "invalid", "d"), says("main", "equivalent", "b"), state=state)
    summary = mutants_summary(state)
    assert (summary.score, summary.adjusted) == (pytest.approx(1 / 3), 1.0)
    assert mutants_summary(State()).score is None


def test_the_status_object_adds_instances_up():
    nan = float("nan")
    state = fold(
        FOUND,
        says("main", "killed"),
        ev.MutationStats(
            "main", 1.0, 2.0, 0.5, 0.25, runs=10, unexecuted=5, share=0.5, backlog=3, uncompared=2
        ),
        ev.MutationStats("s1", 3.0, nan, 0.5, 0.25, runs=-4, unexecuted=5, phase="exact"),
        ev.MutationStats("s2", share=0.25),
    )
    mutants = status_dict(state)["mutants"]
    assert (mutants["total"], mutants["killed"], mutants["score"]) == (4, 1, 0.25)
    assert mutants["time"] == {
        "original_s": 4.0, "mutants_s": 2.0, "compile_s": 1.0, "rest_s": 0.5,
    }  # fmt: skip
    assert (mutants["pairs"]["runs"], mutants["pairs"]["unexecuted"]) == (10, 10)
    assert mutants["uncompared"] == 2
    assert (mutants["share"], mutants["backlog"], mutants["phase"]) == (0.375, 3, "exact")
    assert (mutants["exact"], mutants["unsettled"], mutants["exact_left_s"]) == (None, None, None)
    assert status_dict(State())["mutants"] is None


def test_values_that_cannot_be_compared_are_counted_over_restarts():
    counts = [ev.MutationStats("main", uncompared=n) for n in (0, 3, 0, 2)]
    state = fold(FOUND, *counts, ev.MutationStats("s1", uncompared=1))
    assert status_dict(state)["mutants"]["uncompared"] == 4
    assert "4 values" in uncompared_text(state)
    assert uncompared_text(fold(FOUND, counts[0])) == ""


@pytest.mark.parametrize(("left", "exact"), [([0, 0], True), ([0, 5], False), ([3, 5], False)])
def test_the_score_is_exact_if_it_is_for_every_instance(left, exact):
    events = [ev.MutationStats(f"s{i}", unsettled=n) for i, n in enumerate(left)]
    mutants = status_dict(fold(FOUND, says("s0", "alive"), *events))["mutants"]
    assert (mutants["exact"], mutants["unsettled"]) == (exact, sum(left))


@pytest.mark.parametrize(
    ("corpora", "flaky", "exact"),
    [([0], 0, False), ([2], 2, False), ([2], 1, True), ([0, 1], 0, True)],
)
def test_no_score_is_exact_before_an_input_could_be_judged(corpora, flaky, exact):
    events = [
        event
        for n, corpus in enumerate(corpora)
        for event in (
            ev.Stats(f"s{n}", corpus=corpus),
            ev.MutationStats(f"s{n}", unsettled=0, flaky=flaky),
        )
    ]
    state = fold(FOUND, *events)
    summary = mutants_summary(state)
    assert status_dict(state)["mutants"]["exact"] is summary.exact is exact
    assert bool(summary.at_least) is not exact
    assert mutants_summary(fold(says("s0", "skipped"), *events)).exact
    assert mutants_summary(fold(FOUND, ev.Stats("s0"), ev.MutationStats("s0"))).exact is None


@pytest.mark.parametrize(("command", "ends"), [("skip-mutants", "applied"), ("pause", "rejected")])
def test_what_one_instance_did_to_mutants_is_done(command, ends):
    issued = ev.CommandIssued("c1", {"c": command, "select": "a"}, "somebody")
    did = ev.CommandApplied("c1", "main", 9, "1 mutant skipped")
    did_not = ev.CommandRejected("c1", "s1", "it is killed")
    for answers in ((did, did_not), (did_not, did)):
        state = fold(FOUND, issued, *answers).commands["c1"].state
        assert state == (ends if answers[-1] is did_not else "applied")


@pytest.mark.parametrize("unsettled", [0, 3])
def test_after_the_end_none_is_pending(unsettled):
    """Each has a word that claims no more than the log shows, and the counts are its words'."""
    ids = ("killed", "ran", "same", "unreached", "infected")
    state = fold(
        ev.Stats("main", corpus=3),
        ev.MutantsFound("main", mutants=[{"id": name} for name in ids]),
        ev.MutantState("main", "killed", "killed"),
        ev.MutantState("main", "ran", "alive"),
        ev.MutantRuns("main", {"same": [4, 0, 0], "infected": [4, 1, 0]}),
        ev.MutationStats("main", unsettled=unsettled),
    )
    before = {m.id: outcome(m, knowledge(state)) for m in state.mutants.values()}
    assert before == {"killed": "killed", "ran": "alive"} | dict.fromkeys(ids[2:], "pending")
    fold(ev.CampaignEnded("finished"), state=state)
    known, summary = knowledge(state), mutants_summary(state)
    words = {m.id: outcome(m, known) for m in state.mutants.values()}
    if unsettled:  # inputs were not looked at: nothing is known of those that did not run
        assert words == before | dict.fromkeys(ids[2:], NOT_RUN)
    else:
        assert words == {**before, "same": "alive", "unreached": UNREACHED, "infected": NOT_RUN}
    for word in ("killed", "alive", "pending", NOT_RUN, UNREACHED):
        assert summary.count(word) == list(words.values()).count(word)
    groups = survivors(state.mutants.values(), known)
    assert sum(map(len, groups.values())) == summary.left == 4
    assert summary.exact is not bool(unsettled)


def test_mutants_that_a_pragma_excludes_are_in_no_count_and_in_checkpoints():
    out = {"id": "e", "line": 6, "operator": "math", "before": "1", "after": "2"}
    event = ev.MutantsFound("main", "lib", "l.py", "/p/l.py", [{**out, "excluded": "a guard"}])
    state = fold(FOUND, event)
    state = restored(json.loads(json.dumps(to_json(state))))
    (excluded,) = excluded_mutants(state)
    assert (excluded.id, excluded.state, excluded.reason) == ("e", EXCLUDED, "a guard")
    assert (excluded.file, excluded.line, excluded.after) == ("l.py", 6, "2")
    assert "e" not in state.mutants
    summary = mutants_summary(state)
    assert (summary.excluded, summary.total) == (1, len(FOUND.mutants))
    assert status_dict(state)["mutants"]["excluded"] == 1
    # The pragma was removed.
    state = fold(ev.MutantsFound("main", "lib", "l.py", "/p/l.py", [out]), state=state)
    assert "e" in state.mutants
    assert excluded_mutants(state) == []


@pytest.mark.parametrize("word", ["pending", "alive", "killed", "equivalent"])
def test_a_mutant_that_a_pragma_excludes_later_leaves_all_counts_and_checkpoints(word):
    state = fold(FOUND, says("main", word, "b", property="p"), says("s1", "killed", "c"))
    mark, first = CheckpointMark.of(state), json.loads(json.dumps(to_json(state)))
    out = {**FOUND.mutants[1], "excluded": "a guard"}
    event = ev.MutantsFound("main", "lib", "l.py", "/l.py", [out])
    changes = apply(state, [ev.Record(9, 9.0, event)])
    assert changes.reset
    assert "b" not in changes.mutants
    fold(says("s1", "killed", "b"), ev.MutantRuns("s1", {"b": [1, 1, 1]}), state=state)
    assert list(state.mutants) == ["a", "c", "d"]
    summary = mutants_summary(state)
    assert (summary.total, summary.killed, summary.pending, summary.excluded) == (3, 1, 2, 1)
    assert (summary.alive, summary.equivalent, summary.static) == (0, 0, 0)
    assert +Counter(state.mutant_counts) == {"pending": 2, "killed": 1}
    assert +Counter(state.mutant_verdicts) == {"killed": 1}
    assert not any(state.property_kills.values())
    assert state.series["killed"].last == 1
    # The row is in the first checkpoint, and the second one has only what is new.
    second = json.loads(json.dumps(to_json(state, mark)))
    links, before = [], {}
    for data in (first, second):
        rows = tables(data, before)
        before = {**before, **rows.mutants}
        links.append(
            Link(
                data["seq"], data["cost"], data["t"], rows, data["recent"], lambda d=data: d["head"]
            )
        )
    assert Chain(links).restore(2) == state

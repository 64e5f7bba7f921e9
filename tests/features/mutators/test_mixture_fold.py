"""Text mutators: the mixture and its changes, sums over instances, who pays."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from restored import restored

from fuzztui.engines.text.mixture import STACKS
from fuzztui.features.mutators.fold import (
    MixtureSetting,
    MutatorRow,
    arms,
    best,
    changed,
    mixture_dict,
    mixture_for_all,
    mutator_wishes,
    mutators_dict,
    settings,
)
from fuzztui.features.mutators.fold import mixture_summary as summary
from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.commands import missed_commands, unanswered
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.undo import undo
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import SetMixture, WeighMutator
from fuzztui.kernel.wire.events import (
    CommandApplied,
    CommandIssued,
    CommandRejected,
    InstanceHello,
    InstanceState,
    MutantProgress,
    MutatorStats,
    PhaseStarted,
    Record,
)
from fuzztui.kernel.wire.mixture import STACK, STEPS, Mixture, class_of, completed, moved, stuck
from fuzztui.tools.status.status import status_dict

NAMES = ["swap-args", "eq-to-ne", "fragment", "balanced", "havoc"]


def told(instance="main", mixture=(0.25, 0.75, 0.0), *, adaptive=False, **lists):
    figures = {
        "tried": [100, 50, 10, 0, 200],
        "applied": [80, 50, 5, 0, 200],
        "found": [8, 0, 1, 0, 4],
        "crashes": [0, 1, 0, 0, 0],
        "weights": [250_000, 750_000, 400_000, 600_000, 1_000_000],
        **lists,
    }
    return MutatorStats(instance, *mixture, adaptive=adaptive, trials=360, names=NAMES, **figures)


def fold(*events, state=None):
    state = State() if state is None else state
    apply(state, [Record(state.seq + n, state.t + n, e) for n, e in enumerate(events, 1)])
    return state


def asked(id, *mixture, adaptive=False, instance="", by="ann"):
    command = SetMixture(*mixture, adaptive=adaptive, instance=instance)
    return CommandIssued(id, encode_command(command), by)


def last_change(state):
    now = summary(state)
    return now.t, now.by


# ------------------------------------------------------------------- figures


def test_arms_are_summed_over_instances():
    state = fold(told(), told("s1", weights=[750_000, 250_000, 0, 0, 1_000_000]))
    rows = arms(state)
    assert list(rows) == NAMES
    arm = rows["swap-args"]
    assert (arm.cls, arm.tried, arm.applied, arm.found) == ("text", 200, 160, 16)
    assert (arm.share, arm.bar, arm.pays) == (0.5, 1.0, 100_000)
    assert rows["balanced"].pays == -1
    assert [class_of(n) for n in NAMES] == ["text", "text", "splice", "splice", "havoc"]
    assert mutators_dict(state)[3]["found_per_million"] is None


def test_who_is_over_draws_no_more_but_has_found_what_it_has():
    over = InstanceState("s1", "finished")
    state = fold(told(), told("s1", (1.0, 0.0, 0.0), weights=[0] * 5), over)
    assert arms(state)["swap-args"].share == 0.25
    assert arms(state)["swap-args"].found == 16
    assert summary(state).mixture == (0.25, 0.75, 0.0)
    assert not summary(state).differ
    fold(InstanceState("main", "finished"), state=state)
    assert summary(state).mixture == (0.625, 0.375, 0.0)


def test_one_lucky_find_is_nobodys_best():
    found = {"lucky": 1, "b": 40, "none": 0, "d": 90}
    rows = [MutatorRow(name, 9, 10_000, n) for name, n in found.items()]
    rows.append(MutatorRow("just-begun", 9, 19, 5))
    assert [a.name for a in best(rows)] == ["d", "b"]
    in_a_table = sorted(rows, key=lambda a: a.order, reverse=True)
    assert [a.name for a in in_a_table] == ["d", "b", "just-begun", "lucky", "none"]


def test_shares_of_a_class_add_to_1_whatever_its_weights_add_to():
    weights = [100_000, 300_000, 1_000_000, 0, 1_000_000]  # of text some arms are left out
    state = fold(told(weights=weights))
    assert [round(arm.share, 6) for arm in arms(state).values()] == [0.25, 0.75, 1.0, 0.0, 1.0]
    assert [arm["weight"] for arm in mutators_dict(state)] == [0.25, 0.75, 1.0, 0.0, 1.0]


def test_what_is_never_drawn_is_no_row():
    never = told(tried=[0, 50, 0, 0, 0], applied=[0] * 5, found=[0] * 5, crashes=[0] * 5,
                 weights=[0, 1_000_000, 1_000_000, 0, 1_000_000])  # fmt: skip
    assert list(arms(fold(never))) == ["eq-to-ne", "fragment", "balanced", "havoc"]
    fold(told("s1"), state=(state := fold(never)))  # another one has it
    assert list(arms(state)) == NAMES


def test_steps_that_could_do_nothing_were_havoc():
    assert sum(1 << n for n in range(STACKS)) / STACKS == STACK
    state = fold(replace(told(), trials=200))
    assert summary(state).havoc == -1  # of so few inputs nothing can be told
    more = replace(told(mixture=(0.25, 0.5, 0.25), tried=[0, 0, 0, 0, 3000]), trials=2000)
    fold(*[more] * 9, state=state)
    before = summary(state)
    assert before.havoc == -1  # none since it changed
    more = replace(more, trials=4000, tried=[0, 0, 0, 0, 3000 + 5250])
    fold(more, state=state)
    assert summary(state).havoc == pytest.approx(0.7)
    assert summary(state).did("havoc") == " (did 70%)"
    assert summary(state).did("text") == ""
    assert mixture_dict(state)["havoc_done"] == 0.7
    again = restored(to_json(state))
    assert summary(again).havoc == pytest.approx(0.7)


def test_figures_that_are_none_are_nought():
    state = fold(
        MutatorStats(
            "main", 0.5, 0.5, 0.0,
            names=["a", 3, "a", "x" * 201, "b", "c"],
            tried=[1, 2, 3, 4, -5, True], applied=[1, 2], found=["7"], weights=[2**70],
        )
    )  # fmt: skip
    f = state.mutators["main"]
    assert (f.names, f.tried, f.applied, f.found) == (
        ["a", "b", "c"], [1, 0, 0], [1, 0, 0], [0, 0, 0],
    )  # fmt: skip
    assert f.weights == [0, 0, 0]
    many = MutatorStats("main", 1.0, names=[f"a{n}" for n in range(999)])
    assert len(fold(many).mutators["main"].names) == 200


def test_they_are_in_the_status_and_in_no_event_list():
    state = fold(told())
    assert not state.recent
    mixture = status_dict(state)["mixture"]
    assert (mixture["havoc"], mixture["text"], mixture["adaptive"]) == (0.25, 0.75, False)
    assert mixture["best"] == [{"name": "havoc", "found": 4, "applied": 200}]
    assert status_dict(State())["mixture"] is None


# ------------------------------------------------------------------- changes


def test_from_the_start_until_somebody_changes_it():
    state = fold(told())
    assert last_change(state) == (-1.0, "")
    fold(asked("c1", 0.1, 0.8, 0.1), state=state)
    assert [c.mixture for _, c in unanswered(state, SetMixture)] == [(0.1, 0.8, 0.1)]
    fold(CommandApplied("c1", "main", 7), told(mixture=(0.1, 0.8, 0.1)), state=state)
    assert last_change(state) == (3.0, "ann")
    assert not unanswered(state, SetMixture)
    fold(told(mixture=(0.1, 0.8, 0.1), tried=[999] * 5), state=state)
    assert last_change(state) == (3.0, "ann")


def test_what_was_done_is_so_before_figures_say_it():
    state = fold(told(), asked("c1", 0.1, 0.8, 0.1), CommandApplied("c1", "main", 7))
    assert summary(state).mixture == (0.1, 0.8, 0.1)
    # Figures of just before it do not take it back from who asked for it,
    fold(told(), told(mixture=(0.1, 0.8, 0.1)), state=state)
    assert last_change(state) == (3.0, "ann")
    # but those of long after it do.
    fold(*[told(mixture=(0.1, 0.8, 0.1))] * 3, told(), state=state)
    assert last_change(state) == (state.t, "")


def test_figures_that_are_there_before_the_answer():
    state = fold(told(), asked("c1", 0.1, 0.8, 0.1), told(mixture=(0.1, 0.8, 0.1)))
    assert last_change(state) == (3.0, "")
    fold(CommandApplied("c1", "main", 7), state=state)
    assert last_change(state) == (4.0, "ann")


def test_a_change_that_nobody_asked_for_has_a_time():
    state = fold(told(), told(mixture=(0.0, 1.0, 0.0)))
    assert last_change(state) == (2.0, "")


def test_what_is_adaptive_moves_by_itself():
    state = fold(told(), asked("c1", 0.25, 0.75, 0.0, adaptive=True), CommandApplied("c1", "main"))
    fold(
        told(adaptive=True), told(mixture=(0.05, 0.9, 0.05), adaptive=True),
        told(mixture=(0.3, 0.6, 0.1), adaptive=True), state=state,
    )  # fmt: skip
    now = summary(state)
    assert (now.adaptive, now.t, now.by) == (True, 3.0, "ann")


def test_refused_ones_change_nothing_and_wait_for_nobody():
    state = fold(told(), asked("c1", 0.1, 0.8, 0.1), CommandRejected("c1", "main", "no"))
    assert not unanswered(state, SetMixture)
    assert summary(state).t == -1.0
    # What is no mixture was refused before it was sent anywhere.
    state = fold(told(), asked("c1", 0.9, 0.9, 0.9), CommandApplied("c1", "main"))
    assert summary(state).t == -1.0


def test_instances_that_differ_are_told_as_their_mean():
    state = fold(told(), told("s1", (0.75, 0.25, 0.0)))
    now = summary(state)
    assert (now.mixture, now.differ, now.instances) == ((0.5, 0.5, 0.0), True, 2)
    assert summary(fold(told(), told("s1", adaptive=True))).differ
    assert summary(state, "s1").mixture == (0.75, 0.25, 0.0)
    assert summary(fold(told()), "s9") is None


def test_who_mixes_what_is_told_where_they_differ():
    begun = [InstanceState(name, "running", 1) for name in ("main", "s1", "s2")]
    one, other = told("s1", (1.0, 0.0, 0.0)), told("s2", (1.0, 0.0, 0.0))
    state = fold(*begun, other, told(adaptive=True), one)
    assert summary(state).each == "main adaptive; s1, s2 fixed 100/0/0"
    instances = mixture_dict(state)["instances"]
    assert {n: row["adaptive"] for n, row in instances.items()} == {
        "main": True, "s1": False, "s2": False,
    }  # fmt: skip
    # What adapts differs all the time.
    state = fold(told(adaptive=True), told("s1", (1.0, 0.0, 0.0), adaptive=True))
    assert summary(state).differ
    assert summary(state).each == ""


def test_each_instance_is_told_its_own_where_they_differ():
    state = fold(told(adaptive=True), told("s1", (1.0, 0.0, 0.0)))
    held = changed(settings(state), lambda now: now, adaptive=False)
    assert held == [
        SetMixture(0.25, 0.75, 0.0, instance="main"), SetMixture(1.0, 0.0, 0.0, instance="s1"),
    ]  # fmt: skip
    assert changed(settings(state, wanted=held), lambda _: Mixture(0, 1, 0), adaptive=True) == [
        SetMixture(0, 1, 0, adaptive=True)
    ]
    after = settings(state, wanted=[*held, SetMixture(0.0, 1.0, 0.0, instance="s1")])
    assert after == {
        "main": MixtureSetting(Mixture(0.25, 0.75, 0.0), False),
        "s1": MixtureSetting(Mixture(0.0, 1.0, 0.0), False),
    }
    assert changed({}, lambda now: now, adaptive=True) == []


def test_a_checkpoint_carries_it():
    state = fold(told(), asked("c1", 0.1, 0.8, 0.1), CommandApplied("c1", "main", 7))
    again = restored(to_json(state))
    assert again.mutators == state.mutators
    assert again.mixture_changes == state.mixture_changes
    fold(told(mixture=(0.1, 0.8, 0.1)), state=again)
    fold(told(mixture=(0.1, 0.8, 0.1)), state=state)
    assert again == state


# --------------------------------------------------------------------- turns


def turn(slot, mutant):
    return InstanceHello(slot, "afl-fuzz", mutant=mutant), InstanceState(slot, "running")


def over(slot, mutant):
    return InstanceState(slot, "finished"), MutantProgress(mutant, "done", slot)


def test_sums_are_of_all_turns_and_of_the_target():
    state = fold(PhaseStarted("mutants"), *turn("m1", "a"), told("m1"), *over("m1", "a"))
    # Between two turns it is as the last one left it.
    assert not state.mutators
    assert not state.mixture_changes
    assert summary(state).mixture == (0.25, 0.75, 0.0)
    assert (summary(state).trials, arms(state)["swap-args"].share) == (360, 0.25)
    half = (0.5, 0.5, 0.0)
    fold(*turn("m2", "b"), *turn("m2-s1", "b"), told("m2", half), told("m2-s1", half), state=state)
    now = summary(state)
    assert (now.mixture, now.instances, now.differ) == (half, 2, False)
    assert (summary(state).trials, arms(state)["swap-args"].found) == (3 * 360, 24)
    fold(*over("m2", "b"), MutantProgress("a", "done", "m1", brought={"edges": 9}), state=state)
    fold(PhaseStarted("target"), InstanceState("main", "running"), state=state)
    assert (summary(state).mixture, summary(state).trials) == (half, 3 * 360)
    more = MutatorStats("main", 1.0, names=["new", "havoc"], tried=[1, 2], found=[1, 1])
    fold(more, state=state)
    rows = arms(state)
    assert [*rows] == [*NAMES, "new"]
    assert (rows["havoc"].tried, rows["havoc"].found, rows["new"].tried) == (602, 13, 1)
    assert summary(state).mixture == (1.0, 0.0, 0.0)
    assert restored(to_json(state)) == state


def test_while_mutants_come_first_the_target_that_waits_has_no_say():
    state = fold(told(mixture=(1.0, 0.0, 0.0)), InstanceState("main", "waiting"))
    fold(PhaseStarted("mutants"), *turn("m1", "a"), told("m1"), state=state)
    assert summary(state).mixture == (0.25, 0.75, 0.0)
    assert summary(state).trials == 720


def test_what_was_set_for_all_is_remembered_for_those_that_begin_later():
    state = fold(PhaseStarted("mutants"), *turn("m1", "a"), told("m1"))
    fold(asked("c1", 0.1, 0.8, 0.1), CommandApplied("c1", "m1"), state=state)
    since = mixture_for_all(state).t
    fold(asked("c2", 0.0, 1.0, 0.0, instance="m1"), CommandApplied("c2", "m1"), state=state)
    assert summary(state).mixture == (0.0, 1.0, 0.0)
    fold(*over("m1", "a"), *turn("m2", "b"), told("m2"), state=state)
    wish = mixture_for_all(state)
    assert (wish.havoc, wish.text, wish.splice) == (0.1, 0.8, 0.1)
    assert (wish.by, wish.t) == ("ann", since)
    # The supervisor sees to it: it is still ann's, and as old as it is.
    fold(asked("c3", 0.1, 0.8, 0.1, instance="m2", by="fuzztui"), state=state)
    fold(CommandApplied("c3", "m2"), told("m2", (0.1, 0.8, 0.1)), state=state)
    assert last_change(state) == (since, "ann")
    assert restored(to_json(state)) == state
    # An answer that comes late to an older one changes nothing.
    fold(asked("c4", 0.2, 0.8, 0.0), asked("c5", 0.3, 0.7, 0.0), state=state)
    fold(CommandApplied("c5", "m2"), CommandApplied("c4", "m2"), state=state)
    assert mixture_for_all(state).havoc == 0.3


@pytest.mark.parametrize("weight", [100, 500, 10**6])
def test_a_weight_of_an_old_log_counts_as_the_present_bound(weight):
    command = {"c": "weigh-mutator", "mutator": "swap-args", "weight": weight}
    state = fold(told(), CommandIssued("c1", command, "ann"), CommandApplied("c1", "main"))
    assert mutator_wishes(state, "swap-args") == {"main": 100.0}
    assert missed_commands(state, {}) == [WeighMutator("swap-args", 100.0)]
    (done,) = undo(state, "ann", lambda _: fold(told())).commands
    assert done == (WeighMutator("swap-args", 1.0), ("c1",))
    assert WeighMutator("swap-args", 100.5).problem, "a new one is rejected"


@pytest.mark.parametrize("weight", [10**6 + 1, -1, 1e300])
def test_a_weight_that_never_was_valid_counts_for_nothing(weight):
    command = {"c": "weigh-mutator", "mutator": "swap-args", "weight": weight}
    state = fold(told(), CommandIssued("c1", command, "ann"), CommandApplied("c1", "main"))
    assert mutator_wishes(state, "swap-args") == {"main": 1.0}
    assert missed_commands(state, {}) == []


def test_what_was_set_between_two_turns_is_shown_at_once():
    state = fold(PhaseStarted("mutants"), *turn("m1", "a"), told("m1"), *over("m1", "a"))
    fold(asked("c1", 0.1, 0.8, 0.1), CommandApplied("c1"), state=state)
    assert (summary(state).mixture, summary(state).by) == ((0.1, 0.8, 0.1), "ann")
    assert not state.mixture_changes


# ------------------------------------------------------------------- mixture

PARTS = st.floats(0, 1)


@st.composite
def mixtures(draw):
    a, b = sorted((draw(PARTS), draw(PARTS)))
    return Mixture(a, b - a, 1 - b)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((0.5, 0.6, 0.0), "add up to 1.1, not to 1"),
        ((-0.5, 1.5, 0.0), "havoc is -0.5"),
        ((0.5, float("nan"), 0.5), "text is nan"),
        ((0.0, 0.0, float("inf")), "splice is inf"),
        ((0.0, 0.0, 10**400), "splice is 10000"),
        ((0, 0, 0), "add up to 0"),
    ],
)
def test_what_is_no_mixture(parts, words):
    assert words in Mixture(*parts).problem


@given(mixtures())
def test_what_is_one(mixture):
    assert not mixture.problem


def test_a_mixture_in_words():
    assert str(Mixture(0.1, 0.8, 0.1)) == "havoc 10%, text 80%, splice 10%"
    assert str(Mixture(1 / 3, 2 / 3, 0)) == "havoc 33.3%, text 66.7%, splice 0%"


@given(mixtures(), st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([-1, 1]))))
def test_however_it_is_moved_it_stays_a_mixture_of_whole_steps(mixture, moves):
    for boundary, by in moves:
        before, why = mixture, stuck(mixture, boundary, by)
        mixture = moved(mixture, boundary, by)
        assert not mixture.problem
        assert bool(why) == mixture.is_like(before)
        cut = mixture.havoc if boundary == 0 else mixture.havoc + mixture.text
        assert abs(cut * STEPS - round(cut * STEPS)) < 1e-6
        assert max(abs(a - b) for a, b in zip(mixture, before, strict=True)) < 2 / STEPS


def test_every_mixture_of_steps_can_be_reached():
    seen, new = set(), {Mixture(0.25, 0.75, 0.0)}
    while new:
        seen |= new
        new = {moved(m, b, by) for m in new for b in (0, 1) for by in (-1, 1)} - seen
    assert len(seen) == (STEPS + 1) * (STEPS + 2) // 2


@pytest.mark.parametrize(
    ("given_", "present", "wanted"),
    [
        ({"text": 0.5}, (0.25, 0.75, 0.0), (0.5, 0.5, 0.0)),
        ({"havoc": 0.1}, (0.25, 0.75, 0.0), (0.1, 0.9, 0.0)),
        ({"splice": 0.2}, (0.25, 0.75, 0.0), (0.2, 0.6, 0.2)),
        ({"text": 0.5, "splice": 0.1}, (0.25, 0.75, 0.0), (0.4, 0.5, 0.1)),
        ({"text": 0.9}, (0.0, 1.0, 0.0), (0.1, 0.9, 0.0)),
        ({"havoc": 0.9}, (1.0, 0.0, 0.0), (0.9, 0.1, 0.0)),
        ({"text": 0.5}, (5e-324, 1.0, 0.0), (0.5, 0.5, 0.0)),
        ({}, (0.1, 0.2, 0.7), (0.1, 0.2, 0.7)),
    ],
)
def test_parts_that_are_not_given(given_, present, wanted):
    assert completed(given_, Mixture(*present)) == pytest.approx(wanted)


@given(st.dictionaries(st.sampled_from(["havoc", "text", "splice"]), PARTS, max_size=2), mixtures())
def test_parts_are_completed_to_a_mixture(given_, present):
    assume(sum(given_.values()) <= 1)
    whole = completed(given_, present)
    assert not replace(SetMixture(*whole), adaptive=True).mixture.problem
    assert all(getattr(whole, name) == part for name, part in given_.items())

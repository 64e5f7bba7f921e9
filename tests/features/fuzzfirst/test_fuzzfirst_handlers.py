"""Steering the worklist: whatever is done to it, it is the list that a user means."""

import asyncio
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.fuzzfirst.budget import is_parallel
from fuzztui.features.fuzzfirst.fold import queue
from fuzztui.features.fuzzfirst.handlers import WorklistKeeper
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.inverses import UndoError
from fuzztui.kernel.model.state import CommandStatus, State
from fuzztui.kernel.model.undo import fold_before, undo
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import (
    MarkEquivalent,
    MoveMutants,
    PromoteMutants,
    RequeueMutants,
    SkipMutants,
    UseMutants,
)
from fuzztui.kernel.wire.events import (
    CommandApplied,
    CommandIssued,
    CommandRejected,
    MutantProgress,
    MutantsFound,
    MutantState,
    PhaseStarted,
    Record,
)
from fuzztui.run.campaign.rundir import SupervisorError


class Desk:
    """A log of events and the state that is folded from it."""

    def __init__(self, mutants=8, instances=4, **keys):
        keys = {"use": "sequential", "cluster": False, **keys}
        self.campaign = SimpleNamespace(instances=instances, table=lambda name: keys)
        self.state, self.records = State(), []
        self.plan = {"mutants_s": 100.0, "each_s": 10.0, "listed": float(mutants)}
        self.record(PhaseStarted("mutants", self.plan))
        row = {"before": "x", "after": "y"}
        rows = [{"id": f"a.c#{n}", "line": n, "place": float(n), **row} for n in range(mutants)]
        self.record(MutantsFound("", file="a.c", mutants=rows))
        self.handlers = WorklistKeeper(self.campaign, self.state, self.record).handlers()

    def record(self, *events):
        new = [Record(self.state.seq + 1 + n, 0.0, e) for n, e in enumerate(events)]
        self.records += new
        apply(self.state, new)

    def do(self, command):
        return asyncio.run(self.handlers[command.name](command, lambda words, part: None))

    @property
    def order(self):
        return [int(mutant.id[4:]) for mutant in queue(self.state)]


@pytest.fixture
def desk():
    return Desk()


def test_the_queue_is_in_the_order_of_rank():
    assert Desk().order == list(range(8))


@given(
    moves=st.lists(
        st.tuples(st.integers(0, 7), st.sampled_from(["first", "last", "up", "down"])), max_size=30
    )
)
def test_moving_is_moving_in_a_list(moves):
    desk, model = Desk(), list(range(8))
    for number, to in moves:
        desk.do(MoveMutants(f"a.c#{number}", to=to))
        at = model.index(number)
        model.remove(number)
        where = {"first": 0, "last": len(model), "up": max(0, at - 1), "down": at + 1}[to]
        model.insert(where, number)
        assert desk.order == model


def test_moving_into_one_gap_for_ever_keeps_the_order():
    desk = Desk(3)
    for n in range(400):  # floating point has no room for so many halves
        desk.do(MoveMutants("a.c#1" if n % 2 else "a.c#2", to="up" if n % 4 else "down"))
        assert sorted(desk.order) == [0, 1, 2]
    places = [mutant.place for mutant in queue(desk.state)]
    assert len(set(places)) == 3


def test_several_are_moved_together_and_keep_their_order(desk):
    desk.do(MoveMutants("line=[56]", to="first"))
    assert desk.order == [5, 6, 0, 1, 2, 3, 4, 7]
    desk.do(MoveMutants("line=[05]", to="last"))
    assert desk.order == [6, 1, 2, 3, 4, 7, 5, 0]


def test_a_promoted_one_is_next_and_marked(desk):
    assert "three times" in desk.do(PromoteMutants("a.c#5"))
    assert desk.order[0] == 5
    assert desk.state.mutants["a.c#5"].steer == "promoted"
    assert len(desk.order) == 8


def test_skipped_and_equivalent_ones_leave_the_queue_and_come_back(desk):
    desk.do(SkipMutants("a.c#2"))
    desk.do(MarkEquivalent("a.c#3", because="the same by De Morgan"))
    assert desk.order == [0, 1, 4, 5, 6, 7]
    assert desk.state.mutants["a.c#3"].reason == "the same by De Morgan"
    desk.do(RequeueMutants("line=[23]"))
    assert desk.order == list(range(8))
    assert desk.state.mutants["a.c#3"].state == "pending"


def test_skipping_everything_leaves_nothing(desk):
    assert desk.do(SkipMutants("file=*")).startswith("8 mutants")
    assert desk.order == []


def test_what_cannot_be_done_says_why(desk):
    desk.record(MutantProgress("a.c#0", "fuzzing", "m1"), MutantProgress("a.c#1", "done", "m2"))
    desk.record(MutantState("", "a.c#1", "killed", "m2/3", "crash"))
    for command, words in [
        (MoveMutants("a.c#0"), "is not waiting"),
        (MoveMutants("a.c#7", to="sideways"), "first, last, up, down"),
        (MoveMutants("a.c#99"), "no mutant matches"),
        (MoveMutants("what=x"), "no key"),
        (PromoteMutants("a.c#1"), "requeue it first"),
        (RequeueMutants("a.c#0"), "skip it first"),
        (MarkEquivalent("a.c#1", because="looks like it"), "an input distinguishes"),
    ]:
        with pytest.raises(SupervisorError, match=words):
            desk.do(command)
    desk.do(SkipMutants("a.c#0"))  # the one that is being fuzzed may be
    desk.record(PhaseStarted("target", {**desk.plan, "before_s": 100.0}))
    with pytest.raises(SupervisorError, match=r"phase is over .* a larger campaign.budget"):
        desk.do(MoveMutants("a.c#4"))


def test_once_the_target_is_fuzzed_mutants_with_budget_wait_for_the_next_start(desk):
    desk.do(SkipMutants("file=*"))
    desk.record(PhaseStarted("target", {**desk.plan, "before_s": 30.0}))
    said = desk.do(RequeueMutants("line=[25]"))
    assert said == "2 mutants queued again; to fuzz mutants again, stop and resume the campaign"
    assert desk.order == [2, 5]
    assert desk.do(SkipMutants("line=[25]")) == "2 mutants skipped"  # and taken back


def test_while_the_list_grows_a_selection_is_said_to_mean_a_part_of_it(desk):
    del desk.plan["listed"]
    desk.record(PhaseStarted("mutants", desk.plan))
    assert "listed later" in desk.do(SkipMutants("file=a.c"))
    assert "listed later" not in desk.do(RequeueMutants("a.c#2"))
    with pytest.raises(SupervisorError, match="mutants are still being listed"):
        desk.do(SkipMutants("file=b.c"))


def test_requeued_after_its_turn_it_has_a_whole_budget_again(desk):
    desk.record(MutantProgress("a.c#0", "fuzzing", "m1"), MutantProgress("a.c#0", "done", "m1"))
    desk.record(MutantState("", "a.c#0", "alive"))
    desk.do(RequeueMutants("a.c#0"))
    again = desk.state.mutants["a.c#0"]
    assert (again.stage, again.slot, again.fuzzed_s, again.state) == ("queued", "", 0.0, "pending")
    assert desk.order[0] == 0


def test_the_use_of_mutants_is_in_the_plan(desk):
    desk.record(PhaseStarted("mutants", {**desk.plan, "mutants_trials": 0, "each_trials": 0,
                                         "abreast": 1, "count": 10}))  # fmt: skip
    assert "each of 4 instances" in desk.do(UseMutants("parallel"))
    plan = desk.state.plan
    assert (plan["parallel"], plan["abreast"], plan["count"]) == (1, 4, 40)
    assert is_parallel(desk.campaign, plan)
    assert "all 4 instances" in desk.do(UseMutants("sequential"))
    plan = desk.state.plan
    assert (plan["parallel"], plan["abreast"], plan["count"]) == (0, 1, 10)
    assert not is_parallel(Desk(use="parallel").campaign, plan)  # as the command says


@pytest.mark.parametrize(
    ("desk", "use", "words"),
    [
        (Desk(instances=1), "parallel", "engine.instances is 1"),
        (Desk(cluster=True), "sequential", "parallel only"),
        (Desk(), "both", "'both' is unknown; choose sequential or parallel"),
    ],
)
def test_where_the_use_of_mutants_cannot_be_switched(desk, use, words):
    with pytest.raises(SupervisorError, match=words):
        desk.do(UseMutants(use))
    desk.record(PhaseStarted("target", {"mutants_s": 100.0, "before_s": 100.0}))
    with pytest.raises(SupervisorError, match="phase is over"):
        desk.do(UseMutants("parallel"))


# ------------------------------------------------------------------------------- undo


class Noted(Desk):
    """A desk that logs commands, so that they can be undone."""

    def give(self, command, undoes=()):
        key = f"c{self.state.seq + 1}"
        self.record(CommandIssued(key, encode_command(command), "me", [*undoes]))
        try:
            detail = self.do(command)
        except SupervisorError as e:
            self.record(CommandRejected(key, "", str(e)))
        else:
            self.record(CommandApplied(key, detail=detail))

    def before(self, status: CommandStatus):
        return fold_before(State(), iter(self.records), status)

    def undo(self):
        for command, undoes in undo(self.state, "me", self.before).commands:
            self.give(command, undoes)

    @property
    def steering(self):
        return self.order, {m.id: (m.state, m.reason, m.steer, m.stage, m.killer, m.place)
                            for m in self.state.mutants.values()}  # fmt: skip


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["first", "last", "up", "down", "skip", "promote", "mark", "requeue"]),
            st.sampled_from([*(f"a.c#{n}" for n in range(8)), "line=[1-4]", "file=*"]),
        ),
        max_size=12,
    )
)
def test_undoing_all_steps_restores_the_worklist(steps):
    desk = Noted()
    desk.record(
        MutantProgress("a.c#6", "done"),
        MutantState("", "a.c#6", "killed", "m1/3", "crash"),
        MutantProgress("a.c#7", "failed", reason="does not build"),
    )
    seen = [desk.steering]
    for what, select in steps:
        desk.give({
            "skip": SkipMutants(select), "promote": PromoteMutants(select),
            "mark": MarkEquivalent(select, "the same"), "requeue": RequeueMutants(select),
        }.get(what) or MoveMutants(select, what))  # fmt: skip
        if desk.steering != seen[-1]:
            seen.append(desk.steering)
    while len(seen) > 1:
        seen.pop()
        desk.undo()
        assert desk.steering == seen[-1]


def test_undoing_a_switch_of_use_brings_the_campaigns_own_back():
    desk = Noted(use="parallel")
    desk.record(PhaseStarted("target", {"stuck_s": 9.0, "parallel": 1}))
    desk.give(UseMutants("parallel"))  # as it was: an undo passes over this command
    desk.give(UseMutants("sequential"))
    desk.give(UseMutants("parallel"))
    for parallel in (0, 1):
        desk.undo()
        assert desk.state.plan["parallel"] == parallel
    with pytest.raises(UndoError, match="not steered"):
        desk.undo()


def test_a_turn_that_a_skip_has_ended_is_not_brought_back():
    desk = Noted()
    desk.record(MutantProgress("a.c#0", "fuzzing", "m1"))
    desk.give(SkipMutants("a.c#0"))
    desk.record(MutantProgress("a.c#0", "done"))
    assert undo(desk.state, "me", desk.before).note
    desk.undo()
    row = desk.state.mutants["a.c#0"]
    assert (row.state, row.stage) == ("pending", "done")

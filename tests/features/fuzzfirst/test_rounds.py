"""Rounds of mutants: when the target is stuck, how long mutants have turns, and which ones."""

from itertools import count

import pytest

from fuzztui.features.fuzzfirst.budget import (
    next_round,
    plan_of,
    plans_target,
    target_plan,
    wants_mutants,
)
from fuzztui.features.fuzzfirst.fold import (
    AGAIN_BUDGET,
    best,
    budget,
    first_dict,
    first_places,
    goes_on,
    late_places,
    outlook,
    queue,
    share_of,
    tired,
)
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.selectors import running_time
from fuzztui.kernel.model.stall import stuck_reason, stuck_text
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.run.campaign import CampaignError, load
from fuzztui.run.supervise.ending import StuckWatch

FILE = """\
[campaign]
budget = "10000 trials"
[target]
function = "a:f"
path = ["."]
[engine]
kind = "zest"
[mutants]
sources = ["a.py"]
per_mutant = "400 trials"
when = "stuck"
"""
STUCK = stuck_text("1,000 trials")


@pytest.fixture
def make(tmp_path):
    (tmp_path / "a.py").write_text("def f(data):\n    return 1\n")

    def campaign(*overrides):
        path = tmp_path / "c.toml"
        path.write_text(FILE)
        return load(path, overrides).campaign

    return campaign


class Log:
    """A campaign of one instance, told what happens to it."""

    def __init__(self, campaign):
        self.campaign, self.state = campaign, State()
        self.t, self.seq = 0.0, count(1)
        budgets = campaign.budget_s, campaign.budget_trials
        self.tell(
            ev.CampaignStarted("c", "zest", "a:f", 1, *budgets, ["main"], 1.0, "0"),
            ev.CampaignState("running"),
        )
        self.target()

    def tell(self, *events, dt=0.0):
        self.t += dt
        apply(self.state, [ev.Record(next(self.seq), self.t, event) for event in events])

    def target(self):
        self.tell(ev.PhaseStarted("target", target_plan(self.campaign, self.state, self.t)))

    def fuzzed(self, execs, edges=5, dt=0.0):
        self.tell(ev.Stats("main", execs, edges=edges), dt=dt)

    def stuck(self):
        """The target is stuck; whether mutants have turns."""
        self.tell(ev.InstanceState("main", "finished", reason=STUCK))
        if not wants_mutants(self.campaign, self.state):
            return False
        reason = stuck_reason(self.state)
        self.tell(
            ev.InstanceState("main", "waiting", reason=reason),
            ev.PhaseStarted("mutants", plan_of(self.campaign, self.state), reason),
        )
        return True

    def listed(self, *places, hides=0):
        rows = [
            {"id": f"a#{n}", "line": n, "place": float(n)}
            | ({"roadblock": place, "hides": hides} if place else {})
            for n, place in enumerate(places)
        ]
        self.tell(ev.MutantsFound("", "", "a.py", "a.py", rows))

    def turn(self, number, slot, *, edges=0, execs=400, dt=0.0):
        key = f"a#{number}"
        self.tell(
            ev.MutantProgress(key, "fuzzing", slot),
            ev.InstanceHello(slot, mutant=key),
        )
        self.tell(
            ev.Stats(slot, execs),
            ev.MutantProgress(key, "done", slot, brought={"edges": edges, "kills": 0}),
            dt=dt,
        )


def test_a_campaign_in_trials_has_rounds_until_its_budget_is_over(make):
    log = Log(campaign := make())
    state = log.state
    assert (state.stage, first_dict(state)["round"], goes_on(state)) == ("target", 0, True)
    assert not wants_mutants(campaign, state) and not plans_target(campaign, state)
    assert (state.plan["stuck_trials"], state.plan["stuck_from"]) == (1000, 0)
    log.fuzzed(1500)
    assert not stuck_reason(state)
    assert log.stuck()
    assert (state.stage, state.stage_reason) == ("mutants", STUCK)
    assert first_dict(state)["reason"] == STUCK and not goes_on(state)
    assert budget(state) == (0.0, 1000.0)  # as long as the target was stuck
    log.listed(*[0] * 6)
    assert outlook(state).left == 3
    for n in range(3):
        log.turn(n, f"m{n}")
    log.target()
    assert (state.stage, state.stage_reason, state.plan["stuck_from"]) == ("target", "", 1500)
    assert goes_on(state) and outlook(state).used == 1000
    log.fuzzed(2500)
    assert log.stuck()
    assert state.plan["round"] == 2
    assert budget(state) == (1200.0, 2200.0)
    assert (outlook(state).used, outlook(state).of) == (0.0, 1000.0)
    # What a started supervisor plans is the same round.
    assert wants_mutants(campaign, state)
    assert plan_of(campaign, state)["mutants_trials"] == 2200
    assert plan_of(campaign, state)["round"] == 2
    # The target keeps half of what is left; less than a turn is no round.
    log.turn(3, "m4", execs=800)
    log.target()
    log.fuzzed(6600)
    assert next_round(campaign, state) == 700.0
    assert next_round(campaign, state, 1000) == 0.0
    log.target()
    assert not goes_on(state) and not plans_target(campaign, state)
    # A larger budget allows more rounds.
    log.campaign = make("campaign.budget=20000 trials")
    assert plans_target(log.campaign, state)
    log.target()
    assert goes_on(state) and not plans_target(log.campaign, state)


def test_a_campaign_in_seconds(make):
    log = Log(
        campaign := make(
            "campaign.budget=100s", "mutants.per_mutant=2s", "mutants.stuck_after=0.05"
        )
    )
    state = log.state
    assert (state.plan["stuck_s"], "stuck_trials" in state.plan) == (5.0, False)
    log.fuzzed(1, dt=30.0)
    assert log.stuck() and budget(state, 30.0) == (0.0, 5.0)
    log.listed(0, 0, 0)
    log.turn(0, "m1", dt=4.0)
    assert budget(state, 34.0) == (4.0, 5.0)
    log.tell(ev.Message("info", ""), dt=1.0)
    log.target()
    assert budget(state) == (5.0, 5.0) and running_time(state) == 35.0
    log.fuzzed(2, dt=10.0)
    assert log.stuck() and budget(state, 45.0) == (5.0, 10.0)
    assert wants_mutants(campaign, state)


def test_no_round_follows_if_no_mutant_waits_or_their_share_is_used_up(make):
    log = Log(make())
    log.fuzzed(1000)
    assert log.stuck()
    log.listed(0, 0)
    log.turn(0, "m1")
    log.turn(1, "m2")
    log.target()
    assert not goes_on(log.state) and not log.stuck()
    log.listed(0, 0, 0)
    log.target()
    assert goes_on(log.state) and log.stuck()
    less = Log(make("mutants.share=0.05"))
    less.fuzzed(1000)
    assert less.stuck() and budget(less.state) == (0.0, 500.0)
    less.listed(0, 0)
    less.turn(0, "m1")
    less.target()
    assert not goes_on(less.state)


def test_a_run_with_the_table_of_before_gets_the_plan_of_rounds(make):
    first = make("mutants.when=first")
    log = Log(first)
    assert "round" not in log.state.plan and not plans_target(first, log.state)
    rounds = make()
    assert plans_target(rounds, log.state) and not wants_mutants(rounds, log.state)
    log.campaign = rounds
    log.target()
    assert goes_on(log.state) and not plans_target(rounds, log.state)
    # And back again: nothing of the rounds is left.
    log.campaign = first
    log.target()
    assert not goes_on(log.state) and "round" not in log.state.plan


def test_the_better_half_has_another_turn_twice_as_long(make):
    log = Log(make())
    log.fuzzed(1000)
    assert log.stuck()
    log.listed(*[0] * 6)
    for number, edges in enumerate((0, 2, 7, 1, 3)):
        log.turn(number, f"m{number}", edges=edges)
    mutants = log.state.mutants
    assert [m.id for m in best(mutants.values())] == ["a#2", "a#4"]
    log.tell(ev.MutantState("", "a#2", "equivalent", reason="a comment"))
    assert [m.id for m in best(mutants.values())] == ["a#4", "a#1"]
    assert share_of(log.state, mutants["a#4"]) == 400
    log.tell(ev.MutantProgress("a#4", "queued"))
    assert [m.id for m in best(mutants.values())] == ["a#1"]
    assert share_of(log.state, mutants["a#4"]) == 400 * AGAIN_BUDGET
    # If mutants come first, a user who queues one again means the same budget.
    log.tell(ev.PhaseStarted("mutants", {"each_trials": 400}))
    assert share_of(log.state, mutants["a#4"]) == 400


def test_roadblocks_whose_mutants_bring_nothing(make):
    log = Log(make())
    log.listed(7, 7, 7, 7, 9, 9, 9, hides=5)
    for number in (0, 1, 4, 5):
        log.turn(number, f"m{number}")
    assert tired(log.state.mutants.values()) == set()
    log.turn(2, "m2")
    log.turn(6, "m6", edges=1)
    assert tired(log.state.mutants.values()) == {("a.py", 7)}
    # The others of line 7 wait for all others; a promoted one does not.
    log.listed(7, 7, 7, 7, 9, 9, 9, 9, 0, 7, hides=5)
    log.tell(ev.MutantState("", "a#9", "pending", steer="promoted"))
    log.tell(ev.MutantPositions(late_places(log.state, 0.0)))
    assert [m.id for m in queue(log.state)] == ["a#7", "a#8", "a#9", "a#3"]
    assert late_places(log.state, 0.0) == {}


def test_what_comes_first_in_a_new_round(make):
    log = Log(make())
    log.listed(*[0] * 6)
    log.turn(4, "m1", edges=3)
    log.tell(ev.MutantState("", "a#2", "pending", steer="promoted"))
    again = best(log.state.mutants.values())
    log.tell(ev.MutantState("", "a#4", "pending"), ev.MutantProgress("a#4", "queued"))
    places = first_places(log.state, again, -100.0)
    assert max(places.values()) < -100.0  # before all that are ranked again
    log.tell(ev.MutantPositions(places))
    assert [m.id for m in queue(log.state)] == ["a#2", "a#4", "a#0", "a#1", "a#3", "a#5"]
    assert first_places(log.state, (), -100.0).keys() == {"a#2"}
    log.tell(ev.MutantState("", "a#2", "skipped"))
    assert first_places(log.state, (), -100.0) == {}


@pytest.mark.parametrize("trials", [True, False])
def test_the_supervisor_finds_that_the_target_is_stuck(trials):
    state, watch, now = State(), StuckWatch(), [0.0]

    def tell(*events):
        now[0] += 10.0
        apply(state, [ev.Record(state.seq + n, now[0], e) for n, e in enumerate(events, 1)])

    def reached(execs, edges):
        tell(ev.Stats("main", execs, edges=edges), ev.Stats("m1", execs * 9, edges=edges + 9))
        return watch.reached(state, now[0])

    tell(ev.InstanceHello("m1", mutant="a#0"))
    tell(ev.PhaseStarted("target", {"stuck_trials": 500} if trials else {"stuck_s": 25.0}))
    assert not reached(0, 4)
    assert not reached(400, 5)
    assert not reached(800, 5)
    assert not reached(899, 5)
    words = "500 executions" if trials else "25 s"
    assert reached(900, 5) == f"stuck: no new edge in {words}"
    again = {**state.plan, "stuck_from": 900}
    tell(ev.PhaseStarted("mutants"), ev.PhaseStarted("target", again))
    # Counted anew in each phase, from its first execution.
    assert not any(reached(900, 5) for _ in range(5))
    assert not reached(1399, 5)
    assert not reached(1399, 6)
    tell(ev.PhaseStarted("target", {"stuck_trials": 0}))
    assert not reached(9999, 6)


def test_less_than_a_trial_is_no_limit(make):
    with pytest.raises(CampaignError, match=r"mutants\.stuck_after: is less than 1 trial"):
        make("mutants.stuck_after=0.00001")

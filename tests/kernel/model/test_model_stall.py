"""Whether a campaign still finds anything, and what its user can do."""

from __future__ import annotations

import pytest

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.stall import MIN_STALL_S, STALL_S, advice, quiet_s, stall_after
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev


def state_of(*events: tuple[float, ev.Event], engine: str = "zest", budget_s: float = 0.0) -> State:
    state = State()
    start = [
        ev.CampaignStarted("c", engine, budget_s=budget_s),
        ev.InstanceState("main", "running"),
        ev.CampaignState("running"),
    ]
    for t, event in [*((0.0, e) for e in start), *events]:
        apply(state, [ev.Record(state.seq + 1, t, event)])
    return state


def test_an_entry_and_a_finding_are_new_and_an_import_is_not() -> None:
    assert quiet_s(state_of(), 50.0) == 50
    assert quiet_s(state_of((10.0, ev.EntrySaved("main", 1, "queue/1"))), 50.0) == 40
    assert quiet_s(state_of((30.0, ev.FindingSaved("main", "crash", "crashes/1"))), 50.0) == 20
    assert quiet_s(state_of((10.0, ev.EntrySaved("main", 1, "queue/1", sync="s1"))), 50.0) == 50


@pytest.mark.parametrize(
    "event",
    [
        ev.CampaignState("paused"),
        ev.CampaignState("stopping"),
        ev.CampaignEnded("finished"),
        ev.PhaseStarted("mutants"),
        ev.MutationStats("main", phase="exact"),
    ],
)
def test_a_campaign_that_does_not_fuzz_the_target_does_not_stall(event: ev.Event) -> None:
    assert quiet_s(state_of((10.0, event)), 1000.0) == 0


def test_mutants_of_fuzz_first_find_nothing_for_the_target() -> None:
    mutant = ev.InstanceHello("m1", "zest", mutant="x")
    state = state_of((1.0, mutant), (40.0, ev.EntrySaved("m1", 1, "queue/1")))
    assert quiet_s(state, 50.0) == 50
    assert quiet_s(state_of((40.0, ev.PhaseStarted("target"))), 50.0) == 10


@pytest.mark.parametrize(
    ("budget_s", "after"), [(0, STALL_S), (86_400, STALL_S), (1000, 250), (60, MIN_STALL_S)]
)
def test_a_short_budget_makes_a_stall_short(budget_s: float, after: float) -> None:
    assert stall_after(state_of(budget_s=budget_s)) == after


def _seeds(number: int) -> list[tuple[float, ev.Event]]:
    return [(1.0, ev.EntrySaved("main", i, f"queue/{i}")) for i in range(number)]


_TRIALS = (1.0, ev.ComparisonsReported("main", trials={"havoc": 10}))


def test_the_advice_depends_on_what_is_known() -> None:
    few = advice(state_of(_TRIALS))
    enough = advice(state_of(_TRIALS, *_seeds(10)))
    off = advice(state_of(*_seeds(10)))
    invalid = advice(state_of((2.0, ev.Stats("main", valid=1, invalid=9999)), _TRIALS))
    unstable = advice(state_of((2.0, ev.Stats("main", stability=50.0)), _TRIALS))
    covered = advice(state_of((2.0, ev.Stats("main", edges=10, edges_total=10)), _TRIALS))
    aims = ev.TargetingStats("main", targets=3, uncovered=0)
    goals = advice(state_of((2.0, aims), engine="spoton"))
    drawn = ev.TargetingStats(
        "main", targets=3, uncovered=1, names=["app.Row"], distances=[1], weights=[1.0],
        factors=[1.0], probabilities=[10], picks=[0], matches=[0], misses=[0], new_arms=[0],
    )  # fmt: skip
    never = advice(state_of((2.0, drawn), engine="spoton"))
    assert "app.Row" in never
    every = {few, enough, off, invalid, unstable, covered, goals, never}
    assert len(every) == 8 and all(every)
    few_valid = (2.0, ev.Stats("main", valid=1, invalid=9999))
    certain = advice(state_of((2.0, aims), few_valid, engine="spoton"))
    assert certain == goals  # before what is a guess
    assert advice(state_of((2.0, drawn), few_valid, engine="spoton")) == invalid
    mixture = ev.MutatorStats("main", havoc=1.0, text=0.0, splice=0.0)
    assert "text mutators are off" in advice(state_of((2.0, mixture), *_seeds(10), engine="text"))

"""The budget of a turn: on a cluster, where an engine may wait for a worker; of a slow mutant."""

from types import SimpleNamespace
from typing import Any

import pytest

from fuzztui.features.fuzzfirst.budget import TurnBudget
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.kernel.wire.events import CampaignState, InstanceHello, InstanceState, Record, Stats


@pytest.mark.parametrize("placed", [True, False])
def test_time_without_a_worker_is_none_of_the_turn(placed: bool) -> None:
    state = State()
    state.plan = {"placed": int(placed)}
    started = [CampaignState("running"), InstanceState("m1", "starting")]
    apply(state, [Record(n, 0.0, event) for n, event in enumerate(started, 1)])
    place = ("a", "a.py", "a.py", 1, "f", "math", "+", "-", 0.0)
    state.mutants["k"] = Mutant("k", *place, stage="fuzzing", slot="m1", turn_began_s=0.0)
    campaign: Any = SimpleNamespace(
        table={"mutants": {"adaptive": False, "cluster": placed}}.get,
        budget_trials=0,
        target={"timeout_s": 1.0},
    )
    now = [40.0]
    context: Any = SimpleNamespace(state=state, now=lambda: now[0])
    budget = TurnBudget(campaign, context, "k", ["m1"])
    budget.begin()
    assert budget.has_begun is not placed
    assert budget.used() == (0.0 if placed else 40.0)

    apply(state, [Record(3, 40.0, InstanceHello("m1", "zest", "0.1.0", mutant="k"))])
    now[0] = 47.0
    assert budget.has_begun
    assert budget.used() == (7.0 if placed else 47.0)
    assert state.mutants["k"].costs == ({"wait": 40.0} if placed else {})


@pytest.mark.parametrize(
    ("rate", "reason"),
    [
        (0, "nothing was executed for 300 s"),
        (1, "only 300 executions in 300 s: most of them time out"),
        (2, ""),
        (1000, ""),
    ],
)
def test_a_turn_of_executions_ends_if_almost_all_of_them_time_out(
    rate: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = State()
    apply(state, [Record(1, 0.0, CampaignState("running"))])
    place = ("a", "a.py", "a.py", 1, "f", "math", "+", "-", 0.0)
    state.mutants["k"] = Mutant("k", *place, stage="fuzzing", slot="m1", turn_began_s=0.0)
    state.plan = {"mutants_trials": 10**9, "each_trials": 10**9, "count": 1}
    campaign: Any = SimpleNamespace(
        table={"mutants": {"adaptive": False}}.get, budget_trials=10**9, target={"timeout_s": 1.0}
    )
    context: Any = SimpleNamespace(state=state, now=lambda: 0.0)
    turn = TurnBudget(campaign, context, "k", ["m1"])
    clock = [1000.0]
    monkeypatch.setattr("fuzztui.features.fuzzfirst.budget.time.monotonic", lambda: clock[0])
    turn.begin()
    reasons = []
    for n in range(301):
        apply(state, [Record(2 + n, float(n), Stats("m1", execs=rate * n))])
        reasons.append(turn.end_reason())
        clock[0] += 1
    assert not any(reasons[:300])
    assert reasons[300] == reason

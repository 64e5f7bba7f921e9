"""The bound of the discovery rate: exact, of the last half of the trials, and silent in doubt."""

import math

import pytest
from folding import fold

from fuzztui.kernel.model.discovery import MIN_TRIALS, discovery_dict, discovery_rate, poisson_bound
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev


def folded(*events, engine="zest"):
    return fold(ev.CampaignStarted("c", engine), *events)


def entry(instance, id, execs, *, cov=True, sync=""):
    name = f"queue/id:{id:06},execs:{execs}"
    return ev.EntrySaved(instance, id=id, file=name, execs=execs, cov=cov, sync=sync)


@pytest.mark.parametrize("found", [0, 1, 2, 7, 40, 499])
def test_the_bound_is_where_so_few_are_unlikely(found):
    mean = poisson_bound(found)
    fewer = sum(math.exp(n * math.log(mean) - mean - math.lgamma(n + 1)) for n in range(found + 1))
    assert fewer == pytest.approx(0.05, abs=1e-6)


def test_the_bound_grows_also_where_it_is_approximate():
    bounds = [poisson_bound(n) for n in range(490, 520)]
    assert bounds == sorted(bounds)
    assert poisson_bound(501) - poisson_bound(500) < 2


def test_the_last_half_of_each_instance_counts():
    half = MIN_TRIALS
    state = folded(
        ev.Stats("a", execs=2 * half),
        ev.Stats("b", execs=4 * half),
        entry("a", 0, 0),
        entry("a", 1, half),  # the first half
        entry("a", 2, half + 1),
        entry("a", 3, 2 * half, cov=False),
        entry("b", 0, 3 * half),
        entry("b", 1, 3 * half, sync="a"),  # imported
    )
    rate = discovery_rate(state)
    assert (rate.trials, rate.edges, rate.kills) == (3 * half, 2, -1)
    found = discovery_dict(state)
    assert found["edges_per_100k_at_most"] == pytest.approx(6.2958 / 3000 * 100_000, rel=1e-3)
    assert found["kills"] is None


def test_kills_count_where_mutants_are_run():
    state = folded(
        ev.MutantsFound("a", "m", "m.py", "/m.py", [{"id": "m1", "line": 1}]),
        ev.Stats("a", execs=2 * MIN_TRIALS),
        entry("a", 1, 2 * MIN_TRIALS, cov=False),
        ev.EntryDescribed("a", id=1, reasons=["kill"]),
    )
    rate = discovery_rate(state)
    assert (rate.edges, rate.kills) == (0, 1)


def test_a_campaign_that_has_just_begun_has_none():
    assert discovery_rate(State()) is None
    assert discovery_rate(folded(ev.Stats("a", execs=2 * MIN_TRIALS - 2))) is None


def test_after_a_restart_of_afl_fuzz_there_is_none():
    stats = ev.Stats("main", execs=10_000)
    again = [ev.InstanceState("main", "running", restarts=1)]
    assert discovery_rate(folded(stats, engine="afl")) is not None
    assert discovery_rate(folded(stats, *again, engine="afl")) is None
    assert discovery_rate(folded(stats, *again)) is not None


def test_lost_records_and_stages_have_none():
    state = folded(ev.Stats("a", execs=10_000))
    assert discovery_rate(state) is not None
    state.lost = 1
    assert discovery_rate(state) is None
    state.lost, state.stage = 0, "mutants"
    assert discovery_rate(state) is None


def test_a_campaign_that_executes_nothing_instrumented_has_none():
    state = folded(ev.Stats("a", execs=10_000, edges=0))
    state.instances["a"].unguided = "no instrumented code"
    assert discovery_rate(state) is None

"""How much goes to mutants, and which come first."""

import random
from typing import Any

import pytest
from mu2_lab import Lab

from fuzztui.engines.mu2.schedule import EPOCH, AdaptiveSchedule, MutantSchedule
from fuzztui.engines.mu2.table import MutantRecord

SOURCE = "def run(data):\n" + "".join(f"    a{i} = len(data) + {i}\n" for i in range(40))


@pytest.fixture
def rows(tmp_path: Any) -> list[MutantRecord]:
    lab = Lab(SOURCE, tmp_path)
    lab.close()
    return lab.table.rows


def adaptive(turns: int = 100, dry: bool = False) -> AdaptiveSchedule:
    schedule = AdaptiveSchedule(random.Random(1))
    schedule.sample(turns)
    if dry:
        for _ in range(5000):
            schedule.trial(covered=False)
    return schedule


def epochs(schedule: AdaptiveSchedule, n: int, *, waiting: bool = False) -> list[bool]:
    return [schedule.probes(i * EPOCH, waiting=waiting) for i in range(n)]


def test_full_takes_everything_promoted_first_then_moved_then_least_run(rows):
    for i, row in enumerate(rows):
        row.runs = 40 - i
    rows[3].promoted = True
    rows[5].order, rows[7].order = -1, 1
    chosen = MutantSchedule().choose(rows, saved=True)
    assert chosen[:2] == [rows[3], rows[5]]
    assert chosen[-1] is rows[7]
    assert sorted(r.mutant.index for r in chosen) == list(range(len(rows)))
    runs = [row.runs for row in chosen[2:-1]]
    assert runs == sorted(runs)


def test_those_never_run_and_the_promoted_need_no_account(rows):
    schedule = adaptive()
    for row in rows[10:]:
        row.runs = 10_000
    rows[30].promoted = True
    chosen = schedule.choose(rows, saved=False)  # the account of trials is empty
    assert {r.mutant.index for r in chosen} == {*range(10), 30}
    assert chosen[0] is rows[30]


def test_a_saved_input_runs_so_many_that_have_run_before_at_most(rows):
    for row in rows:
        row.runs = 1
    chosen = adaptive().choose(rows, saved=True)
    assert len(chosen) == AdaptiveSchedule.MAX_SAVED_REPEATS


def test_back_off_runs_a_survivor_of_n_runs_with_probability_patience_by_n(rows):
    schedule = adaptive()
    row = rows[0]
    row.runs = 10 * AdaptiveSchedule.PATIENCE
    ran = sum(bool(schedule.choose([row], saved=True)) for _ in range(2000))
    assert 120 < ran < 280
    row.runs = AdaptiveSchedule.PATIENCE
    assert all(schedule.choose([row], saved=True) for _ in range(50))


def test_the_first_sample_advances_the_account_for_saved_inputs():
    schedule = AdaptiveSchedule(random.Random(1))
    assert not schedule.may_work()
    schedule.sample(500)
    assert schedule.trial_turns == 500
    assert schedule.may_work()
    schedule.spent(AdaptiveSchedule.ADVANCE * 500, 0, saved=True)
    assert not schedule.may_work()


def test_trials_fill_the_account_for_saved_inputs_only_while_some_wait():
    schedule = adaptive()
    schedule.spent(AdaptiveSchedule.ADVANCE * 100 + 1, 0, saved=True)
    schedule.probes(0, waiting=False)
    for _ in range(1000):
        schedule.trial(covered=False)
    assert not schedule.may_work()
    schedule.probes(0, waiting=True)
    schedule.trial(covered=False)
    assert schedule.may_work()


def test_hand_over_from_coverage_to_kills():
    flowing, dry = adaptive(), adaptive(dry=True)
    assert sum(epochs(flowing, 100)) < sum(epochs(dry, 100)) == 100
    assert flowing.share < dry.share
    shares = []
    for _ in range(20):
        shares.append(dry.share)
        dry.trial(covered=True)  # coverage grows again
    assert shares[1] < shares[0]


def test_nothing_is_probed_while_saved_inputs_wait():
    assert not any(epochs(adaptive(dry=True), 50, waiting=True))


def test_within_an_epoch_the_decision_stands():
    schedule = adaptive()
    for epoch in range(20):
        at = [schedule.probes(epoch * EPOCH + i, waiting=False) for i in range(EPOCH)]
        assert len(set(at)) == 1


def test_kills_raise_the_rate_and_fruitless_work_lowers_it_within_bounds():
    schedule = adaptive(dry=True)
    schedule.probes(0, waiting=False)
    shares = [schedule.share]
    for _ in range(20):
        schedule.spent(100, 1, saved=False)
        shares.append(schedule.share)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(AdaptiveSchedule.MAX_RATE / (1 + AdaptiveSchedule.MAX_RATE))
    for _ in range(100):
        schedule.spent(100 * AdaptiveSchedule.FRUITLESS, 0, saved=False)
    assert schedule.share == pytest.approx(
        AdaptiveSchedule.MIN_RATE / (1 + AdaptiveSchedule.MIN_RATE)
    )


def test_the_same_seed_chooses_the_same(rows):
    for row in rows:
        row.runs = 50
    one, other = adaptive(), adaptive()
    for _ in range(50):
        assert one.choose(rows, saved=True) == other.choose(reversed(rows), saved=True)


def test_mutants_that_have_taken_half_of_the_time_wait_for_the_original():
    share = [0.0]
    schedule = AdaptiveSchedule(random.Random(1), lambda: share[0])
    schedule.sample(100)

    def probed(epochs: int) -> int:
        found = 0
        for trial in range(epochs * EPOCH):
            if trial % EPOCH == 0:
                found += schedule.probes(trial, waiting=False)
            schedule.trial(covered=False)
        return found

    assert schedule.may_work() and probed(20)
    share[0] = 0.51
    assert not schedule.may_work() and not probed(20)
    share[0] = 0.49
    assert schedule.may_work() and probed(20)


def test_the_warm_up_ends_when_coverage_stops_growing():
    schedule = AdaptiveSchedule(random.Random(1), warm_up=50_000)
    schedule.sample(100)
    for trial in range(5_000):
        schedule.trial(covered=trial % 200 == 199)
    assert schedule.warming
    assert not schedule.may_work()
    trials = 0
    while schedule.warming:
        schedule.trial(covered=False)
        trials += 1
    assert 1_500 < trials < 1_800, "1,000 trials and a tenth of all"
    assert schedule.may_work()

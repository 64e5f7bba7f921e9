"""Saving what kills, and what infects the promoted."""

import random

import pytest
from mu2_lab import Lab

from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.mu2.schedule import AdaptiveSchedule

SOURCE = """
def run(data):
    n = 0
    for c in data:
        if c == 120:
            n = n + c
    return None
"""
THRESHOLD = "def run(data):\n    return sum(data) > 1000\n"


def test_an_input_is_kept_for_a_kill_alone_and_stays_a_killer_when_made_smaller(make):
    lab: Lab = make(THRESHOLD)
    lab.trial(b"a")
    lab.backlog.work()
    entry = lab.trial(b"zzzzzzzzzzzzzzzzzzzz", shrink_runs=64)
    assert entry is not None
    assert (entry.reasons, entry.kills) == (("kill",), 1)
    assert 1000 < sum(entry.data) < 20 * 122
    assert lab.dead() == set(lab.truth(e.data for e in lab.corpus.entries))


SPLITS = """
def cut(text, most):
    return text.split(b",", most)
def run(data):
    return cut(data, 1 - 2), data.split(b",", len(data) - len(data) + 1)
"""
SWITCH = """
def run(data):
    n = 3
    for at, c in enumerate(data):
        if c > 100 and at > 2:
            n = n * 2 - at
        elif c < 60:
            n -= 1
    if n > 20:
        raise ValueError(n)
    return -n if len(data) % 3 else n + 1
"""


@pytest.mark.parametrize("source", [SOURCE, THRESHOLD, SPLITS, SWITCH])
@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("warm_up", [0, 30])
def test_the_score_of_a_campaign_is_not_below_that_of_its_seeds(make, source, number, warm_up):
    rng = random.Random(number)
    sizes = [rng.randrange(30) for _ in range(rng.randrange(1, 8))]
    seeds = [bytes(rng.choices(b",0az~", k=size)) for size in sizes]
    lab: Lab = make(source, AdaptiveSchedule(random.Random(1), warm_up=warm_up))
    for seed in seeds:
        lab.trial(seed, shrink_runs=64, op="seed")
    for _ in range(50):
        lab.trial(bytes(rng.choices(b",0az~", k=rng.randrange(30))), shrink_runs=64)
        lab.backlog.work()
    lab.exact()
    assert set(lab.truth(seeds)) <= lab.dead()


def test_a_found_input_is_trimmed_and_kept_whole_until_mutants_have_run_on_it(make):
    lab: Lab = make(THRESHOLD, AdaptiveSchedule(random.Random(1)))
    lab.trial(b"zzzzzzzzzzzzzzzzzzzz", shrink_runs=64)
    small, whole = lab.corpus.entries
    assert (small.data, whole.data) == (b"", b"z" * 20)
    assert (small.reasons, whole.reasons) == (("edge", "valid-edge"), ("whole",))
    assert lab.scheduler.energy(small) > lab.scheduler.energy(whole) == 1
    lab.exact()
    assert whole.kills > 0
    assert lab.scheduler.energy(whole) > 1


def warming(make) -> Lab:
    lab: Lab = make(THRESHOLD, AdaptiveSchedule(random.Random(1), warm_up=5))
    lab.trial(b"a")
    return lab


def test_no_mutant_runs_during_the_warm_up_but_on_imported_inputs(make):
    lab = warming(make)
    lab.trial(b"zzzzzzzzzzzzzzzzzzzz")
    lab.backlog.work()
    assert (lab.dead(), lab.runner.runs) == (set(), 0)
    lab.trial(b"zzzzzzzzzzzzzzzzzzzzz", peer="other")
    assert lab.dead()


@pytest.mark.parametrize("ends", ["trials", "promoted"])
def test_the_warm_up_ends_after_its_trials_and_when_a_mutant_is_promoted(make, ends):
    lab = warming(make)
    if ends == "trials":
        for _ in range(4):
            lab.trial(b"a")
    else:
        lab.table.promote([lab.table.rows[0]])
    lab.trial(b"zzzzzzzzzzzzzzzzzzzz")
    for _ in range(20):
        lab.backlog.work()
    assert lab.runner.runs


def test_the_second_to_kill_is_no_news(make):
    lab: Lab = make(THRESHOLD)
    lab.trial(b"a")
    lab.trial(b"zzzzzzzzzzzzzzzzzzzz")
    assert lab.trial(b"zzzzzzzzzzzzzzzzzzzzz") is None


def test_an_input_kept_for_infecting_the_promoted_infects_it_when_made_smaller(make):
    lab: Lab = make(SOURCE, AdaptiveSchedule(random.Random(1)))
    lab.trial(b"a")
    lab.trial(b"x")
    lab.exact()
    (at,) = [m.index for m in lab.program.mutants if m.operator == "math"]
    lab.table.promote([lab.table.rows[at]])
    lab.backlog.reopen([at])
    lab.exact()
    entry = lab.trial(b"aaaaaaaaxaaaaaaa", shrink_runs=64)
    assert entry is not None
    assert entry.reasons == ("infection",)
    assert entry.data == b"x"


def test_a_flaky_input_is_no_measure_of_what_trials_cost(make):
    lab: Lab = make(
        "import itertools\nCOUNT = itertools.count()\n"
        "def run(data):\n    return next(COUNT) if data == b'flaky' else len(data)\n",
        AdaptiveSchedule(random.Random(1)),
    )
    lab.trial(b"flaky")
    assert lab.isolation.is_flaky(b"flaky")
    lab.table.promote(lab.table.rows[:1])  # so that trials are probed
    for i in range(20):
        lab.trial(bytes(i))
    assert lab.schedule.trial_turns >= 1


def test_a_new_worker_measures_at_once(make):
    """It starts at any trial: until a sample is taken all costs would look enormous."""
    lab: Lab = make(THRESHOLD, AdaptiveSchedule(random.Random(1)))
    for _ in range(100):
        lab.journal.begin(1, Candidate(b"", "test"))
    lab.trial(b"a")
    assert lab.schedule.may_work()


def test_after_a_restart_an_entry_has_its_kills(make):
    lab: Lab = make(THRESHOLD)
    entry = lab.trial(b"a")
    assert entry is not None
    lab.backlog.work()
    kills, entry.kills = entry.kills, 0
    assert kills > 0
    assert lab.feedback.recall(lab.executor.run(b"a"), entry)
    assert entry.kills == kills


def test_time_in_the_backlog_is_time_spent_on_mutants(make):
    lab: Lab = make("import time\ndef run(data):\n    time.sleep(0.01)\n    return len(data) > 3\n")
    lab.fill([b"abc"])
    lab.exact()
    runs = lab.runner.runs
    # One to see who is infected, two to measure, and each mutant's.
    assert lab.runner.ns > (runs + 2) * 10_000_000

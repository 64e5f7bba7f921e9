"""Saved inputs against survivors: what is settled is settled rightly, and the exact pass exact."""

import random
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from mu2_lab import Lab

from fuzztui.engines.base.errors import RestartWorker
from fuzztui.engines.directory import journal as j
from fuzztui.engines.loop.corpus import WHOLE
from fuzztui.engines.mu2 import backlog
from fuzztui.engines.mu2.exact_pass import PassBudget, RunningPass, Unsettled
from fuzztui.engines.mu2.isolated import IsolatedResult
from fuzztui.engines.mu2.kill_criterion import KillEvidence
from fuzztui.engines.mu2.schedule import AdaptiveSchedule, MutantSchedule

NUMBERS = """
def clamp(n, low, high):
    if n < low:
        return low
    if n > high:
        return high
    return n

def digits(data):
    n = 0
    for c in data:
        if 48 <= c <= 57:
            n = n * 10 + c - 48
    return n

def run(data):
    if not data:
        raise ValueError("empty")
    return clamp(digits(data), 3, 900), len(data) % 4 == 1
"""

WORDS = """
class Reader:
    LIMIT = 3

    def __init__(self, data):
        self.data, self.at = data, 0

    def word(self):
        start = self.at
        while self.at < len(self.data) and self.data[self.at] != 32:
            self.at += 1
        end = self.at
        self.at += 1
        return self.data[start:end]

    def words(self):
        found = []
        while self.at < len(self.data):
            w = self.word()
            if w and len(found) <= self.LIMIT:
                found.append(w)
        return found

def run(data):
    return [(len(w) - 1, w[::-1]) for w in Reader(data).words()]
"""

CACHED = """
import functools

@functools.lru_cache(None)
def table(n):
    out = 0
    for i in range(200 * n):
        out += i % 3
    return out

@functools.lru_cache(None)
def kind(c):
    if c < 64:
        return "low"
    return "high" if c >= 128 else "letter"

def run(data):
    n = len(data)
    if n > 3:
        n = n
    return [kind(c) for c in data[:4]], table(n % 5 + 60) > 100
"""

NESTED = """
def walk(data, depth):
    def inner(c):
        return -c if c & 1 else c
    total = 0
    for c in data:
        total += inner(c)
    rest = data[1:]
    return total + (walk(rest, depth + 1) if rest and depth < 3 else 0)

def run(data):
    try:
        return walk(data, 0) // (len(data) - 2)
    except ZeroDivisionError:
        return None
"""


@pytest.fixture
def lab(make: Any) -> Lab:
    """Of NUMBERS."""
    return make(NUMBERS)  # type: ignore[no-any-return]


PROGRAMS = {"numbers": NUMBERS, "words": WORDS, "cached": CACHED, "nested": NESTED}


def inputs(seed: int, n: int = 12) -> list[bytes]:
    rng = random.Random(seed)
    alphabet = b"0123 59az\x00\x80\xff"
    made = {bytes(rng.choices(alphabet, k=rng.randrange(1, 9))) for _ in range(n)}
    return sorted(made)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
@pytest.mark.parametrize(
    "name", ["cached", "nested", "numbers", pytest.param("words", marks=pytest.mark.slow)]
)
def test_the_exact_pass_kills_what_brute_force_kills(make: Any, name: str, seed: int) -> None:
    lab: Lab = make(PROGRAMS[name], AdaptiveSchedule(random.Random(seed)))
    data = inputs(seed)
    truth = lab.truth(data)
    assert truth
    lab.fill(data)
    lab.exact()
    assert lab.dead() == set(truth)
    for row in lab.table.rows:
        if row.base == "killed":
            number = int(row.killer.removeprefix("main/"))
            assert lab.corpus.by_id[number].data in truth[row.id]
        else:
            # Every infected mutant has run, so the nearest entry is one on which it ran.
            assert row.near.startswith("main/") == (row.nearness > 0) == (row.reached > 0)
            assert (row.nearness == 3) == (row.infected > 0)
    assert lab.pipeline.tally.audit_kills == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_what_trials_kill_the_corpus_shows(make: Any, name: str) -> None:
    lab: Lab = make(PROGRAMS[name])
    for data in inputs(1, 30):
        lab.trial(data)
        lab.backlog.work()
    kept = [entry.data for entry in lab.corpus.entries]
    assert lab.dead() == set(lab.truth(kept))
    assert len(kept) < 30


def test_the_next_worker_runs_no_pair_again(make: Any) -> None:
    data = inputs(3)
    first: Lab = make(NUMBERS)
    first.fill(data)
    first.exact()
    assert first.runner.runs > 0
    first.log.flush()
    assert first.backlog.save()
    second: Lab = make(NUMBERS)
    second.fill(data)
    second.exact()
    assert second.runner.runs == 0
    assert second.dead() == first.dead()


def cut_at(make: Any, runs: int) -> Lab:
    lab: Lab = make(NUMBERS, AdaptiveSchedule(random.Random(1)))
    lab.backlog._budget = lambda: PassBudget(runs=runs)
    lab.fill(inputs(5, 40))
    lab.exact()
    return lab


def test_a_pass_that_uses_up_its_budget_is_cut_short_and_not_exact(make: Any) -> None:
    lab = cut_at(make, 20)
    truth = len(lab.truth([entry.data for entry in lab.corpus.entries]))
    dead = len(lab.dead())
    assert lab.backlog.cut
    left = lab.backlog.unsettled()
    assert left.pairs > 0 and left.inputs > 0
    assert dead < truth
    for file in lab.directory.iterdir():
        file.unlink()
    again = cut_at(make, 20)
    assert again.dead() == lab.dead(), "trials count, not time"
    assert again.backlog.unsettled() == left
    again.backlog._budget = PassBudget
    again.exact()  # a new pass goes on where the other ended
    assert not again.backlog.cut
    assert again.backlog.unsettled() == Unsettled(0, 0, 0)
    assert len(again.dead()) == truth


def test_a_survivor_that_is_reached_and_never_infected_is_reported(make: Any) -> None:
    lab: Lab = make("def run(data):\n    return len(data) >= 0, len(data) > 9 and len(data) < 12\n")
    lab.fill([b"abc"])
    lab.exact()
    lab.table.report_runs()
    runs = {id_: n for e in lab.events("mutant_runs") for id_, n in e["runs"].items()}
    (never,) = [row.id for row in lab.table.rows if row.id.endswith("boundary:0:>")]
    assert runs[never][0] > 0 and runs[never][1:] == [0, 0]
    (unreached,) = [row.id for row in lab.table.rows if row.id.endswith("boundary:2:<=")]
    assert unreached not in runs


def test_the_next_worker_has_what_is_left_of_the_budget(make: Any) -> None:
    first: Lab = make(NUMBERS)
    first.backlog._budget = lambda: PassBudget(runs=60)
    first.fill(inputs(5, 40))
    first.schedule.everything = False
    first.backlog.begin_exact()
    while (spent := first.backlog._pass.spent) < 20:
        first.backlog.work()
    first.backlog.work()  # it records what the pass has used
    while not first.backlog.save():
        first.backlog.work()
    second: Lab = make(NUMBERS)
    second.backlog._budget = lambda: PassBudget(runs=10**6)
    second.fill(inputs(5, 40))
    second.schedule.everything = False
    second.backlog.work()
    assert second.backlog.exact, "it goes on with the pass"
    second.backlog.begin_exact()
    assert second.backlog._pass.budget == PassBudget(runs=60)
    assert second.backlog._pass.spent >= spent
    second.backlog.end_exact()
    second.backlog.begin_exact()
    assert second.backlog._pass.spent == 0


def test_the_default_budget_is_a_share_of_the_campaign(lab: Lab) -> None:
    counters = lab.journal.counters
    assert PassBudget.of(None, 0, counters) == PassBudget(60.0)
    counters[j.RUN_MS], counters[j.TRIAL] = 3_600_000, 1_000_000
    assert PassBudget.of(None, 0, counters) == PassBudget(900.0)
    assert PassBudget.of(None, 10**6, counters) == PassBudget(runs=250_000)
    assert PassBudget.of(None, 10**6, lab.journal.counters) == PassBudget(runs=250_000)
    assert not RunningPass(PassBudget.of([0.0, 0], 0, counters)).over
    assert RunningPass(PassBudget(seconds=1.0), 2.0).over


def test_a_budget_in_time_is_spent_by_the_clock(lab: Lab, monkeypatch: Any) -> None:
    """Not by CPU time: on a busy machine the campaign would end much later than it said."""
    lab.fill(inputs(5, 40))
    lab.schedule.everything = False
    clock = [0.0]

    def monotonic() -> float:
        clock[0] += 1.0  # each look at the clock takes a second
        return clock[0]

    clocks = SimpleNamespace(monotonic=monotonic, monotonic_ns=time.monotonic_ns, sleep=time.sleep)
    monkeypatch.setattr(backlog, "time", clocks)
    lab.backlog._budget = lambda: PassBudget(seconds=3.0)
    lab.backlog.begin_exact()
    while lab.backlog.exact:
        lab.backlog.work()
    assert lab.backlog.cut == "the budget of 3 s is used up"


def settled(lab: Lab, entry: int, at: int) -> bool:
    return bool(lab.backlog._settled[entry] >> at & 1)


def test_a_settled_pair_does_not_kill(make: Any) -> None:
    """At any moment, also half way: pruned or run without a kill."""
    lab: Lab = make(NUMBERS, AdaptiveSchedule(random.Random(3)))
    data = inputs(5)
    truth = lab.truth(data)
    lab.fill(data)
    lab.schedule.sample(10)
    for _ in range(40):
        lab.backlog.work()
        for entry in lab.corpus.entries:
            for at in lab.table.survivors:
                if settled(lab, entry.id, at):
                    assert entry.data not in truth.get(lab.table.rows[at].id, ())


def test_after_a_requeue_all_is_tried_again(lab: Lab) -> None:
    lab.fill(inputs(2))
    lab.exact()
    dead = lab.dead()
    rows = [r for r in lab.table.rows if r.base == "killed"]
    lab.table.requeue(rows)
    lab.backlog.reopen([r.mutant.index for r in rows])
    assert not lab.dead()
    assert len(lab.backlog) == len(lab.corpus)
    for _ in range(200):
        lab.backlog.work()
    assert lab.dead() == dead


def test_a_skipped_mutant_is_not_run_until_it_is_wanted(lab: Lab) -> None:
    lab.table.set_verdict(lab.table.rows, "skipped")
    lab.fill(inputs(2))
    lab.exact()
    assert lab.runner.runs == 0
    row = lab.table.rows[0]
    lab.table.promote([row])
    lab.backlog.reopen([0])
    lab.exact()
    assert row.runs > 0
    assert all(r.runs == 0 for r in lab.table.rows[1:])


def test_the_infecting_inputs_of_a_promoted_mutant_come_next(lab: Lab) -> None:
    lab.fill([b"a", b"12", b"345"])
    lab.exact()
    row = next(r for r in lab.table.rows if r.base == "alive")
    lab.table.promote([row])
    lab.backlog.reopen([row.mutant.index])
    lab.exact()
    assert lab.scheduler.promoted


@pytest.mark.slow
def test_cached_results_cost_the_mutants_fuel_not_the_program(make: Any) -> None:
    """The program finds in its cache what each mutant has to work out: no timeout for that."""
    lab: Lab = make(CACHED.replace("200 * n", "3000 * n"))
    lab.subject.guard._alarms_allowed = 1_000_000  # turns count, not the machine's speed
    lab.fill([b"abcdef"])
    lab.exact()
    assert {r.oracle for r in lab.table.rows if r.base == "killed"} <= {"value", "exception"}


def test_an_input_that_turns_out_flaky_judges_no_more(make: Any) -> None:
    many = "".join(f"    if n > {i + 1}: n = n\n" for i in range(100))
    source = f"SEEN = []\ndef run(data):\n    n = len(data)\n{many}    return SEEN and SEEN.pop()\n"
    lab: Lab = make(source, AdaptiveSchedule(random.Random(1)))
    lab.fill([b"abc"])
    lab.backlog.begin_exact()
    lab.backlog.work()
    left = sum(len(job.left) for job in lab.backlog._jobs.values())
    assert left > 64
    lab.subject.SEEN.extend(i % 3 + 1 for i in range(10_000))
    lab.exact()
    assert lab.isolation.is_flaky(b"abc")
    assert not lab.dead()
    assert len(lab.subject.SEEN) > 10_000 - 100, "it was run on and on"


def test_a_dear_input_does_not_hold_the_loop_up(make: Any) -> None:
    many = "".join(f"    if n > {i + 1}: n = n\n" for i in range(60))
    source = (
        f"def run(data):\n    n = 0\n    for i in range(50000): n += i & 3\n{many}    return 1\n"
    )
    lab: Lab = make(source)
    lab.schedule.everything = False  # one bit at a time
    lab.fill([b"abc"])
    before = lab.runner.runs
    lab.backlog.begin_exact()
    lab.backlog.work()
    assert 0 < lab.runner.runs - before <= 12


def test_work_that_is_done_costs_next_to_nothing(lab: Lab) -> None:
    """Mutants in child processes that are settled with all inputs are not looked up each time."""
    lab.fill(inputs(4))
    lab.exact()
    lab.table.isolate([r.id for r in lab.table.rows])
    looked = 0

    def look(entry: Any, at: int) -> bool:
        nonlocal looked
        looked += 1
        return False  # settled

    lab.backlog._is_unsettled = look  # type: ignore[method-assign]
    for _ in range(10):
        lab.backlog.work()
    assert lab.table.isolated
    assert looked <= len(lab.table.isolated) * len(lab.corpus)


class Children:
    """In place of child processes."""

    def __init__(self, *told: IsolatedResult) -> None:
        self.told = list(told)
        self.asked: list[tuple[int, bytes]] = []

    def run(self, pairs: Any) -> Iterator[IsolatedResult]:
        self.asked += [(mutant.index, data) for mutant, _, data in pairs]
        for mutant, key, _ in pairs:
            yield self.told.pop(0) if self.told else IsolatedResult(mutant.index, key, None)


def isolate(lab: Lab, children: Children) -> None:
    """Run the first mutant in them, the only one that is not skipped."""
    lab.table.set_verdict(lab.table.rows[1:], "skipped")
    lab.fill([b"12", b"345"])
    lab.table.isolate([lab.table.rows[0].id])
    lab.backlog._isolated = children  # type: ignore[assignment]


def isolated(lab: Lab, *told: IsolatedResult) -> Children:
    children = Children(*told)
    isolate(lab, children)
    lab.exact()
    return children


def test_mutants_outside_are_run_on_all_inputs_once(lab: Lab) -> None:
    children = isolated(lab)
    assert children.asked == [(0, b"12"), (0, b"345")]
    assert lab.table.rows[0].state == "alive"
    lab.exact()
    assert len(children.asked) == 2


def test_mutants_outside_wait_until_the_warm_up_ends(make: Any) -> None:
    lab: Lab = make(NUMBERS, AdaptiveSchedule(random.Random(1), warm_up=5))
    children = Children()
    isolate(lab, children)
    for trial in range(5):
        lab.backlog.work()
        lab.backlog.collect_results()
        assert lab.schedule.warming and not children.asked, f"before trial {trial}"
        lab.trial(b"12")
    lab.backlog.work()
    lab.backlog.collect_results()
    assert not lab.schedule.warming
    assert children.asked == [(0, b"12"), (0, b"345")]


def test_values_are_looked_at_when_an_entry_is_analysed(make: Any) -> None:
    lab: Lab = make(
        "def run(data):\n    return len(data) + 1, iter(data)\n",
        AdaptiveSchedule(random.Random(1), warm_up=5),
    )
    lab.trial(b"12")
    assert len(lab.corpus) and lab.criterion.uncompared == 0
    for _ in range(2):
        lab.exact()
        lab.backlog.reopen(range(len(lab.table.rows)))
    assert lab.criterion.uncompared == len(lab.corpus)


def test_an_exact_pass_runs_mutants_outside_during_the_warm_up(make: Any) -> None:
    lab: Lab = make(NUMBERS, AdaptiveSchedule(random.Random(1), warm_up=5))
    assert isolated(lab).asked == [(0, b"12"), (0, b"345")]
    assert lab.schedule.warming


def test_a_child_that_is_cut_off_has_settled_what_it_reported(lab: Lab) -> None:
    class Slow(Children):
        def run(self, pairs: Any) -> Iterator[IsolatedResult]:
            yield from super().run(pairs[:1])
            while True:
                yield None  # type: ignore[misc]

    isolate(lab, Slow())
    lab.backlog.begin_exact()
    assert lab.backlog.unsettled() == Unsettled(2, 0, 1)
    for _ in range(6):
        lab.backlog.work()
    assert lab.backlog.unsettled() == Unsettled(1, 0, 1), "one result has come"
    assert lab.backlog._pass is not None and lab.backlog._pass.clock_s > 0
    lab.backlog.end_exact("it was stopped")
    assert lab.backlog.unsettled() == Unsettled(1, 0, 1)
    assert lab.backlog.save()


def test_kills_outside_are_the_entrys(lab: Lab) -> None:
    died = KillEvidence("died", "the mutant died")
    isolated(lab, IsolatedResult(0, 0, None), IsolatedResult(0, 1, died))
    assert lab.table.rows[0].killer == "main/1"
    assert lab.corpus.by_id[1].kills == 1


def test_no_trial_depends_on_kills_outside(lab: Lab) -> None:
    """The clock decides when they come."""
    died = KillEvidence("died", "the mutant died")
    isolate(lab, Children(IsolatedResult(0, 0, died)))
    lab.trial(b"7")
    entry = lab.corpus.by_id[0]
    before = lab.scheduler.energy(entry), lab.feedback.whole()
    assert before[1] == (WHOLE,), "the mutant has not run on the trial's input"
    lab.exact()
    assert (lab.table.rows[0].state, entry.kills) == ("killed", 1)
    assert (lab.scheduler.energy(entry), lab.feedback.whole()) == before
    lab.feedback.recall(lab.executor.run(entry.data), entry)  # in the next worker
    assert (lab.scheduler.energy(entry), entry.kills) == (before[0], 1)


def test_a_flaky_input_is_not_the_mutants_fault(lab: Lab) -> None:
    isolated(lab, IsolatedResult(0, 0, None, flaky=True))
    assert lab.table.rows[0].state == "alive"
    assert lab.isolation.is_flaky(b"12")
    assert not lab.isolation.is_flaky(b"345")


def test_what_cannot_be_made_is_invalid(lab: Lab) -> None:
    isolated(lab, IsolatedResult(0, 0, None, "it cannot"))
    assert (lab.table.rows[0].state, lab.table.rows[0].reason) == ("invalid", "it cannot")


LEAKY = """
STATE = []
def run(data):
    n = len(data)
    result = 7 if STATE else 5
    if n > 100:
        STATE.append(1)
    return result
"""


def test_what_a_mutant_left_behind_many_trials_ago_is_noticed(make: Any) -> None:
    """All later runs of the program agree with each other: they see the same changed state."""
    lab: Lab = make(LEAKY, MutantSchedule())
    lab.table.set_verdict([r for r in lab.table.rows if r.operator != "boundary"], "skipped")
    (leaking,) = lab.table.survivors
    lab.trial(b"a")
    lab.trial(bytes(100))
    assert lab.subject.STATE, "the mutant must have been run"
    assert lab.subject.run(b"a") == 7
    lab.table.promote(lab.table.rows)
    with pytest.raises(RestartWorker):
        for _ in range(200):
            lab.trial(bytes(100))
            lab.backlog.work()
    assert lab.isolation.suspects is not None
    assert lab.table.rows[leaking].id in lab.isolation.suspects.ids

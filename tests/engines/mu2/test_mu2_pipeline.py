"""The filter: what is left out, and that it is counted."""

import random
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from mu2_lab import Lab

from fuzztui.engines.mu2.kill_criterion import KillEvidence
from fuzztui.engines.mu2.pipeline import Watched
from fuzztui.engines.mu2.schedule import AdaptiveSchedule, MutantSchedule

SOURCE = """
def low(data):
    n = 0
    for c in data:
        if c < 50:
            n += c
        elif c > 200:
            n -= 1
    return n

def never(data):
    return data[0] * 3 - 4

def run(data):
    if len(data) > 900:
        return never(data)
    return low(data) % 7, len(data) * 2
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(SOURCE, tmp_path)
    yield lab
    lab.close()


def put(lab: Lab, rng: random.Random) -> None:
    """Mutants into all sorts of states."""
    for row in lab.table.rows:
        what = rng.randrange(8)
        if what == 0:
            lab.table.kill(row.mutant.index, KillEvidence("value", ""), "main/0")
        elif what == 1:
            lab.table.set_verdict([row], "skipped")
        elif what == 2:
            lab.table.invalidate(row.mutant.index, "why")
        elif what == 3:
            row.runs = rng.randrange(100)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["full", "adaptive"])
def test_counts_add_up_and_only_the_infected_are_chosen(lab: Lab, seed: int, kind: str) -> None:
    rng = random.Random(seed)
    schedule: MutantSchedule = MutantSchedule() if kind == "full" else AdaptiveSchedule(rng)
    lab.fill([b"abc", b"\xffx"])  # so that `low` and `run` are watched, `never` is not
    put(lab, rng)
    probing = lab.probes.watch_all()
    for _ in range(20):
        data = rng.randbytes(rng.randrange(5))
        if rng.random() < 0.3:
            data += bytes(900)
        execution = lab.executor.run(data)
        entered = lab.program.units_of(execution.observed) if rng.random() < 0.5 else ()
        seen = lab.pipeline.read_probes(probing, entered)
        before = asdict(lab.pipeline.tally)
        chosen = lab.pipeline.todo(seen, schedule, saved=True)
        tally = asdict(lab.pipeline.tally)
        counted = {name: tally[name] - before[name] for name in tally}
        assert min(counted.values()) >= 0, counted
        assert sum(counted.values()) + len(chosen) == len(lab.table.rows)
        assert {row.mutant.index for row in chosen} <= set(seen.infected)
        assert set(seen.infected) <= lab.table.survivors
        if kind == "full":
            assert len(chosen) == len(seen.infected)


def test_what_is_settled_is_not_chosen_again(lab: Lab) -> None:
    seen = Watched(frozenset(lab.table.survivors), tuple(sorted(lab.table.survivors)), 3)
    settled = 0b1011
    chosen = lab.pipeline.todo(seen, MutantSchedule(), saved=True, settled=settled)
    assert {0, 1, 3}.isdisjoint(row.mutant.index for row in chosen)
    assert len(chosen) == len(seen.infected) - 3


def test_survivors_in_an_entered_unit_without_probes_may_be_infected(lab: Lab) -> None:
    lab.fill([b"abc"])
    probing = lab.probes.watch_all()
    execution = lab.executor.run(bytes(901))
    seen = lab.pipeline.read_probes(probing, lab.program.units_of(execution.observed))
    never = {m.index for m in lab.program.mutants if m.function == "never"}
    assert never
    assert never <= set(seen.infected)
    assert not never & seen.watched


def test_about_one_in_a_hundred_of_the_pruned_is_audited(lab: Lab) -> None:
    seen = Watched(frozenset(lab.table.survivors), (0, 1), 2)
    drawn = [
        at for _ in range(1000) for at in lab.pipeline.audit(seen, runs=10**9, everything=False)
    ]
    pruned = len(seen.watched) - 2
    assert 0.5 < len(drawn) / (10 * pruned) < 2
    assert {0, 1}.isdisjoint(drawn)
    assert lab.pipeline.tally.audits == len(drawn)


def test_audits_are_at_most_a_twentieth_of_all_runs(lab: Lab) -> None:
    seen = Watched(frozenset(lab.table.survivors), (), 0)
    for runs in range(0, 2000, 10):
        lab.pipeline.audit(seen, runs=runs, everything=False)
        assert lab.pipeline.tally.audits <= runs // 20 + 1


def test_an_audit_that_kills_is_said_to_be_unsound(lab: Lab) -> None:
    lab.pipeline.audited([(2, KillEvidence("value", "")), (3, KillEvidence("value", ""))], [3])
    assert lab.pipeline.tally.audit_kills == 1
    (message,) = lab.events("message")
    assert message["level"] == "error"
    assert lab.table.rows[3].id in message["text"]
    assert lab.table.rows[2].id not in message["text"]


def test_what_is_chosen_and_does_not_run_now_is_put_off(lab: Lab) -> None:
    rows = lab.table.rows[:4]
    assert lab.pipeline.defer(rows, rows[1:3]) == rows[1:3]
    assert lab.pipeline.tally.deferred == 2

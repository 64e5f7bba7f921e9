"""Mutants' states, what a user says about them, and continuing after a restart."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mu2_lab import Lab

from fuzztui.engines.directory.events import read_reported
from fuzztui.engines.loop.corpus import SteerError
from fuzztui.engines.mu2.kill_criterion import KillEvidence
from fuzztui.engines.mu2.steering import MutantSteering
from fuzztui.engines.mu2.table import MutantTable
from fuzztui.kernel.wire.codec import decode_event
from fuzztui.kernel.wire.commands import (
    Command,
    MarkEquivalent,
    MoveMutants,
    PromoteMutants,
    RequeueMutants,
    RestoreMutants,
    SkipMutants,
)
from fuzztui.kernel.wire.events import MutantRuns

SOURCE = """
def other(n):
    return n * 5 if n < 9 else -n

def run(data):
    return other(len(data) + 1)
"""
VALUE = KillEvidence("value", "returned 1, the mutant 2")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(SOURCE, tmp_path)
    yield lab
    lab.close()


def restarted(lab: Lab, stale: set[str] | None = None) -> MutantTable:
    """The table of the next worker."""
    table = MutantTable(lab.log, lab.journal, read_reported(lab.directory / "events.jsonl"))
    table.add(lab.program.mutants, stale or set())
    return table


def words(table: MutantTable) -> list[tuple[object, ...]]:
    return [
        (r.id, r.state, r.verdict, r.reason, r.steer, r.killer, r.oracle, r.detail, r.trial)
        for r in table.rows
    ]


def check(table: MutantTable) -> None:
    """What the sets say is what the rows say."""
    lives = {r.mutant.index for r in table.rows if r.state in ("pending", "alive")}
    assert table.survivors | table.isolated == lives
    assert not table.survivors & table.isolated
    assert table.promoted <= lives
    assert table.mask == sum(1 << at for at in table.survivors)
    assert table.dead == sum(r.base == "killed" for r in table.rows)


def test_pending_alive_killed(lab: Lab) -> None:
    table, row = lab.table, lab.table.rows[0]
    assert row.state == "pending"
    assert table.alive(0)
    table.ran(0)
    assert row.state == "alive"
    table.kill(0, VALUE, "main/3")
    assert (row.state, row.killer, row.oracle) == ("killed", "main/3", "value")
    assert not table.alive(0)
    assert table.kills_of(3) == (1, 0)
    check(table)
    told = [(e["id"], e["state"]) for e in lab.events("mutant_state")]
    assert told == [(row.id, "alive"), (row.id, "killed")]


def test_requeue_is_as_if_it_had_never_been(lab: Lab) -> None:
    table, row = lab.table, lab.table.rows[0]
    table.ran(0)
    table.kill(0, VALUE, "main/3")
    table.requeue([row])
    assert (row.state, row.killer, row.runs, row.trial) == ("pending", "", 0, -1)
    assert table.alive(0)
    assert table.dead == 0
    check(table)
    assert words(restarted(lab)) == words(table)


def test_verdicts_and_their_end(lab: Lab) -> None:
    table, row = lab.table, lab.table.rows[1]
    table.promote([row])
    assert row.steer == "promoted"
    table.set_verdict([row], "equivalent", "it is dead code")
    assert (row.state, row.reason, row.steer) == ("equivalent", "it is dead code", "")
    check(table)
    assert restarted(lab).rows[1].reason == "it is dead code"
    table.promote([row])
    assert (row.state, row.reason, row.steer) == ("pending", "", "promoted")
    table.move([row], "last")
    assert (row.steer, row.promoted) == ("last", False)
    check(table)
    assert words(restarted(lab)) == words(table)


def test_what_needs_a_child_is_no_survivor_in_here(lab: Lab) -> None:
    lab.table.isolate([lab.table.rows[2].id, "subject:gone:math:0:-"])
    assert lab.table.isolated == {2}
    assert lab.table.alive(2)
    check(lab.table)
    lab.table.invalidate(2, "why not")
    assert lab.table.rows[2].state == "invalid"
    assert not lab.table.alive(2)
    check(lab.table)


def test_a_kill_of_another_version_of_the_function_is_stale(lab: Lab) -> None:
    table = lab.table
    table.kill(0, VALUE, "main/3")
    table.kill(1, VALUE, "main/3")
    fresh = restarted(lab, stale={table.rows[0].id})
    assert [fresh.rows[0].state, fresh.rows[1].state] == ["pending", "killed"]
    check(fresh)
    # And said, so that the one after does not take it up from the log either.
    assert restarted(lab).rows[0].state == "pending"


def test_a_selection_that_names_none(lab: Lab) -> None:
    assert [r.id for r in lab.table.select(lab.table.rows[4].id)] == [lab.table.rows[4].id]
    with pytest.raises(SteerError, match="nowhere"):
        lab.table.select("subject:nowhere")


def test_only_so_many_inputs_are_favoured_for_a_promoted_mutant(lab: Lab) -> None:
    assert sum(lab.table.grant_energy(0) for _ in range(20)) == 4
    lab.table.promote(lab.table.rows[:1])
    assert lab.table.grant_energy(0)


def test_counts_are_told_when_they_have_doubled(lab: Lab) -> None:
    for _ in range(1000):
        lab.table.ran(0)
        lab.table.report_runs()
    assert 8 <= len(lab.events("mutant_runs")) <= 14


def test_what_a_command_is_about_is_told_exactly(lab: Lab) -> None:
    for _ in range(1000):
        lab.table.ran(0)
        lab.table.report_runs()
    told = len(lab.events("mutant_runs"))
    lab.table.report_all_runs(lab.table.rows[:2])
    lab.table.report_all_runs(lab.table.rows[:2])
    events = lab.events("mutant_runs")
    assert len(events) == told + 1, "only what was not told before"
    assert events[-1]["runs"] == {lab.table.rows[0].id: [0, 0, 1000]}


Action = Callable[[MutantTable, int], object]
ACTIONS: dict[str, Action] = {
    "ran": lambda t, at: t.ran(at) if t.alive(at) else None,
    "kill": lambda t, at: t.kill(at, VALUE, f"main/{at}") if t.alive(at) else None,
    "invalid": lambda t, at: t.invalidate(at, "why") if t.alive(at) else None,
    "skip": lambda t, at: t.set_verdict([t.rows[at]], "skipped") if t.alive(at) else None,
    "equivalent": lambda t, at: (
        t.set_verdict([t.rows[at]], "equivalent", "x") if t.alive(at) else None
    ),
    "promote": lambda t, at: (
        t.promote([t.rows[at]]) if t.rows[at].base in ("pending", "alive") else None
    ),
    "first": lambda t, at: t.move([t.rows[at]], "first") if t.alive(at) else None,
    "last": lambda t, at: t.move([t.rows[at]], "last") if t.alive(at) else None,
    "requeue": lambda t, at: t.requeue([t.rows[at]]),
}


@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(st.sampled_from(sorted(ACTIONS)), st.integers(0, 4)), max_size=25))
def test_whatever_happens_a_restart_goes_on_from_there(
    lab: Lab, steps: list[tuple[str, int]]
) -> None:
    (lab.directory / "events.jsonl").unlink(missing_ok=True)
    table = restarted(lab)
    for name, at in steps:
        ACTIONS[name](table, at)
        check(table)
    after = restarted(lab)
    check(after)
    assert words(after) == words(table)


def test_the_entry_nearest_to_a_kill(lab: Lab) -> None:
    table = restarted(lab)
    table.came_near([0, 1], "reached", 3)
    table.came_near([0], "infected", 4)
    table.came_near([0, 1], "reached", 5)
    table.came_near([2], "ran", 6)
    table.kill(2, VALUE, "main/6")
    table.report_runs()
    table.came_near([0], "ran", 7)
    table.report_runs()
    table.report_runs()
    instance = lab.log.instance
    ids = [row.id for row in table.rows]
    written = map(decode_event, (lab.directory / "events.jsonl").read_bytes().splitlines())
    assert [e.near for e in written if isinstance(e, MutantRuns)] == [
        {ids[0]: [f"{instance}/4", "infected"], ids[1]: [f"{instance}/3", "reached"]},
        {ids[0]: [f"{instance}/7", "ran"]},
    ], "only of survivors, and only when an entry came nearer"
    again = restarted(lab)
    assert again.rows[0].near == f"{instance}/7"
    again.came_near([0], "infected", 9)
    assert again.rows[0].near == f"{instance}/7"
    again.requeue([again.rows[0]])
    assert not again.rows[0].near


# ------------------------------------------------------------------------------- undo


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(("skip", "equivalent", "promote", "first", "last", "requeue")),
            st.lists(st.integers(0, 7), min_size=1, max_size=3, unique=True),
        ),
        max_size=6,
    )
)
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_restored_rows_are_as_before_also_for_the_next_worker(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[int]]]
) -> None:
    lab = Lab(SOURCE, tmp_path_factory.mktemp("lab"))
    try:
        table = lab.table
        table.ran(1)
        table.kill(2, VALUE, "main/3")
        before = words(table)
        steering = MutantSteering(table, lab.backlog)
        undo: list[RestoreMutants] = []
        for what, chosen in steps:
            for at in chosen:
                row = table.rows[at]
                kill = [row.killer, row.oracle, row.trial, row.detail]
                undo.append(
                    RestoreMutants(
                        row.id, row.state, row.reason, row.steer,
                        kills={row.id: kill} if row.base == "killed" else {},
                    )
                )  # fmt: skip
                command: Command = {
                    "skip": SkipMutants(row.id),
                    "equivalent": MarkEquivalent(row.id, "dead"),
                    "promote": PromoteMutants(row.id),
                    "first": MoveMutants(row.id, "first"),
                    "last": MoveMutants(row.id, "last"),
                    "requeue": RequeueMutants(row.id),
                }[what]
                with contextlib.suppress(SteerError):  # of a killed mutant
                    steering.execute(command)
        for one in reversed(undo):
            steering.execute(one)
        check(table)
        assert words(table) == before
        assert words(restarted(lab)) == before
        assert table.dead == 1
    finally:
        lab.close()


def test_a_filed_verdict_counts_unless_this_run_has_reported_the_state(lab: Lab) -> None:
    first, second, third = lab.program.mutants[:3]
    filed = {
        first.id: ["never", f"{first.before}  ->  {first.after}"],
        second.id: ["another version", "x -> y"],
        third.id: ["never", ""],
        "gone": ["never", ""],
    }

    def next_worker() -> dict[str, tuple[str, str]]:
        reported = read_reported(lab.directory / "events.jsonl")
        table = MutantTable(lab.log, lab.journal, reported, filed)
        table.add(lab.program.mutants, set())
        lab.table = table
        return {r.id: (r.state, r.reason) for r in table.rows}

    states = next_worker()
    assert [states[m.id] for m in (first, second, third)] == [
        ("equivalent", "never"), ("pending", ""), ("equivalent", "never"),
    ]  # fmt: skip
    assert first.index not in lab.table.survivors | lab.table.isolated
    lab.table.requeue(lab.table.select(first.id))
    states = next_worker()
    assert states[first.id][0] == "pending"
    assert states[third.id][0] == "equivalent"

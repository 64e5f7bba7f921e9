"""The evaluation of fuzz-first: what a log counts as found when, and the report on made-up rows."""

import argparse

import pytest
from experiment_modules import experiment
from lab.first_programs import C_PROGRAMS, OWN
from lab.rows import Rows
from run_logs import run_with

from fuzztui.kernel.wire.events import EntrySaved, FindingSaved, InstanceHello, Stats

held_out = experiment("fuzz_first_held_out")
NAMES = [program.name for program in C_PROGRAMS]


def rows(better, worse, bugs=(1, 2)):
    """Five runs of each arm on all programs in C; fpf has other edges on some, and as many bugs."""
    more = {**dict.fromkeys(NAMES, 0), **dict.fromkeys(better, 100), **dict.fromkeys(worse, -50)}
    return [
        {"subject": name, "arm": arm, "seed": seed, "turns_done": 3, "seconds": 9.0,
         "bugs": {mark: list(bugs) for mark in held_out.MARKS},
         "edges": dict.fromkeys(held_out.MARKS, 200 + seed + (more[name] if arm == "fpf" else 0))}
        for name in NAMES for arm in ("alone", "fpf") for seed in range(5)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("better", "worse", "outcome"),
    [(5, 0, "met"), (4, 0, "missed"), (6, 1, "missed")],
)
def test_the_goal_is_half_better_and_none_worse(better, worse, outcome):
    results = rows(NAMES[:better], NAMES[better : better + worse])
    said = held_out.verdict("C", results, "fpf", "alone", "edges")
    assert f"better on {better} of 10" in said
    assert f"worse on {worse} " in said
    assert said.endswith(f": {outcome}\n")
    assert held_out.verdict("C", results, "fpf", "alone", "bugs").endswith(": missed\n")


def test_the_goal_is_not_judged_before_all_programs_have_run():
    results = [row for row in rows(NAMES, []) if row["subject"] != NAMES[0]]
    said = held_out.verdict("C", results, "fpf", "alone", "edges")
    assert "better on 9 of 9" in said
    assert "goal" not in said
    assert not held_out.verdict("C", results, "random", "alone", "edges")


def test_the_report_has_a_line_for_each_arm_that_ran(capsys):
    args = argparse.Namespace(subjects=NAMES, arms=list(held_out.ARMS))
    held_out.report(args, rows(NAMES[:5], []))
    lines = capsys.readouterr().out.splitlines()
    of = [line.split() for line in lines if line.startswith(NAMES[0])]
    assert [words[:3] for words in of] == [[NAMES[0], arm, "5"] for arm in ("alone", "fpf")] * 2
    assert of[0][3:] == ["2", "(2-2)"] * 3 + ["3", "9"]
    assert of[3][3:5] == ["302", "(300-304)"]


def test_what_is_saved_counts_from_the_executions_of_all_instances_on(tmp_path):
    run = run_with(
        tmp_path,
        InstanceHello("main"),
        EntrySaved("main", 0, "queue/seed"),
        InstanceHello("m1", mutant="a"),
        Stats("m1", execs=500),
        EntrySaved("m1", 1, "queue/of-the-mutant"),
        FindingSaved("m1", "crash", "crashes/of-the-mutant"),
        EntrySaved("handed", 0, "queue/transferred"),
        Stats("main", execs=200),
        EntrySaved("main", 1, "queue/new"),
        FindingSaved("main", "crash", "crashes/new"),
        FindingSaved("main", "hang", "hangs/slow"),
    )
    out = run / "out"
    entries, crashes = held_out.saved(run)
    assert entries == [
        (0, out / "main/queue/seed"),
        (500, out / "handed/queue/transferred"),
        (700, out / "main/queue/new"),
    ]
    assert crashes == [(700, out / "main/crashes/new")]


def test_rows_of_other_options_are_not_continued(tmp_path):
    program = OWN[0]
    args = argparse.Namespace(
        subjects=[program.name], arms=["fpf"], execs=0, turns=10, work=tmp_path,
        rows=Rows("held", tmp_path / "rows.jsonl"),
    )  # fmt: skip
    row = held_out.identity(program, (program.name, "fpf", 301), args) | {"seed": 301}
    for other in ({}, {"turns": 9}, {"mutants": {"order": "random"}}, {"program": "older"}):
        args.rows.add(**(row | other))
    assert held_out.kept(args) == [row]

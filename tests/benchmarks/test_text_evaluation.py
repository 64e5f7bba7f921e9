"""The evaluation of text mutators: what its tables say of rows that are made up; its subjects."""

import re
from pathlib import Path

import pytest
from experiment_modules import experiment
from lab.rows import Rows
from lab.text import tables
from lab.text.compilers import COMPILERS, Built

from fuzztui.features.mutators.keys import guessed_language

ROOT = Path(__file__).resolve().parents[2]
NEW = {name for name, compiler in COMPILERS.items() if compiler.new}


text_targets = experiment("text_targets")


def rows(subject, arm, edges, share, mutators=None):
    """Runs with these edges at the end, half of them early, and this share of valid inputs."""
    return [
        {"subject": subject, "arm": arm, "edges": [100, count // 2, count], "inputs": 1000,
         "valid": int(1000 * share), "execs": 2000, "mutators": mutators or {},
         "stability": "100.00%"}
        for count in edges
    ]  # fmt: skip


def evaluation(gains, share=0.4, runs=5):
    """Of each subject the runs of stock, about 1,000 edges, and those of an arm with a gain."""
    made = []
    for subject, gain in gains.items():
        made += rows(subject, "stock", [1000 + 2 * n for n in range(runs)], 0.1)
        found = [int((1000 + 2 * n) * (1 + gain)) for n in range(runs)]
        made += rows(subject, "empty", found, share)
    return made


def test_the_goal_is_met_if_all_its_parts_are():
    said = tables.goal(evaluation(dict.fromkeys(COMPILERS, 0.06)), "empty")
    assert said == (
        "goal, empty: never fewer edges than stock beyond chance: met; "
        "edges +6.0% for +5%: met; valid inputs x4.0 for x3: met"
    )


def test_one_subject_with_fewer_edges_misses_it_beyond_chance_only():
    gains = dict.fromkeys(COMPILERS, 0.2)
    assert "chance: missed (bc);" in tables.goal(evaluation(gains | {"bc": -0.02}), "empty")
    # The runs of the two overlap.
    assert "chance: met;" in tables.goal(evaluation(gains | {"bc": -0.001}), "empty")
    # Three runs each cannot differ beyond chance: p is 0.1 at least.
    few = tables.goal(evaluation(gains | {"bc": -0.02}, runs=3), "empty")
    assert "chance: met;" in few
    assert few.endswith(" (incomplete: 8 subjects, 3 runs or more)")


def test_too_little_coverage_and_too_few_valid_inputs_miss_it():
    said = tables.goal(evaluation(dict.fromkeys(COMPILERS, 0.04), share=0.2), "empty")
    assert "edges +4.0% for +5%: missed; valid inputs x2.0 for x3: missed" in said


def test_seen_and_new_subjects_have_means_of_their_own():
    gains = {name: 0.1 if name in NEW else 0.0 for name in COMPILERS}
    said = tables.means(evaluation(gains), ["stock", "empty"], NEW, ["60 s"])
    lines = [line.split() for line in said.splitlines()[1:]]
    assert [line[:4] for line in lines] == [
        ["empty", "all", "8", "+4.9%"],
        ["empty", "seen", "4", "+0.0%"],
        ["empty", "new", "4", "+10.0%"],
    ]
    assert [line[-2:] for line in lines] == [["4", "0"], ["0", "0"], ["4", "0"]]


def test_an_arm_without_runs_of_stock_beside_it_is_compared_with_nothing():
    alone = rows("jq", "empty", [1000], 0.1)
    assert tables.by_subject(alone, "empty") == {}
    assert "nan" in tables.goal(alone, "empty")
    assert tables.mutators(alone).count("\n") == 0


def test_mutators_are_compared_within_a_subject():
    """Where all mutators find much, one below the others is still below them."""
    rich = {"fragment": (1000, 300), "swap-args": (1000, 100)}
    poor = {"fragment": (1000, 3), "swap-args": (1000, 1), "seldom": (10, 0)}
    said = tables.mutators([
        *rows("jq", "empty", [1000], 0.1, rich),
        *rows("lua", "empty", [1000] * 2, 0.1, poor),
    ])  # fmt: skip
    lines = [line.split() for line in said.splitlines()[1:]]
    assert lines[0] == ["fragment", "3,000", "306", "102.0", "1.50", "2", "of", "2"]
    assert [line[0] for line in lines] == ["fragment", "swap-args", "seldom"]
    assert lines[1][-3:] == ["0", "of", "2"]
    assert lines[2][-3:] == ["0", "of", "0"], "too few inputs to be compared"


@pytest.mark.parametrize("unit", ["s", "execs"])
def test_early_points_are_parts_of_the_budget(unit):
    budget = text_targets.Budget(300, unit)
    assert budget.early == [f"5 {unit}", f"10 {unit}", f"60 {unit}"]
    scale = 1000 if unit == "s" else 1
    assert budget.points == [5 * scale, 10 * scale, 60 * scale, 300 * scale]


def test_arms_take_turns_and_each_seed_has_all_of_them():
    jobs = text_targets.plan(["jq", "bc"], ["stock", "empty"], 2)
    assert list(map(str, jobs)) == [
        "jq stock 1", "jq empty 1", "bc stock 1", "bc empty 1",
        "jq empty 2", "jq stock 2", "bc empty 2", "bc stock 2",
    ]  # fmt: skip


def test_only_runs_that_can_be_compared_are_continued(tmp_path):
    kept = Rows("text_targets", tmp_path / "runs.jsonl")
    row = {"subject": "jq", "arm": "empty", "repeat": 1, "budget": 300, "unit": "s",
           "program": "old", "text": {}}  # fmt: skip
    different = [
        {"arm": "no-rules"},  # with the table of another arm
        {"budget": 60},
        {"unit": "execs"},
        {"repeat": 2},
        {"subject": "bc"},
        {"program": "new", "n": 2},
    ]
    for change in [{"n": 0}, {"n": 1}, *different]:  # the first run was made twice
        kept.add(**row | change)
    budget = text_targets.Budget(300, "s")
    jobs = text_targets.plan(["jq"], ["stock", "empty", "no-rules"], 1)

    def found(built):
        return [r["n"] for r in text_targets.kept(kept, jobs, budget, built)]

    def built(digest):
        return {"jq": Built(COMPILERS["jq"], tmp_path, tmp_path, digest)}

    assert found(built("old")) == [1]
    assert found(built("other")) == []
    assert found({}) == [2], "--report builds nothing: the last program"


def test_half_of_the_subjects_are_new():
    assert len(COMPILERS) == tables.GOAL_SUBJECTS
    assert sorted(NEW) == ["bc", "jq", "mruby", "sqlite"]


@pytest.mark.parametrize("compiler", COMPILERS.values(), ids=lambda c: c.name)
def test_a_subject_has_pinned_sources_and_small_seeds(compiler):
    script = (compiler.folder / "build.sh").read_text()
    assert re.search(r'fetch\.py" \\?\s*pool/main/\S+ \\\s*[0-9a-f]{64} ', script)
    if compiler.seeds is None:
        return
    sizes = [seed.stat().st_size for seed in compiler.seeds.iterdir()]
    assert 5 <= len(sizes) <= 10
    assert max(sizes) < 1500
    # The arms with a mixture of their own get the language that an empty table finds.
    assert guessed_language([str(compiler.seeds)]) == compiler.language

"""``experiments/campaigns.py``: plans, the campaign files of the arms, tables; and a real one."""

import argparse
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from experiment_modules import experiment
from lab.rows import version

import fuzztui

campaigns = experiment("campaigns")
PROGRAM = Path(campaigns.__file__)

PLAN = """marks = [1, 5]
[subjects]
one = "one.toml"
[arms.base]
without = ["engine.mutate", "text"]
set = { "engine.kind" = "zest" }
[arms.mu2]
"""
CAMPAIGN = """[target]
function = "harness.py:parse"
[engine]
kind = "mu2"
mutate = ["parser"]
[text]
"""


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "one.toml").write_text(CAMPAIGN)
    (tmp_path / "harness.py").write_text("")
    return campaigns.read(str(tmp_path / "plan.toml"))


@pytest.fixture
def args(tmp_path):
    return argparse.Namespace(runs=tmp_path / "runs", budget="60s")


def written(plan, args, arm, seed):
    key = ["one", arm, seed]
    return campaigns.write(plan, args, key, campaigns.campaign(plan, args, key))


def test_an_arm_removes_and_sets_keys_beside_the_files_of_the_subject(plan, args):
    run = args.runs / "one" / "base-3"
    file = written(plan, args, "base", 3)
    data = tomllib.loads(file.read_text())
    assert data["engine"] == {"kind": "zest"}
    assert "text" not in data
    wanted = {"name": "one-base-3", "output": str(run), "seed": 3, "budget": "60s"}
    assert data["campaign"] == wanted
    assert (file.parent / "harness.py").read_text() == ""
    other = written(plan, args, "mu2", 3)
    assert tomllib.loads(other.read_text())["engine"] == {"kind": "mu2", "mutate": ["parser"]}


def test_keys_that_are_removed_leave_no_table_behind(plan, args):
    plan.subjects["one"].write_text(CAMPAIGN.replace("[text]", ""))
    plan.arms["base"].without[:] = ["text.language"]
    file = written(plan, args, "base", 1)
    assert "text" not in tomllib.loads(file.read_text())


@pytest.mark.parametrize("text", ["[target", "engine = 3\n"])
def test_a_campaign_file_that_cannot_be_changed_is_named(plan, args, text):
    plan.subjects["one"].write_text(text)
    with pytest.raises(campaigns.RunFailed, match=r"one.toml: cannot be changed as \[arms.base\]"):
        written(plan, args, "base", 1)


def test_a_run_of_another_plan_is_not_continued(plan, args):
    run = args.runs / "one" / "base-3"
    written(plan, args, "base", 3)
    run.mkdir()
    written(plan, args, "base", 3)
    args.budget = "2m"
    with pytest.raises(campaigns.RunFailed, match=r"base-3: .* give another --runs"):
        written(plan, args, "base", 3)


@pytest.mark.parametrize("name", [file.stem for file in campaigns.PLANS.glob("*.toml")])
def test_plans_that_are_here_give_valid_campaigns(name, args, tmp_path):
    plan = campaigns.read(name)
    subject = next(iter(plan.subjects))
    for arm in plan.arms:
        key = [subject, arm, 1]
        file = campaigns.write(plan, args, key, campaigns.campaign(plan, args, key))
        done = subprocess.run(
            [sys.executable, "-m", "fuzztui", "check", "--no-run", str(file)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[subjects]\none = 'one.toml'\n[arms.a]\n", "at least two"),
        (PLAN + "[seeds]\n", "seeds: there is no such key"),
        (PLAN.replace("one.toml", "none.toml"), "subjects.one: .*no such file"),
        (PLAN.replace("without", "sans"), "arms.base: must be a table with the keys"),
        (PLAN.replace("5]", '"x"]'), "marks: must be"),
        (PLAN.replace("5]", "-5]"), "marks: must be"),
        (PLAN.replace("5]", "inf]"), "marks: must be"),
        (PLAN + "set = 3\n", "arms.mu2: set must be a table"),
        (PLAN + "without = 'text'\n", "arms.mu2: .*without a list"),
        (PLAN + "without = ['engine.mutat']\n", "arms.mu2: without: engine.mutat: no campaign"),
        (PLAN + "set = { 'campaign.seed' = 3 }\n", "campaign.seed: is chosen"),
        (PLAN.replace("[arms.mu2]", "[arms.'a/b']"), "'a/b': a name has"),
        (PLAN.replace("one = ", "'..' = "), "'..': a name has"),
        ("arms = 5\n", "must be tables"),
        ("[subjects]\none = 'one.toml'\n[arms]\na = 1\nb = 2\n", "arms.a: must be a table"),
        ("[", "plan.toml: .*plans here: fuzz_first, mu2"),
    ],
)
def test_a_wrong_plan_names_its_key(tmp_path, text, match):
    (tmp_path / "one.toml").write_text(CAMPAIGN)
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(ValueError, match=match):
        campaigns.read(str(tmp_path / "plan.toml"))


def row(arm, seed, early, end, steered=0):
    marks = {"1": {"edges": early, "kills": -1, "groups": 0}}
    marks["end"] = {"edges": end, "kills": -1, "groups": 0}
    return {"subject": "one", "arm": arm, "seed": seed, "marks": marks, "steered": steered,
            "campaign": f"one/{arm}-{seed}", "elapsed_s": 4.0}  # fmt: skip


def test_a_mark_that_a_row_does_not_have_is_its_end_only_after_the_end():
    one = row("base", 1, 10, 20)
    assert [campaigns._value(one, "edges", mark) for mark in ("1", "2", "5", "end")] == [
        10, -1, 20, 20,
    ]  # fmt: skip


def test_a_file_beside_the_subject_is_not_written_through_its_link(plan, args, tmp_path):
    (tmp_path / "base-1.toml").write_text("mine")
    file = written(plan, args, "base", 1)
    assert (tmp_path / "base-1.toml").read_text() == "mine"
    assert "one-base-1" in file.read_text()


def test_rows_of_another_campaign_file_are_not_those_of_a_plan(plan, args):
    args.repeat = 1
    file = written(plan, args, "base", 1)
    mine = {**row("base", 1, 1, 2), "file": campaigns._digest(file.read_text())}
    assert campaigns._is_wanted(plan, args, mine)
    assert not campaigns._is_wanted(plan, args, {**mine, "file": "another"})
    assert not campaigns._is_wanted(plan, args, {"kind": "of another program"})
    (args.runs / "one" / "base-1").mkdir()
    plan.subjects["one"].write_text(CAMPAIGN + "language = 'c'\n")
    assert campaigns._is_wanted(plan, args, mine)
    plan.arms["base"].set["engine.max_size"] = 5
    assert not campaigns._is_wanted(plan, args, mine), "the plan was changed"


def test_tables_compare_each_arm_with_the_first_at_each_mark(plan):
    rows = [row("base", n, 10, 20) for n in range(5)] + [row("mu2", n, 5, 30) for n in range(5)]
    rows[-1]["steered"] = 2
    said = campaigns.tables(plan, rows)
    lines = [line.split() for line in said.splitlines()]
    early = ["one", "5", "10", "(10-10)", "5", "5", "(5-5)", "0.500", "0.00", "0.008"]
    late = ["one", "5", "20", "(20-20)", "5", "30", "(30-30)", "1.500", "1.00", "0.008"]
    assert [line for line in lines if line[:1] == ["one"]] == [early, late]
    assert "kills" not in said
    assert "5 s:" not in said, "no campaign was so long"
    assert said.endswith("steered by hand (commands): one/mu2-4 (2)")


@pytest.mark.slow
def test_campaigns_are_steered_stopped_and_continued(tmp_path):
    argv = [sys.executable, str(PROGRAM), "mu2", "--subjects", "tomllib", "--repeat", "1",
            "--budget", "40000 trials", "--results", "rows.jsonl"]  # fmt: skip
    begun = subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    name = f"mu2-40000-trials-{version('fuzztui', 'engines')}"
    run = tmp_path / "runs/experiments" / name / "tomllib/mu2-1"
    while begun.poll() is None:
        try:
            fuzztui.open_run(run).wait(lambda now: now.execs > 0, timeout_s=60)
            break
        except fuzztui.RunError:
            continue  # its log has not begun
    [stopped] = fuzztui.open_run(run).steer("stop")
    assert stopped.ok
    _, err = begun.communicate()
    assert begun.returncode == 2
    assert "mu2-1: stopped" in err
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["arm"] for row in rows] == ["zest"]

    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "campaigns: 1 ended, 1 missing" in done.stderr
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [(row["arm"], row["steered"]) for row in rows] == [("zest", 0), ("mu2", 1)]
    assert all(row["execs"] >= 40_000 for row in rows)
    assert "steered by hand (commands): tomllib/mu2-1 (1)" in done.stdout

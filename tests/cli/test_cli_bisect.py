"""``fuzztui bisect``: the search, its errors and its results; what is tried is a fake here.

``tests/e2e/test_bisect_run.py`` has real targets.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import History, plain_git

from fuzztui.cli import bisect_trial, main
from fuzztui.cli.bisect_trial import BAD, GOOD, SKIP, Trials
from fuzztui.cli.output import FAILED, NOT_RUNNING, USAGE
from fuzztui.run.campaign import load, write_frozen
from fuzztui.run.campaign.rundir import prepare_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]

CAMPAIGN = """\
[target]
command = ["./parse"]
build = "cc -o parse $SOURCE/parse.c"
[engine]
kind = "afl"
"""
FINDING = "main/crashes/id:000000,sig:11"


class Project:
    """Nine commits, a run with a finding, and what each commit does."""

    def __init__(self, path: Path) -> None:
        self.history = History(path)
        self.history.write(
            (f"number {n}", {"parse.c": f"/* {n} */\n", "fuzz.toml": CAMPAIGN}) for n in range(9)
        )
        self.run = path.resolve() / "runs/fuzz"
        self.tried: list[int] = []
        self.outcomes = {6: BAD, 0: GOOD}
        self.hook: Callable[[int], None] = lambda number: None

    def judge(self, trials: Trials) -> tuple[str, str]:
        tree = trials._search.tree
        number = int((tree / "parse.c").read_text().split()[1])
        self.tried.append(number)
        self.hook(number)
        outcome = next(o for n, o in self.outcomes.items() if number >= n)
        return outcome, {BAD: "SIGSEGV in parse", SKIP: "does not build"}.get(outcome, "")

    def begin_run(self) -> None:
        loaded = load(self.history.root / "fuzz.toml")
        prepare_run(self.run)
        write_frozen(loaded, self.run)
        crash = self.run / "out" / FINDING
        crash.parent.mkdir(parents=True)
        crash.write_bytes(b"[1,")

    def number(self, commit: str) -> int:
        return self.history.commits.index(commit)


def judged_by(project: Project) -> Callable[[Trials], tuple[str, str]]:
    def judge(trials: Trials) -> tuple[str, str]:
        return project.judge(trials)

    return judge


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    plain_git(monkeypatch)
    made = Project(tmp_path / "project")
    monkeypatch.chdir(made.history.root)
    made.begin_run()
    monkeypatch.setattr(Trials, "_build", lambda trials: None)
    monkeypatch.setattr(Trials, "_judge_input", judged_by(made))
    return made


def commits(project: Project) -> str:
    return f"{project.history.commits[0]}.."


def test_the_first_bad_commit_and_how_it_fails(project, cli):
    said = cli("bisect", "runs/fuzz", FINDING, commits(project))
    lines = said.out.splitlines()
    assert lines[0] == f"{project.history.commits[6]} is the first bad commit"
    assert "    number 6" in lines
    assert " parse.c | 2 +-" in lines
    assert lines[-1] == "SIGSEGV in parse"
    assert project.tried[:2] == [8, 0]
    assert len(project.tried) == len({*project.tried}) <= 6
    assert said.err.count("step ") == len(project.tried)
    assert "step 1 of about 5: bad" in said.err
    assert project.history.worktrees() == 1
    (left,) = (project.run / "bisect").iterdir()
    assert "first bad commit" in (left / "bisect.log").read_text()
    assert len([*(left / "logs").iterdir()]) == len(project.tried)
    assert not (left / "build").exists()


def test_its_json(project, cli):
    project.outcomes = {6: BAD, 4: SKIP, 3: GOOD, 0: GOOD}
    found = cli("bisect", "runs/fuzz", FINDING, commits(project), "--json", code=FAILED).json
    assert found["first_bad"] is None
    assert sorted(project.number(c["hash"]) for c in found["candidates"]) == [4, 5, 6]
    assert {step["outcome"] for step in found["steps"]} == {GOOD, BAD, SKIP}
    project.outcomes = {5: BAD, 0: GOOD}
    found = cli("bisect", "runs/fuzz", FINDING, commits(project), "--json").json
    first = found["first_bad"]
    assert (first["hash"], first["subject"]) == (project.history.commits[5], "number 5")
    assert "parse.c" in first["stat"]


def test_the_range_that_is_left_if_commits_were_skipped(project, cli):
    project.outcomes = {6: BAD, 5: SKIP, 0: GOOD}
    said = cli("bisect", "runs/fuzz", FINDING, commits(project), code=FAILED)
    assert said.out.startswith("the first bad commit is one of 2;")
    assert "number 5  does not build" in said.out
    assert "number 6  SIGSEGV in parse" in said.out


def test_another_failure_at_the_newest_commit_is_shown(project, cli, monkeypatch):
    def judge(trials: Trials) -> tuple[str, str]:
        outcome, text = project.judge(trials)
        return outcome, "SIGABRT in main" if project.tried[-1] == 8 else text

    monkeypatch.setattr(Trials, "_judge_input", judge)
    said = cli("bisect", "runs/fuzz", FINDING, commits(project))
    assert said.out.splitlines()[-2] == "SIGSEGV in parse"
    assert said.out.splitlines()[-1].startswith("SIGABRT in main (")


def test_an_interrupted_bisect_is_continued(project, cli, capsys):
    def interrupt(number: int) -> None:
        if len(project.tried) == 4:
            raise KeyboardInterrupt

    project.hook = interrupt
    assert main(["bisect", "runs/fuzz", FINDING, commits(project)]) == 130
    assert "the same command continues after 3 commits" in capsys.readouterr().err
    assert project.history.worktrees() == 1
    before, project.hook = [*project.tried], lambda number: None
    (left,) = (project.run / "bisect").iterdir()
    with (left / "tried.jsonl").open("a") as file:
        file.write('{"commit": "cut off')
    project.tried.clear()
    said = cli("bisect", "runs/fuzz", FINDING, commits(project))
    assert said.out.startswith(project.history.commits[6])
    assert project.tried[0] == before[3]
    assert not {*project.tried} & {*before[:3]}
    assert said.err.count(" known ") == 3
    project.tried.clear()
    cli("bisect", "runs/fuzz", FINDING, commits(project))
    assert project.tried[:4] == before  # it has ended, so that nothing is known any more


def test_other_options_do_not_continue_it(project, capsys):
    def interrupt(number: int) -> None:
        raise KeyboardInterrupt

    project.hook = interrupt
    for more in ([], ["--times", "3"], ["--build", "make"], ["--set", "target.memory=0"]):
        assert main(["bisect", "runs/fuzz", FINDING, commits(project), *more]) == 130
    assert len([*(project.run / "bisect").iterdir()]) == 3 + 1


@pytest.mark.parametrize(
    ("outcomes", "problem"),
    [
        ({0: BAD}, "number 0, its good end, is bad: the finding fails (SIGSEGV in parse)"),
        ({0: GOOD}, "number 8, its bad end, is good: the finding does not fail there"),
        ({1: BAD, 0: SKIP}, "number 0, its good end, cannot be tried: does not build"),
        ({0: SKIP}, "number 8, its bad end, cannot be tried: does not build"),
    ],
)
def test_both_ends_are_tried_first(project, cli, outcomes, problem):
    project.outcomes = outcomes
    assert problem in cli("bisect", "runs/fuzz", FINDING, commits(project), code=USAGE).err
    assert len(project.tried) <= 2
    assert project.history.worktrees() == 1
    project.outcomes = {6: BAD, 0: GOOD}  # what was missing is there now
    cli("bisect", "runs/fuzz", FINDING, commits(project))


@pytest.mark.parametrize("error", [28, 122])
def test_a_full_disk_is_no_outcome(project, cli, error):
    def fill(number: int) -> None:
        if len(project.tried) == 3:
            raise bisect_trial._Untestable(f"cc: {os.strerror(error)}")

    project.hook = fill
    said = cli("bisect", "runs/fuzz", FINDING, commits(project), code=FAILED)
    assert "no space is left on the disk of" in said.err
    project.hook = lambda number: None
    assert cli("bisect", "runs/fuzz", FINDING, commits(project)).err.count(" known ") == 2


# ------------------------------------------------------------------------ what is refused


def test_what_is_not_there(project, cli):
    said = cli("bisect", "runs/fuzz", "main/crashes/none", commits(project), code=USAGE)
    assert "no such finding, and no mutant" in said.err
    cli("bisect", "runs/none", FINDING, commits(project), code=NOT_RUNNING)
    said = cli("bisect", "runs/fuzz", FINDING, "v1..", code=USAGE)
    assert "v1: there is no such commit" in said.err
    assert project.tried == []


def test_a_target_in_no_repository(project, cli, tmp_path):
    shutil.rmtree(project.history.root / ".git")
    said = cli("bisect", "runs/fuzz", FINDING, "a..b", code=USAGE)
    assert "is in no git repository" in said.err
    assert "--set target.source=DIR" in said.err


def test_why_git_refuses_a_repository(project, cli, monkeypatch):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert "dubious ownership" in cli("bisect", "runs/fuzz", FINDING, "a..b", code=USAGE).err


def test_without_git(project, cli, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    said = cli("bisect", "runs/fuzz", FINDING, commits(project), code=USAGE)
    assert "git is not installed; bisect needs it" in said.err


def test_a_program_without_a_build_needs_one(project, cli):
    program = project.history.root / "parse"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    text = (project.run / "campaign.toml").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("build =")]
    (project.run / "campaign.toml").write_text("\n".join(lines).replace("./parse", str(program)))
    words = ["bisect", "runs/fuzz", FINDING, commits(project)]
    said = cli(*words, code=USAGE)
    assert f"that makes {program} in the tree of a commit: --build make" in said.err
    cli(*words, "--build", "cc -o parse parse.c")


# ------------------------------------------------------------------ paths in the worktree


def moved(project: Project, monkeypatch: pytest.MonkeyPatch, cli, *words: str) -> dict[str, object]:
    """The target of the campaign that is run at a commit."""
    seen: list[dict[str, object]] = []

    def judge(trials: Trials) -> tuple[str, str]:
        campaign = load(trials._directory / "campaign.toml").campaign
        seen.append({**campaign.target, "tree": str(trials._search.tree)})
        return project.judge(trials)

    monkeypatch.setattr(Trials, "_judge_input", judge)
    cli("bisect", "runs/fuzz", FINDING, commits(project), *words)
    return seen[0]


def test_paths_are_those_of_the_worktree(project, cli, monkeypatch):
    root = project.history.root
    build = f"cc -I{root}/include -L {root} {root}-other/x.c /mnt{root}/y.c '{root}'"
    env = f'{{A = "{root}:/x", B = "/x:{root}/lib"}}'
    target = moved(
        project, monkeypatch, cli, "--set", f'target.build="{build}"', "--set", f"target.env={env}"
    )
    tree = target["tree"]
    assert target["source"] == target["cwd"] == tree
    assert target["build"] == (
        f"cc -I{tree}/include -L {tree} {root}-other/x.c /mnt{root}/y.c '{tree}'"
    )
    assert target["env"] == {"A": f"{tree}:/x", "B": f"/x:{tree}/lib"}


def test_a_repository_behind_a_link_is_recognised(project, cli, monkeypatch, tmp_path):
    (tmp_path / "link").symlink_to(project.history.root)
    target = moved(project, monkeypatch, cli, "--set", f"target.source={tmp_path}/link")
    assert target["source"] == target["tree"]

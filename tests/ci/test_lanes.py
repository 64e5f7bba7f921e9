"""Which slow tests a branch needs: ``.ci/lanes.py``, its tables, and who asks it."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load(root):
    """``.ci`` is no package."""
    spec = importlib.util.spec_from_file_location("lanes", root / ".ci/lanes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lanes = load(ROOT)
EVERYTHING = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
PATTERNS = {p for patterns in [*lanes.ROOMS.values(), *lanes.LANES.values()] for p in patterns}


# ---------------------------------------------------------------- the tables


def test_each_folder_of_the_table_exists():
    assert [name for name in lanes.ROOMS if not (ROOT / name).exists()] == []


def test_each_pattern_finds_tests():
    assert [pattern for pattern in sorted(PATTERNS) if not lanes.files([pattern])] == []


def test_each_test_of_the_core_exists():
    for test in lanes.CORE:
        file, _, name = test.partition("::")
        assert not name or f"def {name}(" in (ROOT / file).read_text(), test


def test_each_slow_test_is_needed_by_a_change_of_the_product():
    """Otherwise no branch ever runs it."""
    reached = {test.partition("::")[0] for test in lanes.CORE}
    reached = reached.union(*(lanes.files(patterns) for patterns in lanes.ROOMS.values()))
    assert EVERYTHING - reached == set()


def test_each_test_is_in_a_lane():
    assert {lanes.lane_of(test) for test in EVERYTHING} == set(lanes.LANES)


# ---------------------------------------------------------------- what a change needs


@pytest.mark.parametrize(
    ("path", "some", "none"),
    [
        ("fuzztui/features/corpus/screen/actions.py", "tests/tui", "tests/e2e/test_afl_run.py"),
        ("engines/text/mutators.h", "tests/engines/text", "tests/tui"),
        ("engines/loop/loop.py", "tests/engines", "tests/tui"),
        ("fuzztui/run/afl/steer.c", "tests/run/afl", "tests/tui"),
        ("fuzztui/kernel/session.py", "tests/kernel/session", "tests/run/afl"),
        ("README.md", "tests/docs", "tests/e2e"),
        ("docs/afl.md", "tests/docs", "tests/e2e"),
        ("tests/tui/fakes.py", "tests/tui", "tests/e2e"),
        ("tests/tui/__snapshots__/test_snapshots/x.svg", "tests/tui", "tests/e2e"),
    ],
)
def test_a_change_needs_the_tests_of_its_folder(path, some, none):
    chosen, _ = lanes.needed([path])
    assert lanes.files([some]) <= chosen
    assert not lanes.files([none]) <= chosen


@pytest.mark.parametrize(
    "path",
    [
        "pyproject.toml", "fuzztui/__init__.py", "fuzztui/something_new/code.py",
        "engines/__main__.py", "tests/conftest.py", "tests/helpers/shared.py", ".ci/run",
        "something_new/x.py",
    ],
)  # fmt: skip
def test_what_no_table_names_touches_everything(path):
    assert lanes.needed(["README.md", path])[0] == EVERYTHING


def test_a_changed_test_is_run_and_a_deleted_one_is_not():
    assert lanes.needed(["tests/cli/test_cli_rank.py"])[0] == {"tests/cli/test_cli_rank.py"}
    assert lanes.needed(["tests/cli/test_no_longer.py"])[0] == set()


def test_the_core_is_run_whatever_was_changed():
    assert set(lanes.with_core(set())) == set(lanes.CORE)
    assert lanes.with_core(EVERYTHING) == sorted(EVERYTHING)
    # No lane is ever empty: pytest without a path would run everything, or fail.
    assert {lanes.lane_of(test) for test in lanes.CORE} == set(lanes.LANES)


# ---------------------------------------------------------------- what was changed


@pytest.fixture
def branch(tmp_path, monkeypatch):
    """A repository with a branch that has left main, and its own copy of lanes.py."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.delenv("GITHUB_BASE_REF", raising=False)
    root = tmp_path / "repository"
    (root / ".ci").mkdir(parents=True)
    (root / ".ci/lanes.py").write_bytes((ROOT / ".ci/lanes.py").read_bytes())
    (root / ".gitignore").write_text("__pycache__/\n")
    (root / "old.py").touch()
    for argv in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"],
                 ["checkout", "-qb", "work"]):  # fmt: skip
        git(root, *argv)
    return root


def git(root, *arguments):
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "-C", root, *who, *arguments], check=True, capture_output=True)


def test_changes_are_those_since_the_branch_left_main(branch):
    git(branch, "mv", "old.py", "new.py")
    git(branch, "commit", "-qm", "two")
    git(branch, "checkout", "-q", "main")
    (branch / "of_main.py").touch()
    git(branch, "add", "-A")
    git(branch, "commit", "-qm", "three")
    git(branch, "checkout", "-q", "work")
    (branch / "not committed.py").touch()
    assert load(branch).changes() == {"old.py", "new.py", "not committed.py"}


def test_on_main_the_changes_are_those_of_a_day(branch, monkeypatch):
    git(branch, "checkout", "-q", "main")
    for file, days in (("month.py", 30), ("week.py", 7), ("today.py", 0)):
        (branch / file).touch()
        git(branch, "add", "-A")
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{1_800_000_000 - days * 86_400} +0000")
        git(branch, "commit", "-qm", file)
    (branch / "not committed.py").touch()
    assert load(branch).changes() == {"today.py", "not committed.py"}


def test_on_main_without_an_older_commit_the_changes_are_unknown(branch):
    (branch / "new.py").touch()
    assert load(branch).changes() is None


def test_without_a_common_commit_the_changes_are_unknown(branch, tmp_path):
    (branch / "new.py").touch()
    git(branch, "add", "-A")
    git(branch, "commit", "-qm", "two")
    shallow = tmp_path / "shallow"
    git(branch, "clone", "-q", "--depth=1", f"file://{branch}", str(shallow))
    assert load(shallow).changes() is None


def test_a_pull_request_is_compared_with_its_target(branch, monkeypatch):
    (branch / "new.py").touch()
    git(branch, "add", "-A")
    git(branch, "commit", "-qm", "two")
    git(branch, "update-ref", "refs/remotes/origin/release", "HEAD~1")
    monkeypatch.setenv("GITHUB_BASE_REF", "release")
    assert load(branch).changes() == {"new.py"}
    monkeypatch.setenv("GITHUB_BASE_REF", "gone")
    assert load(branch).changes() is None


# ---------------------------------------------------------------- who asks


def test_the_script_and_the_workflow_know_the_same_lanes():
    """A lane that no workflow runs would be tested by nobody."""
    usage = re.search(r"--lane (\S+)\]\"", (ROOT / ".ci/run").read_text())[1].split("|")
    assert set(usage) == {"fast", "checks", *lanes.LANES}
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    listed = re.search(r"lane: \[(.*)\]", workflow)[1].split(", ")
    assert {*listed, "fast"} == set(usage)
    assert "--lane fast" in workflow


# ---------------------------------------------------------------- a share of many


def test_few_files_are_run_whole():
    few = lanes.files(["tests/features/notify", "tests/ci"])
    slow = {file for file in few if "mark.slow" in (ROOT / file).read_text()}
    assert lanes.share(few, "0123abcd") == slow


def test_commits_divide_many_files_among_themselves():
    slow = {file for file in EVERYTHING if "mark.slow" in (ROOT / file).read_text()}
    parts = -(-len(slow) // lanes.SHARE_FILES)
    shares = [lanes.share(EVERYTHING, f"{n:08x}") for n in range(parts)]
    assert parts > 1
    assert set().union(*shares) == slow
    assert sum(map(len, shares)) == len(slow)
    assert max(map(len, shares)) <= lanes.SHARE_FILES

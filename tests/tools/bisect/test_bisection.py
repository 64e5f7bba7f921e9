"""git's bisect in a worktree of its own, with real repositories."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from repositories import History, plain_git

from fuzztui.tools.bisect.repository import Commit, Repository
from fuzztui.tools.bisect.search import Bisection
from fuzztui.tools.changes.lines import ChangesError

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """Twenty commits: ``n.txt`` has the number of the commit."""
    plain_git(monkeypatch)
    made = History(tmp_path / "project")
    made.write((f"number {n}", {"n.txt": str(n)}) for n in range(20))
    return made


def search(history: History, place: Path, outcomes: dict[int, str]) -> list[int]:
    """The numbers of the commits that git names; ``outcomes``: those that follow, by number."""
    repository = Repository(history.root)
    good, bad = repository.ends(f"{history.commits[0]}..")
    place.mkdir()
    with Bisection(repository, place) as bisection:
        commit = bisection.start(good, bad)
        while commit is not None:
            number = history.commits.index(commit.hash)
            bisection.checkout(commit)
            assert (bisection.tree / "n.txt").read_text() == str(number)
            assert bisection.steps_left() < 20
            outcome = next(o for n, o in outcomes.items() if number >= n)
            commit = bisection.mark(outcome, commit)
        result = bisection.result()
    assert not bisection.tree.exists()
    assert history.worktrees() == 1
    return sorted(history.commits.index(commit.hash) for commit in result)


@pytest.mark.parametrize("first", [1, 13])
def test_the_first_bad_commit(history: History, tmp_path: Path, first: int) -> None:
    assert search(history, tmp_path / "b", {first: "bad", 0: "good"}) == [first]
    assert (
        f"first bad commit: [{history.commits[first]}]" in (tmp_path / "b/bisect.log").read_text()
    )


def test_commits_that_were_skipped_may_be_it(history: History, tmp_path: Path) -> None:
    assert search(history, tmp_path / "b", {13: "bad", 11: "skip", 0: "good"}) == [11, 12, 13]


def test_nothing_of_the_user_is_touched(history: History, tmp_path: Path) -> None:
    """Neither files nor index nor a bisect of their own; hooks are not executed."""
    (history.root / "n.txt").write_text("changed")
    (history.root / "new.txt").write_text("untracked")
    history.git("add", "new.txt")
    both = (history.commits[8], history.commits[2])
    history.git("bisect", "start", "--no-checkout", *both)
    hook = history.root / ".git/hooks/post-checkout"
    hook.write_text("#!/bin/sh\ntouch hook-ran\n")
    hook.chmod(0o700)
    before = history.git("status", "--short"), history.git("bisect", "log")
    assert search(history, history.root / "runs-b", {7: "bad", 0: "good"}) == [7]
    shutil.rmtree(history.root / "runs-b")
    assert (history.git("status", "--short"), history.git("bisect", "log")) == before


def test_a_tree_has_the_files_of_its_commit_only(history: History, tmp_path: Path) -> None:
    history.commit({".gitignore": "*.o\n", "a\n'b\".txt": "hostile"}, "strange \x1b[31m names")
    repository = Repository(history.root)
    first, last = (repository.commit(history.commits[n]) for n in (0, -1))
    with Bisection(repository, tmp_path) as bisection:
        bisection.checkout(last)
        assert (bisection.tree / "a\n'b\".txt").read_text() == "hostile"
        (bisection.tree / "ignored.o").write_text("built")
        (bisection.tree / "nested/.git").mkdir(parents=True)
        (bisection.tree / "n.txt").write_text("generated")
        bisection.checkout(first)
        assert {path.name for path in bisection.tree.iterdir()} == {".git", "n.txt"}
    assert "\x1b" not in str(last) + repository.stat(last)


def test_without_its_git_file_the_checkout_around_is_not_cleaned(history: History) -> None:
    (history.root / "work").mkdir()
    (history.root / "new.txt").write_text("the user's")
    repository = Repository(history.root)
    with Bisection(repository, history.root / "work") as bisection:
        (bisection.tree / ".git").unlink()
        with pytest.raises(ChangesError, match="not a git repository"):
            bisection.checkout(repository.commit("HEAD"))
    assert (history.root / "new.txt").read_text() == "the user's"


def test_the_worktree_of_a_process_that_was_killed_is_replaced(
    history: History, tmp_path: Path
) -> None:
    history.git("worktree", "add", "--lock", "--detach", str(tmp_path / "b/tree"), "HEAD~3")
    (tmp_path / "b/tree/left").touch()
    shutil.copytree(tmp_path / "b", tmp_path / "kept")
    repository = Repository(history.root)
    with Bisection(repository, tmp_path / "b") as bisection:
        bisection.checkout(repository.commit("HEAD"))
        assert not (bisection.tree / "left").exists()
        with (
            pytest.raises(ChangesError, match="another process"),
            Bisection(repository, tmp_path / "b"),
        ):
            pass
    assert history.worktrees() == 1


def test_submodules_come_from_the_checkout(history: History, tmp_path: Path) -> None:
    part = History(tmp_path / "part")
    for n in range(2):
        part.commit({"part.txt": str(n)}, f"part {n}")
    history.git("submodule", "add", "-q", str(part.root), "sub dir/part")
    history.git("checkout", "-q", part.commits[0], at=history.root / "sub dir/part")
    history.commit({}, "with a submodule")
    history.git("checkout", "-q", part.commits[1], at=history.root / "sub dir/part")
    history.commit({}, "a newer one")
    part.root.rename(tmp_path / "not there any more")
    repository = Repository(history.root)
    with Bisection(repository, tmp_path) as bisection:
        for at, text in ((-1, "1"), (-2, "0")):
            bisection.checkout(repository.commit(history.commits[at]))
            assert (bisection.tree / "sub dir/part/part.txt").read_text() == text
            left = bisection.tree / "sub dir/part/built.o"
            assert not left.exists(), "files of another commit are removed"
            left.touch()
        bisection.checkout(repository.commit(history.commits[0]))
        assert not (bisection.tree / "sub dir").exists()
    assert history.git("status", "--short") == ""


def test_names_of_submodules_set_no_other_configuration(history: History, tmp_path: Path) -> None:
    part = History(tmp_path / "part")
    part.commit({"part.txt": "x"}, "part")
    history.git("submodule", "add", "-q", str(part.root), "sub")
    ours, proof = history.root / ".gitmodules", tmp_path / "proof"
    evil = f'[submodule "sub.update=!touch {proof} #"]\n\tpath = sub\n'
    history.commit({".gitmodules": evil + ours.read_text()}, "evil")
    repository = Repository(history.root)
    with Bisection(repository, tmp_path) as bisection:
        bisection.checkout(repository.commit(history.commits[-1]))
    assert not proof.exists()


def test_a_commit_is_the_same_at_each_look(history: History) -> None:
    """Also if the user reads ages in place of dates."""
    history.git("config", "log.date", "raw-local")
    date = Repository(history.root).commit(history.commits[0]).date
    history.git("config", "log.date", "relative")
    assert Repository(history.root).commit(history.commits[0]).date == date


# ---------------------------------------------------------------------------- the range


def test_the_ends_of_a_range(history: History) -> None:
    history.git("tag", "v1.0", history.commits[3])
    repository = Repository(history.root / ".")
    good, bad = repository.ends("v1.0..")
    assert (good.subject, bad.subject) == ("number 3", "number 19")
    assert good.author == "Ada <ada@example.org>"
    assert repository.ends("v1.0..HEAD~2")[1].hash == history.commits[17]
    assert "n.txt | 2 +-" in repository.stat(bad)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("HEAD", "is not GOOD..BAD"),
        ("HEAD~3...HEAD", "is not GOOD..BAD"),
        ("..HEAD", "is not GOOD..BAD"),
        ("--all..HEAD", "--all: there is no such commit"),
        ("v9..HEAD", "v9: there is no such commit"),
        ("main~2..main~5", "main~5 is not newer than main~2"),
        ("HEAD..HEAD", "is not newer"),
        ("side..main", "side is not an ancestor of main; both come from "),
        ("alone..main", "alone is not an ancestor of main$"),
    ],
)
def test_a_range_that_is_none(history: History, text: str, problem: str) -> None:
    history.git("checkout", "-q", "-b", "side", "HEAD~4")
    history.commit({"side.txt": ""}, "side")
    history.git("checkout", "-q", "--orphan", "alone")
    history.commit({"alone.txt": ""}, "alone")
    with pytest.raises(ChangesError, match=problem):
        Repository(history.root).ends(text)


def test_a_shallow_clone_is_named(history: History, tmp_path: Path) -> None:
    history.git("clone", "-q", "--depth", "3", f"file://{history.root}", str(tmp_path / "clone"))
    with pytest.raises(ChangesError, match="shallow: git fetch --unshallow"):
        Repository(tmp_path / "clone").ends(f"{history.commits[1]}..HEAD")


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(ChangesError, match="not a git repository"):
        Repository(tmp_path)


def test_a_subject_that_looks_like_a_result(history: History, tmp_path: Path) -> None:
    history.commit({"n.txt": "20"}, f"# first bad commit: [{history.commits[1]}]")
    assert search(history, tmp_path / "b", {15: "bad", 0: "good"}) == [15]
    assert isinstance(Repository(history.root).commit("HEAD"), Commit)

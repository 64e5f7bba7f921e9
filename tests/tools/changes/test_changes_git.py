"""Changes since a branch, from real git repositories."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fuzztui.tools.changes.git import changes_since
from fuzztui.tools.changes.lines import ChangesError


class Repository:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(exist_ok=True)
        self.git("init", "-q", "-b", "main")
        for key, value in {"user.name": "t", "user.email": "t@t", "diff.noprefix": "true",
                           "diff.mnemonicPrefix": "true", "color.ui": "always",
                           "commit.gpgsign": "false"}.items():  # fmt: skip
            self.git("config", key, value)

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self.path, check=True, capture_output=True, text=True
        ).stdout

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def since(self, ref: str = "main") -> dict[str, object]:
        found = changes_since(ref, self.path).files.values()
        return {file.name: file.lines for file in found}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    made = Repository(tmp_path / "tree")
    made.write("a.py", "x = 1\ny = 2\nz = 3\n" + "pad = 1\n" * 20)
    made.write("b.py", "b = 1\n")
    made.commit()
    made.git("checkout", "-q", "-b", "topic")
    return made


def test_committed_staged_changed_and_new_files(repository: Repository) -> None:
    assert repository.since() == {}
    repository.write("a.py", "x = 1\ny = 0\nz = 3\n" + "pad = 1\n" * 20)
    repository.commit()
    repository.write("c.py", "c = 1\n")
    repository.git("add", "c.py")
    repository.write('d "q"\tä.py', "d = 1\nd = 2")
    repository.write("b.py", "b = 1\nb = 2\n")
    repository.write(".gitignore", "ignored.py\n")
    repository.write("ignored.py", "i = 1\n")
    found = repository.since()
    assert found == {
        "a.py": ((2, 2),), "b.py": ((2, 2),), "c.py": ((1, 1),), 'd "q"\tä.py': ((1, 2),),
        ".gitignore": ((1, 2),),
    }  # fmt: skip
    # Names that git quotes are read as well when they are in its diff.
    repository.commit()
    repository.write('d "q"\tä.py', "d = 1\nd = 3\n")
    assert repository.since()['d "q"\tä.py'] == ((1, 2),)


def test_only_what_the_branch_itself_has_changed(repository: Repository) -> None:
    repository.write("b.py", "b = 2\n")
    repository.commit()
    repository.git("checkout", "-q", "main")
    repository.write("a.py", "changed = 1\n")
    repository.commit()
    repository.git("checkout", "-q", "topic")
    assert repository.since() == {"b.py": ((1, 1),)}
    repository.git("checkout", "-q", "--detach")
    assert repository.since() == {"b.py": ((1, 1),)}


def test_a_renamed_file(repository: Repository) -> None:
    text = (repository.path / "a.py").read_text()
    (repository.path / "a.py").unlink()
    repository.write("new/a.py", text.replace("z = 3", "z = 4"))
    repository.git("add", "-A")
    (file,) = changes_since("main", repository.path).files.values()
    assert (file.name, file.lines) == ("new/a.py", ((3, 3),))
    assert file.before == text.encode()


def test_from_a_directory_inside(repository: Repository) -> None:
    repository.write("b.py", "b = 2\n")
    (repository.path / "sub").mkdir()
    found = changes_since("main", repository.path / "sub")
    assert [file.name for file in found.files.values()] == ["b.py"]
    assert found.root == repository.path


@pytest.mark.parametrize("ref", ["nonsense", "origin/main", "--output=x", "", "a b", "main^{tree}"])
def test_a_branch_that_does_not_exist(repository: Repository, ref: str) -> None:
    with pytest.raises(ChangesError, match="no such branch or commit"):
        repository.since(ref)
    assert not (repository.path / "x").exists()


def test_a_shallow_clone(repository: Repository, tmp_path: Path) -> None:
    repository.write("b.py", "b = 2\n")
    repository.commit()
    url = f"file://{repository.path}"
    subprocess.run(["git", "clone", "-q", "--depth=1", url, tmp_path / "c"], check=True)
    subprocess.run(
        ["git", "fetch", "-q", "--depth=1", "origin", "main:refs/remotes/origin/main"],
        cwd=tmp_path / "c", check=True,
    )  # fmt: skip
    with pytest.raises(ChangesError, match="fetch-depth"):
        changes_since("origin/main", tmp_path / "c")
    subprocess.run(["git", "fetch", "-q", "--unshallow"], cwd=tmp_path / "c", check=True)
    assert len(changes_since("origin/main", tmp_path / "c").files) == 1


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(ChangesError, match="not a git repository"):
        changes_since("main", tmp_path)


def test_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ChangesError, match="--in-diff"):
        changes_since("main", tmp_path)

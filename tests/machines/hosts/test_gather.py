"""Which files of a campaign are shipped."""

from pathlib import Path

import pytest

from fuzztui.machines.hosts import gather
from fuzztui.machines.hosts.gather import Parcel
from fuzztui.machines.hosts.ssh import HostError


def make(root: Path, *names: str, text: str = "x") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def shipped(*roots: Path) -> set[str]:
    parcel = Parcel()
    parcel.add_trees(roots)
    return {file.path for file in parcel.finished()}


def test_a_source_tree_goes_without_what_was_made_from_it(tmp_path):
    p = tmp_path / "p"
    make(p, "pkg/a.py", "pkg/data/x.bin", "build/__init__.py", "tool/dist/__init__.py", "logs/x")
    make(p, ".git/HEAD", ".env", ".venv/x", "pkg/__pycache__/a.pyc", "node_modules/x/y.js")
    make(p, "dist/x", "runs/a/b", "other/build/x.o", "p.egg-info/PKG-INFO", "env/pyvenv.cfg")
    make(p, "cache/CACHEDIR.TAG", "cache/x", "old/supervisor/lock", "old/log/x", "old/out/y")
    assert shipped(p) == {
        f"tree0-p/{name}"
        for name in (
            "pkg/a.py",
            "pkg/data/x.bin",
            "build/__init__.py",
            "tool/dist/__init__.py",
            "logs/x",
        )
    }


def test_a_tree_in_another_is_shipped_once_and_one_that_was_left_out_by_itself(tmp_path):
    p = tmp_path / "p"
    make(p, "src/pkg/a.py", "build/lib/b.py")
    parcel = Parcel()
    parcel.add_trees([p / "src", p, p / "build/lib"])
    assert {f.path for f in parcel.finished()} == {"tree0-p/src/pkg/a.py", "tree1-lib/b.py"}
    assert parcel.at(p / "src") == "tree0-p/src"
    assert parcel.at(p / "build/lib") == "tree1-lib"
    assert parcel.at(p) == "tree0-p"


def test_links_become_what_they_lead_to(tmp_path):
    make(tmp_path / "other", "deep/c.py")
    p = tmp_path / "p"
    make(p, "a.py")
    (p / "b.py").symlink_to(p / "a.py")
    (p / "other").symlink_to(tmp_path / "other")
    (p / "loop").symlink_to(p)
    (p / "nothing").symlink_to(p / "absent")
    assert shipped(p) == {"tree0-p/a.py", "tree0-p/b.py", "tree0-p/other/deep/c.py"}


def test_a_file_alone_and_hidden_seeds(tmp_path):
    make(tmp_path, "x/words.dict", "seeds/.hidden", "seeds/1")
    parcel = Parcel()
    assert parcel.at(tmp_path / "x/words.dict") == "file0-words.dict"
    assert parcel.at(tmp_path / "seeds") == "file1-seeds"
    assert parcel.at(tmp_path / "seeds/1") == "file1-seeds/1"
    assert len(parcel.finished()) == 3  # a seed may have any name
    assert [(part.files, part.size) for part in parcel.parts] == [(1, 1), (2, 2)]


def test_the_mode_says_what_can_be_executed(tmp_path):
    make(tmp_path / "p", "run", "read")
    (tmp_path / "p/run").chmod(0o750)
    (tmp_path / "p/read").chmod(0o600)
    parcel = Parcel()
    parcel.add_trees([tmp_path / "p"])
    assert {f.path: f.mode for f in parcel.finished()} == {
        "tree0-p/run": 0o755,
        "tree0-p/read": 0o644,
    }


def test_too_much_names_what_is_largest(tmp_path, monkeypatch):
    monkeypatch.setattr(gather, "MAX_BYTES", 1000)
    make(tmp_path / "p", "large/a", "large/b", text="x" * 600)
    make(tmp_path / "p", "small/a")
    with pytest.raises(HostError) as error:
        shipped(tmp_path / "p")
    assert "p/large" in error.value.reason
    assert error.value.reason.index("p/large") < error.value.reason.index("p/small")
    assert "target.path" in error.value.advice


def test_a_whole_home_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(gather, "MAX_FILES", 3)
    make(tmp_path / "p", *(f"d{i:02}/x" for i in range(40)))
    parcel = Parcel()
    with pytest.raises(HostError):
        parcel.add_trees([tmp_path / "p"])
    assert len(parcel.files) < 20


def test_a_file_that_cannot_be_read(tmp_path):
    make(tmp_path / "p", "a")
    parcel = Parcel()
    parcel.add_trees([tmp_path / "p"])
    (tmp_path / "p/a").unlink()
    with pytest.raises(HostError):
        parcel.finished()


@pytest.mark.parametrize("name", ["a b;$(x)", "ü", "...", "x" * 200])
def test_names_of_directories_are_plain(tmp_path, name):
    make(tmp_path / name, "f")
    (path,) = shipped(tmp_path / name)
    assert path.isascii() and len(path) < 120
    assert not set(path) & set(" ;$()")

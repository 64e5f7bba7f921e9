"""Unified diffs: which lines they change, what the file was, and what is refused."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.tools.changes.lines import ChangesError, changed_files, read_diff

NOW = "".join(f"x{n} = {n}\n" for n in range(1, 10))


def only(tmp_path: Path, diff: str, now: str = NOW, name: str = "m.py"):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(now)
    (found,) = changed_files(diff.encode(), tmp_path)
    return found


def refused(tmp_path: Path, diff: bytes) -> str:
    (tmp_path / "m.py").write_text(NOW)
    with pytest.raises(ChangesError) as caught:
        list(changed_files(diff, tmp_path))
    return str(caught.value)


def test_changed_added_and_removed_lines(tmp_path: Path) -> None:
    found = only(
        tmp_path,
        "diff --git a/m.py b/m.py\nindex 1..2 100644\n--- a/m.py\n+++ b/m.py\n"
        "@@ -1,4 +1,3 @@ def f():\n-old = 1\n+x1 = 1\n x2 = 2\n-gone = 1\n x3 = 3\n"
        "@@ -8,2 +7,3 @@\n x7 = 7\n+x8 = 8\n x9 = 9\n",
    )
    # A removed line counts for its neighbours, else the change would have no place.
    assert found.lines == ((1, 3), (8, 8))
    assert found.name == "m.py" and found.path == tmp_path / "m.py"
    before = "old = 1\nx2 = 2\ngone = 1\n" + NOW.split("\n", 2)[2].replace("x8 = 8\n", "")
    assert found.before == before.encode()


@pytest.mark.parametrize(("head", "lines"), [("-1,1 +0,0", ((1, 1),)), ("-3 +2,0", ((2, 3),))])
def test_a_diff_without_context(tmp_path: Path, head: str, lines: object) -> None:
    assert only(tmp_path, f"--- a/m.py\n+++ b/m.py\n@@ {head} @@\n-gone = 1\n").lines == lines


@pytest.mark.parametrize(
    ("old", "new"),
    [("a/d/m.py", "b/d/m.py"), ("d/m.py", "d/m.py\t2026-01-01 10:00"), ("i/x.py", "w/d/m.py"),
     ('"a/d/\\303\\244.py"', '"b/d/m.py"'), ("d/m.py.orig", "d/m.py\r")],
)  # fmt: skip
def test_names(tmp_path: Path, old: str, new: str) -> None:
    found = only(tmp_path, f"--- {old}\n+++ {new}\n@@ -1 +1 @@\n-z\n+x1 = 1\n", name="d/m.py")
    assert found.name == "d/m.py"


def test_a_name_with_quotes_and_bytes(tmp_path: Path) -> None:
    name = 'ä"b.py'
    added = NOW.replace("x", "+x")
    diff = f'--- /dev/null\n+++ "b/\\303\\244\\"b.py"\n@@ -0,0 +1,9 @@\n{added}'
    found = only(tmp_path, diff, name=name)
    assert found.name == name
    assert found.lines == ((1, 9),)
    assert found.before is None  # it is new


def test_a_line_that_looks_like_a_header(tmp_path: Path) -> None:
    now = "++ b/other.py\n-- x\n"
    diff = "--- a/m.txt\n+++ b/m.txt\n@@ -1 +1,2 @@\n--- a/other.py\n+++ b/other.py\n+-- x\n"
    assert only(tmp_path, diff, now, name="m.txt").lines == ((1, 2),)


def test_files_that_are_gone_have_no_lines(tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    for name in ("/dev/null", "b/gone.py", "b/link.py"):
        diff = f"--- a/m.py\n+++ {name}\n@@ -1 +0,0 @@\n-x1 = 1\n"
        assert list(changed_files(diff.encode(), tmp_path)) == []
    assert list(changed_files(b"", tmp_path)) == []
    binary = b"diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n"
    assert list(changed_files(binary, tmp_path)) == []


@pytest.mark.parametrize(
    ("diff", "told"),
    [
        (b"hello\n", "unified diff"),
        (b"@@ -1 +1 @@\n-a\n+b\n", "line 1"),
        (b"--- a/m.py\n+++ b/m.py\n@@ -1,9 +1,9 @@\n x1 = 1\n", "line 5"),
        (b"--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-a\nb\n", "line 5"),
        (b"--- a/m.py\n+++ b/m.py\n@@ what @@\n", "line 3"),
        (b"--- a/m.py\n+++ b/m.py\n@@ -1 +0,1 @@\n-a\n+b\n", "line 3"),
        (b"--- a/m.py\n+++ b/m.py\n@@@ -1 -1 +1 @@@\n--a\n++b\n", "combined"),
        (b"--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-a\n+other\n", "m.py"),
        (b'--- a/m.py\n+++ "b/\\x.py"\n@@ -1 +1 @@\n-a\n+b\n', "line 2"),
        (b"--- a/m.py\n+++ b/../m.py\n@@ -1 +1 @@\n-a\n+b\n", "not a file below"),
        (b"--- /etc/x\n+++ /etc/hostname\n@@ -1 +1 @@\n-a\n+b\n", "not a file below"),
        (b"--- a/m.py\n+++ \n@@ -1 +1 @@\n-a\n+b\n", "line 3"),
        (b'--- a/m.py\n+++ "b/\\000.py"\n@@ -1 +1 @@\n-a\n+b\n', "not a file below"),
    ],
)
def test_a_broken_or_hostile_diff(tmp_path: Path, diff: bytes, told: str) -> None:
    assert told in refused(tmp_path, diff)


def test_a_directory_that_leads_out_of_the_tree(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "out").symlink_to(tmp_path)
    (tmp_path / "m.py").write_text(NOW)
    with pytest.raises(ChangesError):
        list(changed_files(b"--- a/out/m.py\n+++ b/out/m.py\n@@ -1 +1 @@\n-a\n+x1 = 1\n", tree))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", tmp_path / "nowhere", tmp_path):
        with pytest.raises(ChangesError, match="--in-diff"):
            read_diff(file, tmp_path)


@given(st.binary(max_size=300), st.integers(0, 200), st.integers(0, 200))
def test_damaged_diffs_never_crash(tmp_path_factory, noise: bytes, start: int, size: int) -> None:
    root = tmp_path_factory.mktemp("tree")
    (root / "m.py").write_text(NOW)
    diff = (
        b"--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,2 @@\n x1 = 1\n-b\n+x2 = 2\n@@ -9 +9 @@\n-a\n+x9 = 9\n"
    )
    try:
        for file in changed_files(diff[:start] + noise + diff[start + size :], root):
            assert all(0 < first <= last for first, last in file.lines)
    except ChangesError:
        pass

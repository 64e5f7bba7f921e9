"""``fuzztui mutate``."""

import os
import re
from functools import partial
from pathlib import Path

import pytest

from fuzztui.cli.mutate import MutatedFile, change
from fuzztui.cli.output import FAILED, USAGE
from fuzztui.engines.text.table import NAMES

CRATE = str(Path(__file__).parents[2] / "sample_campaigns/crate.c")


@pytest.fixture
def run(cli):
    return partial(cli, "mutate")


def test_the_list(run):
    out = run("--list").out
    assert [line.split()[0] for line in out.splitlines()] == list(NAMES)
    assert '"==" -> "!="' in out


def test_files_are_written_and_the_same_again(run, tmp_path):
    def written(name, *words):
        out, err = run(CRATE, "--output", tmp_path / name, *words)
        assert err == f"fuzztui: 30 files in {tmp_path / name}\n"
        files = {p.name: p.read_bytes() for p in (tmp_path / name).iterdir()}
        assert [line.split()[0] for line in out.splitlines()] == sorted(files)
        return files

    first = written("a", "--count", 30, "--seed", 3)
    assert written("b/c", "--count", 30, "--seed", 3) == first
    assert written("d", "--count", 30, "--seed", 4) != first
    original = Path(CRATE).read_bytes()
    for number, (name, data) in enumerate(sorted(first.items()), 1):
        match = re.fullmatch(r"(\d{6}),orig:crate\.c,op:([a-z0-9-]+)", name)
        assert int(match[1]) == number
        assert match[2] in NAMES
        assert data != original
    stacked = written("e", "--count", 30, "--stack", 3)
    assert all(name.count("+") == 2 for name in stacked)


def test_what_changed_is_told(run, tmp_path):
    file = tmp_path / "a.c"
    file.write_text("int f() {\n  return g(x, yy);\n}\n")
    out = run(file, "--mutator", "swap-args", "--count", 1, "--output", tmp_path / "o").out
    # From the first parenthesis on: the text-level approximation knows no nesting.
    assert re.search(r"op:swap-args  line [12]: .*  ->  ", out)
    out = run(file, "--mutator", "insert-break", "--count", 1).out
    assert re.search(r"@@ line [234]: insert-break @@\n\+break;\n\n", out)
    out = run(file, "--mutator", "delete-line", "--count", 1).out
    assert re.fullmatch(
        r"--- \S+\n\+\+\+ 000001\n@@ line 2: delete-line @@\n-  return g\(x, yy\);\n\n|"
        r"--- \S+\n\+\+\+ 000001\n@@ line 3: delete-line @@\n-}\n\n",
        out,
    )


@pytest.mark.parametrize(
    ("before", "after", "line", "old", "new"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n", 2, "b\n", "B\n"),
        (b"a\nb\nc", b"a\nb\nC", 3, "c", "C"),
        (b"a\nb\n", b"a\nif\nb\n", 2, "", "if\n"),
        (b"a\nb\nb\nc\n", b"a\nb\nc\n", 3, "b\n", ""),
        (b"  ax\n  ay\n", b"  ay\n", 1, "  ax\n", ""),
        (b"a", b"", 1, "a", ""),
        (b"a\n", b"a\n\n", 2, "", "\n"),
        (b"x\n\xff\0\n", b"x\n\xfe\0\n", 2, "\\xff\0\n", "\\xfe\0\n"),
        (b"ab\ncd", b"abcd", 1, "ab\ncd", "abcd"),
    ],
)
def test_which_lines_differ(before, after, line, old, new):
    made = change("x", before, after)
    assert (made.line, made.old, made.new) == (line, old, new)


def test_files_take_turns_and_what_nothing_applies_to_is_left_out(run, tmp_path):
    for name, text in [("a", "a==b"), ("b", "x"), ("c", "c==d")]:
        (tmp_path / name).write_text(text)
    files = [tmp_path / name for name in "abc"]
    out, err = run(*files, "--count", 4, "--mutator", "eq-to-ne", "--mutator", "eq-to-lt")
    assert re.findall(r"--- .*/(.)\n", out).count("c") >= 1
    assert set(re.findall(r"@@ line 1: (.*) @@", out)) <= {"eq-to-ne", "eq-to-lt"}
    assert err == f"fuzztui: {tmp_path}/b: eq-to-ne or eq-to-lt does not apply\n"
    (tmp_path / "empty").touch()
    out, err = run(tmp_path / "empty", code=FAILED)
    assert not out and "empty: no text mutator applies" in err


def test_a_stack_ends_where_nothing_applies_any_more(run, tmp_path):
    (tmp_path / "a").write_text("a!=b")
    words = ["--mutator", "ne-to-eq", "--stack", 5, "--count", 1, "--output", tmp_path / "o"]
    assert run(tmp_path / "a", *words).out.split()[0] == "000001,orig:a,op:ne-to-eq"


def test_long_stacks_and_hostile_names_make_good_file_names(run, tmp_path):
    file = tmp_path / (os.fsdecode(b"\xff\x1b[31m\n,op: ") + "-" * 200 + ".c")
    file.write_text(Path(CRATE).read_text())
    out = run(file, "--stack", 20, "--count", 3, "--output", tmp_path / "o").out
    names = sorted(os.listdir(os.fsencode(tmp_path / "o")))
    assert len(names) == 3
    for name in names:
        assert re.fullmatch(rb"00000[123],orig:[A-Za-z0-9._-]+,op:[a-z0-9-]+\+and-19-more", name)
        assert len(name) <= 255
    assert all(ch.isprintable() or ch == "\n" for ch in out)
    out = run(file, "--count", 3).out
    assert all(ch.isprintable() or ch == "\n" for ch in out)
    assert MutatedFile(Path("-"), b"", (change("a", b"a", b"b"),)).name(7) == "000007,orig:-,op:a"


def test_names_that_begin_with_a_dash(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("-dash.c").write_text("a == b\n")
    assert run("--count", 1, "--", "-dash.c").out.splitlines()[0] == "--- -dash.c"


def test_a_name_that_is_no_utf8_is_shown_as_escapes(run, tmp_path):
    file = tmp_path / os.fsdecode(b"caf\xe9.c")
    file.write_text("a == b\n")
    assert run(file, "--count", 1).out.startswith(f"--- {tmp_path}/caf\\xe9.c\n")
    missing = run(tmp_path / os.fsdecode(b"none\xe9"), code=USAGE)
    assert f"{tmp_path}/none\\xe9: there is" in missing.err


def test_the_operator_is_told_once(run, tmp_path):
    (tmp_path / "a").write_text("a!=b")
    alone = ["--mutator", "ne-to-eq", "--count", 1, "--output", tmp_path / "o"]
    assert run(tmp_path / "a", *alone).out == "000001,orig:a,op:ne-to-eq  line 1: a!=b  ->  a==b\n"


def test_control_bytes_of_a_file_never_reach_the_terminal(run, tmp_path):
    (tmp_path / "a").write_bytes(b"\x1b]0;x\x07 == \x9b\xff\0\n" * 20)
    for words in ([], ["--output", tmp_path / "o"]):
        out = run(tmp_path / "a", "--count", 20, *words).out
        assert all(ch.isprintable() or ch == "\n" for ch in out)
        assert "\\e]0;" in out


def test_one_long_line_is_cut(run, tmp_path):
    (tmp_path / "a").write_text("x" * 300_000 + "==" + "y" * 300_000)
    out = run(tmp_path / "a", "--mutator", "eq-to-ne", "--count", 1).out
    assert len(out) < 2000
    assert "xx==yy" in out and "xx!=yy" in out


def test_nothing_is_overwritten(run, tmp_path):
    out = tmp_path / "o"
    run(CRATE, "--count", 2, "--output", out)
    before = sorted(out.iterdir())
    said, err = run(CRATE, "--count", 2, "--output", out, code=USAGE)
    assert not said and "contains files (000001,orig:crate.c" in err
    assert sorted(out.iterdir()) == before
    (tmp_path / "empty").mkdir()
    run(CRATE, "--count", 2, "--output", tmp_path / "empty")


def test_what_is_wrong_is_said(run, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for words, why in [
        ([], "mutate needs a FILE"),
        ([tmp_path / "none.c"], "none.c: there is no such file"),
        ([tmp_path], "is a directory; name the files in it"),
        ([tmp_path / "fifo"], "fifo is not a regular file"),
        (["/dev/zero"], "/dev/zero is not a regular file"),
        ([tmp_path / "file" / "x"], "Not a directory"),
        ([CRATE, "--mutator", "swp-args"], "did you mean swap-args? (--list shows all)"),
        ([CRATE, "--mutator", "qqqqq"], "unknown text mutator (--list shows all)"),
        ([CRATE, "--output", tmp_path / "file"], "is not a directory"),
        ([CRATE, "--output", tmp_path / "file" / "x"], "is not a directory"),
        ([CRATE, "--output", tmp_path / "link"], "is not a directory"),
        ([CRATE, "--output", "/proc/nothing"], "--output /proc/nothing: "),
    ]:
        out, err = run(*words, code=USAGE)
        assert not out and why in err, words


def test_a_disk_that_is_full_is_told(run, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    err = run(CRATE, "--output", tmp_path / "o", code=FAILED).err
    assert re.search(r"/o/000001,orig:crate\.c,op:\S+: No space left on device", err)


def test_the_former_name_of_the_option_works(run, tmp_path):
    (tmp_path / "a").write_bytes(b"a == b\n")
    one = run(tmp_path / "a", "--mutator", "eq-to-ne", "--operator", "eq-to-lt", "--count", 4)
    other = run(tmp_path / "a", "--mutator", "eq-to-ne", "--mutator", "eq-to-lt", "--count", 4)
    assert one == other
    assert "eq-to-lt" in one.out

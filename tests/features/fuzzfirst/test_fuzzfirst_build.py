"""The parts of the mutant builder, and the whole of it with compilers that stand in for AFL++'s."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.fuzzfirst import build_environment as calls_module
from fuzztui.features.fuzzfirst import build_tree as tree_module
from fuzztui.features.fuzzfirst import failed_builds as failed_module
from fuzztui.features.fuzzfirst.backend import AflBackend
from fuzztui.features.fuzzfirst.baseline import Product
from fuzztui.features.fuzzfirst.build import directory_name, duplicate_of
from fuzztui.features.fuzzfirst.build_environment import Call, read_calls, sources_of
from fuzztui.features.fuzzfirst.build_tree import BuildTree, BuildTreeError, mutated
from fuzztui.features.fuzzfirst.failed_builds import record_failure
from fuzztui.features.fuzzfirst.program_files import companions, digest_of, settle, shared_objects
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessResult

# ---------------------------------------------------------------------------- calls


def test_sources_of_calls():
    lines = ["-O2 -I inc.c -MF x.d -o prog ../a.c b.cc old.a -lm", "-c a.s -ob.c", "--version"]
    calls = [Call("/t/build", tuple(line.split())) for line in lines]
    assert sources_of(calls) == {"/t/a.c", "/t/build/b.cc", "/t/build/a.s"}


@given(st.lists(st.text(st.characters(codec="ascii"), max_size=6), max_size=8))
def test_no_arguments_confuse_it(words):
    assert sources_of([Call("/t", tuple(words)), Call("/t", ("a.c", "-o", "p"))]) >= {"/t/a.c"}


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_records_may_hold_anything(tmp_path_factory, records):
    directory = tmp_path_factory.mktemp("records")
    for i, record in enumerate(records):
        (directory / str(i)).write_bytes(record)
    (directory / "good").write_bytes(b"/d\0cc\0" + b"2\0-c\0a\nb.c\0")
    assert Call("/d", ("-c", "a\nb.c"), "cc") in read_calls(directory)
    (directory / "good").write_bytes(b"/d\0cc\0" + b"2\0-c\0a\nb")
    assert Call("/d", ("-c", "a\nb"), "cc") not in read_calls(directory)


def test_records_that_are_too_much_are_not_read(tmp_path, monkeypatch):
    for name in "abc":
        (tmp_path / name).write_bytes(b"/d\0cc\0" + b"1\0a.c\0")
    assert len(read_calls(tmp_path)) == 3
    monkeypatch.setattr(calls_module, "MAX_CALLS", 2)
    assert read_calls(tmp_path) == []


# -------------------------------------------------------------------------------- trees


@pytest.fixture
def tree(tmp_path):
    origin = tmp_path / "origin"
    origin.mkdir()
    (origin / "a.c").write_bytes(b"one\ntwo\r\nthree")
    (origin / "a.c").chmod(0o640)
    made = BuildTree(tmp_path / "home", origin)
    made.make()
    return made


def test_a_file_is_swapped_and_swapped_back_and_looks_newer(tree):
    file = tree.source / "a.c"
    times = [file.stat().st_mtime_ns]
    with tree.holding("a.c", b"mutant"):
        assert file.read_bytes() == b"mutant"
        assert file.stat().st_mode & 0o777 == 0o640
        times.append(file.stat().st_mtime_ns)
        assert [path.name for path in tree.source.iterdir()] == ["a.c"]
    assert file.read_bytes() == b"one\ntwo\r\nthree"
    times.append(file.stat().st_mtime_ns)
    assert times == sorted(set(times))


@pytest.mark.parametrize("moment", ["before", "between", "after"])
def test_a_crash_at_any_moment_of_a_swap_is_undone(tree, moment, monkeypatch):
    """As it was left by a process that died: no code of its own ran any more."""

    class Died(BaseException):
        pass

    def die(*_: object) -> None:
        raise Died

    monkeypatch.setattr(BuildTree, "restore", lambda self: None)
    if moment == "before":
        monkeypatch.setattr(tree_module, "replace_text", die)
    elif moment == "between":
        monkeypatch.setattr(tree_module, "touch", die)
    with pytest.raises(Died), tree.holding("a.c", b"mutant"):
        die()
    monkeypatch.undo()
    again = BuildTree(tree.home, tree.origin)
    assert again.usable()
    assert (again.source / "a.c").read_bytes() == b"one\ntwo\r\nthree"
    assert again.usable()


def test_what_was_left_half_done_is_not_used(tree):
    assert tree.usable()
    tree.begin()
    assert not BuildTree(tree.home, tree.origin).usable()
    tree.end()
    assert tree.usable()
    shutil.rmtree(tree.build)
    assert not tree.usable()


def test_a_copy_that_is_stopped_is_not_used(tmp_path, tree):
    other = BuildTree(tmp_path / "other", tree.origin)
    other.make(lambda: False)
    assert not other.usable()


def test_symlinks_inside_lead_inside_of_the_copy(tmp_path):
    origin = tmp_path / "o"
    (origin / "d").mkdir(parents=True)
    (origin / "d/x").write_text("x")
    (origin / "absolute").symlink_to(origin / "d/x")
    (origin / "relative").symlink_to("d/x")
    (origin / "outside").symlink_to(tmp_path / "y")
    (origin / "d").chmod(0o500)
    tree = BuildTree(tmp_path / "home", origin)
    tree.make()
    assert (tree.source / "absolute").resolve() == tree.source / "d/x"
    assert tree.name_of("absolute") == tree.name_of("relative") == "d/x"
    assert tree.name_of(str(origin / "d/x")) == "d/x"
    for name in ("outside", "../o/../x", "/etc/passwd", "d", "none", "", "\0", "\ud800"):
        with pytest.raises(BuildTreeError, match=r"target\.source"):
            tree.name_of(name)


def test_a_source_that_is_too_large_is_refused_before_it_is_copied(tree, monkeypatch):
    monkeypatch.setattr(tree_module, "MAX_BYTES", 10)
    with pytest.raises(SupervisorError, match="too much for a private copy"):
        tree.make()
    assert not tree.usable()


LINE = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=8)
LINES = st.lists(LINE, min_size=1)


@given(LINES, LINE, st.data())
def test_one_line_changes_and_nothing_else(lines, after, data):
    ends = data.draw(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=len(lines),
                              max_size=len(lines)))  # fmt: skip
    at = data.draw(st.integers(0, len(lines) - 1))
    mutant = SourceMutant("i", "f", at + 1, "o", lines[at], after)
    before = "".join(a + b for a, b in zip(lines, ends, strict=True)).encode()
    expected = "".join(
        a + b for a, b in zip([*lines[:at], after, *lines[at + 1 :]], ends, strict=True)
    )
    assert mutated(before, mutant) == expected.encode()


@pytest.mark.parametrize(("line", "before"), [(1, "x"), (0, "one"), (9, "one"), (-1, "three")])
def test_a_line_that_is_another_now_is_refused(line, before):
    with pytest.raises(BuildTreeError, match="changed since"):
        mutated(b"one\ntwo\nthree", SourceMutant("i", "f", line, "o", before, "y"))


def test_bytes_that_are_no_text_are_kept():
    with pytest.raises(BuildTreeError, match="not text"):
        mutated(b"\xff", SourceMutant("i", "f", 1, "o", "\udcff", "\ud800"))
    mutant = SourceMutant("i", "f", 1, "o", "\udcff", "\udcfe")
    assert mutated(b"\xff\n\x80", mutant) == b"\xfe\n\x80"


# ------------------------------------------------------------------- twins, places, names


def test_the_first_of_a_class_is_named():
    digests = {"a": "1", "b": "2", "c": "1"}
    for mutant, digest, twin in (("d", "1", "a"), ("c", "1", "a"), ("a", "1", ""), ("d", "3", "")):
        assert duplicate_of(mutant, digest, digests, "0") == twin
    assert duplicate_of("d", "0", digests, "0") == "original"


def test_a_digest_is_of_the_files_in_their_order(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    one, two = digest_of([tmp_path / "a", tmp_path / "b"]), digest_of([tmp_path / "b"])
    assert len({one, two, digest_of([tmp_path / "b", tmp_path / "a"])}) == 3


def test_what_a_program_may_open_comes_along_and_objects_do_not(tmp_path):
    build = tmp_path / "build"
    (build / "CMakeFiles").mkdir(parents=True)
    names = ["prog", "x.o", "x.a", "data.bin", "libx.so.1.2", "CMakeFiles/y", "prog.cmplog"]
    for name in names:
        (build / name).write_text(name)
    (build / "libx.so").symlink_to("libx.so.1.2")
    os.mkfifo(build / "fifo")
    found = companions(build, [build / "prog", build / "prog.cmplog"])
    assert [path.name for path in found] == ["data.bin", "libx.so", "libx.so.1.2"]
    assert [path.name for path in shared_objects(build)] == ["libx.so", "libx.so.1.2"]
    into = tmp_path / "into"
    settle(build / "x.o", Path("build/prog"), tmp_path, found, into)
    assert (into / "build/prog").read_text() == "x.o"
    assert (into / "build/libx.so").readlink() == Path("libx.so.1.2")
    (into / "build/data.bin").write_text("a mutant's")
    assert (build / "data.bin").read_text() == "data.bin"


@given(st.binary(max_size=200), st.integers(0, 1 << 64), st.integers(0, 1 << 16))
def test_a_program_that_is_no_elf_file_is_only_copied(tmp_path_factory, data, table, count):
    directory = tmp_path_factory.mktemp("elf")
    head = b"\x7fELF\x02\x01".ljust(32, b"\0")
    whole = head + (table % (1 << 64)).to_bytes(8, "little") + b"\0" * 14
    whole += (56).to_bytes(2, "little") + (count % (1 << 16)).to_bytes(2, "little") + data
    for i, text in enumerate((whole, data)):
        (directory / "p").write_bytes(text)
        settle(directory / "p", Path("q"), directory, [], directory / str(i))
        assert (directory / str(i) / "q").read_bytes() == text


def product_in(tmp_path: Path, command: str, **more: str) -> Product:
    """Of a campaign whose source is in ``src``, and which builds in ``run/build``."""
    (tmp_path / "src").mkdir()
    lines = "".join(f"{key} = '{value}'\n" for key, value in more.items())
    (tmp_path / "c.toml").write_text(
        f"[campaign]\noutput = 'run'\n[target]\ncommand = '{command}'\nsource = 'src'\n"
        f"build = 'make'\n{lines}[engine]\nkind = 'afl'\n"
    )
    origin = BuildTree(tmp_path / "origin", tmp_path / "src")
    return Product(load(tmp_path / "c.toml").campaign, origin)


@pytest.mark.parametrize(
    ("command", "name"), [("sub/prog -x", "build/sub/prog"), ("{src}/p", "source/p")]
)
def test_a_program_is_at_its_own_place_in_every_tree(tmp_path, command, name):
    product = product_in(tmp_path, command.format(src=tmp_path / "src"))
    assert product.name == Path(name)
    other = BuildTree(tmp_path / "other", tmp_path)
    assert product.in_tree(other) == tmp_path / "other" / name


def test_a_program_is_told_apart_and_settled_with_its_libraries(tmp_path):
    product = product_in(tmp_path, "prog", cmplog="prog2")
    tree = BuildTree(tmp_path / "tree", tmp_path / "src")
    for directory in (tree.build, tree.source, tmp_path / "origin/source"):
        directory.mkdir(parents=True)
    for name in ("build/prog", "build/prog2", "build/libb.so", "source/libs.so", "source/old.so"):
        (tree.home / name).write_text(name)
    (tmp_path / "origin/source/old.so").touch()  # no build has made it
    digests = [product.digest(tree)]
    for name in ("build/prog", "build/libb.so", "source/libs.so"):
        (tree.home / name).write_text("another")
        digests.append(product.digest(tree))
    assert len(set(digests)) == 4
    for name in ("build/prog2", "source/old.so"):
        (tree.home / name).write_text("another")
        assert product.digest(tree) == digests[-1]
    into = tmp_path / "into"
    into.mkdir()
    (into / "left").touch()
    product.settle(tree.build / "prog", tree, into)
    found = {str(path.relative_to(into)) for path in into.rglob("*") if path.is_file()}
    assert found == {"build/prog", "build/libb.so", "source/libs.so"}


@pytest.mark.parametrize(
    ("status", "words"), [(None, "took more than 7 s"), (2, "exit status 2"), (0, "made no prog")]
)
def test_words_of_a_failed_build_and_its_log(tmp_path, status, words):
    log = tmp_path / "failed" / "m.log"
    outcome = ProcessResult(status, 7.2, b"cc x.c\n/private/source/x.c:1: error: \x1b]0;title\n")
    told = record_failure(log, outcome, Path("build/prog"), Path("/private/source"))
    assert words in told.splitlines()[0]
    assert any(line.startswith("  x.c:1: error: ") for line in told.splitlines())
    assert "\x1b" not in told
    assert (tmp_path / "failed/m.log").read_bytes() == outcome.output
    assert str(tmp_path / "failed/m.log") in told


def test_only_the_newest_logs_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(failed_module, "KEPT", 2)
    for i, name in enumerate("abc"):
        record_failure(tmp_path / f"{name}.log", ProcessResult(1, 0.1, b""), Path("p"), Path("s"))
        os.utime(tmp_path / f"{name}.log", (i, i))
    record_failure(tmp_path / "d.log", ProcessResult(1, 0.1, b""), Path("p"), Path("s"))
    assert {path.stem for path in tmp_path.iterdir()} == {"c", "d"}


@given(st.text(st.characters(exclude_categories=())))
def test_a_file_name_for_any_mutant(mutant):
    assert directory_name(mutant).isalnum()


# ------------------------------------------------------------------------- the whole of it


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
async def test_it_builds_with_whatever_afl_path_has(tmp_path):
    """Compilers that stand in for AFL++'s: what they leave in a program is not the same twice."""
    (tmp_path / "afl").mkdir()
    for name in ("afl-cc", "afl-c++"):
        script = tmp_path / "afl" / name
        script.write_text(
            '#!/bin/sh\n[ -n "${AFL_NOOPT-}" ] || set -- "$@" -DAFL="1$(date +%N)"\nexec cc "$@"\n'
        )
        script.chmod(0o700)
    (tmp_path / "run").mkdir()
    (tmp_path / "src").mkdir()
    line = "int main(void) { return AFL != 0 ? 3 : 4; }"
    (tmp_path / "src/x.c").write_text(f"#ifndef AFL\n#define AFL 1\n#endif\n{line}\n")
    (tmp_path / "c.toml").write_text(
        "[campaign]\noutput = 'run'\n[target]\ncommand = 'prog -x'\nsource = 'src'\n"
        "build = '$CC -o prog $SOURCE/x.c'\n[engine]\nkind = 'afl'\nafl_path = 'afl'\n"
    )
    builder = AflBackend(load(tmp_path / "c.toml").campaign, RunDir(tmp_path / "run"))
    told: list[str] = []
    await builder.prepare(told.append)
    assert builder.baseline.no_duplicates_because == ""

    async def build(after: str, mutant: str) -> tuple[str, str, tuple[str, ...]]:
        into = tmp_path / "run/mutants/built/b"
        made = await builder.build(SourceMutant(mutant, "x.c", 4, "o", line, after), into)
        assert into.exists() == bool(made.command)
        assert made.seconds > 0
        return made.duplicate_of, made.error.partition(":")[0], made.command

    program = str(tmp_path / "run/mutants/built/b/build/prog")
    assert await build(line.replace("3", "5"), "a/../#\0") == ("", "", (program, "-x"))
    assert await build(line.replace("3", "2+3"), "b") == ("a/../#\0", "", ())
    assert await build(line.replace("3", "1+2"), "c") == ("original", "", ())
    failed = ("", "the build failed with exit status 1", ())
    assert await build(line.replace("3", "\x1b[31m"), "d") == failed
    assert set(builder.digests) == {"a/../#\0", "b", "c"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("command = './x'", "target.build: missing"),
        ("command = '/usr/bin/env'\nbuild = 'true'", "cannot be built in a private copy"),
    ],
    ids=["no build", "a program of the system"],
)
async def test_words_where_nothing_can_be_built(tmp_path, target, why):
    (tmp_path / "run").mkdir()
    (tmp_path / "x").write_text("")
    (tmp_path / "x").chmod(0o700)
    (tmp_path / "c.toml").write_text(
        f"[campaign]\noutput = 'run'\n[target]\n{target}\nsource = 'run'\n[engine]\nkind = 'afl'\n"
    )
    builder = AflBackend(load(tmp_path / "c.toml").campaign, RunDir(tmp_path / "run"))
    with pytest.raises(SupervisorError, match=why):
        await builder.prepare(lambda words: None)

"""Mutants are checked by the compiler calls that were recorded of the build."""

import json
import os
import shutil

import pytest

from fuzztui.features.fuzzfirst.build_environment import Call
from fuzztui.features.fuzzfirst.build_tree import BuildTree, BuildTreeError
from fuzztui.features.fuzzfirst.compile_check import BuildCheck
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant


@pytest.mark.parametrize(
    ("line", "checked"),
    [
        ("-O2 -I inc -DX=1 -MMD -MF a.d -c -o a.o a.c", "-O2 -I inc -DX=1 -c a.c"),
        ("-o prog a.c b.c -L. -lx c.o d.a -std=c99", "-L. -lx -std=c99 a.c"),
        ("-x c++ -include k.h -E ../t/a.c", "-x c++ -include k.h ../t/a.c"),
        ("--coverage -Wp,-MD,a.d -save-temps -fdump-tree-all -c a.c", "-c a.c"),
        ("-MM -MT a.o -imacros m.h a.c", "-imacros m.h a.c"),
    ],
)
def test_what_remains_of_a_call(line, checked):
    call = Call("/t", tuple(line.split()), "afl-cc")
    assert next(call.sources()) == "/t/a.c"
    first, *words = call.checking("/t/a.c")
    assert first == "-fsyntax-only"
    assert sorted(words) == sorted(checked.split())


needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

MAIN = b'#include "own.h"\n#include <flags.h>\nint f(int a) { return a + OWN + FLAG + NAMED; }\n'
OTHER = b"int g(void) { return 2; }\n"
MAIN_WITHOUT = MAIN.replace(b"+ NAMED", b"+ (NAMED")


def compiles(check, name, text):
    """Whether a file compiles if its first line that differs is another."""
    before = {"src/a.c": MAIN, "src/own.h": b"#define OWN 1\n"}[name].decode().split("\n")
    number = next(n for n, line in enumerate(text.decode().split("\n")) if line != before[n])
    after = text.decode().split("\n")[number]
    return check.compiles(SourceMutant("", name, number + 1, "", before[number], after))


class Recorded:
    """A copy of a build's directories, with calls of ``cc``."""

    def __init__(self, place, *calls):
        self.place = place
        files = {"source/src/a.c": MAIN, "source/src/own.h": b"#define OWN 1\n"}
        files |= {
            "source/b.c": b"int g(void) { return 2; }\n",
            "build/flags.h": b"#define FLAG 1\n",
        }
        for name, text in files.items():
            (path := place / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
        (place / "build").mkdir()
        base = ["-fsyntax-only", "-I.", "../source/src/a.c"]
        rows = [
            {
                "file": "source/src/a.c",
                "cwd": str(place / "source/build"),
                "argv": ["cc", *c, *base],
            }
            for c in calls
        ]
        (place / "calls.json").write_text(json.dumps({"calls": rows}))

    def check(self):
        return BuildCheck(self.place, os.environ)


@needs_cc
def test_the_flags_and_the_directory_are_those_of_the_build(tmp_path):
    check = Recorded(tmp_path, ["-DNAMED=3"]).check()
    assert check.prepare("src/a.c", MAIN)
    assert compiles(check, "src/a.c", MAIN.replace(b"a + OWN", b"a - OWN"))
    assert not compiles(check, "src/a.c", MAIN_WITHOUT)
    assert not Recorded(tmp_path / "other", ["-DOTHER"]).check().prepare("src/a.c", MAIN)


@needs_cc
def test_a_file_that_is_compiled_twice_compiles_both_times(tmp_path):
    once = Recorded(tmp_path / "once", ["-DNAMED=3"]).check()
    twice = Recorded(tmp_path / "twice", ["-DNAMED=3"], ["-DNAMED=OWN"]).check()
    only_first = MAIN.replace(b"return a", b"int b[NAMED - 2]; return *b + a")
    for check, both in ((once, True), (twice, False)):
        assert check.prepare("src/a.c", MAIN)
        assert compiles(check, "src/a.c", MAIN.replace(b"+ NAMED", b""))
        assert compiles(check, "src/a.c", only_first) is both


@needs_cc
def test_a_header_is_checked_by_what_includes_it(tmp_path):
    check = Recorded(tmp_path, ["-DNAMED=3"]).check()
    assert check.prepare("src/own.h", b"#define OWN 1\n")
    assert compiles(check, "src/own.h", b"#define OWN -1\n")
    assert not compiles(check, "src/own.h", b"#define OWN (1\n")
    assert not check.prepare("b.c", OTHER)  # nothing was seen to read it
    assert not check.prepare("none.c", b"")


def test_calls_with_response_files_or_in_a_lost_directory_are_not_repeated(tmp_path):
    assert Call(str(tmp_path), ("-c", "a.c")).is_repeatable()
    assert not Call(str(tmp_path), ("-c", "a.c", "@more")).is_repeatable()
    assert not Call(str(tmp_path / "lost"), ("-c", "a.c")).is_repeatable()


@needs_cc
def test_no_file_outside_of_the_copy_is_written(tmp_path):
    check = Recorded(tmp_path / "copy", ["-DNAMED=3"]).check()
    users = tmp_path / "users" / "a.c"
    users.parent.mkdir()
    users.write_bytes(MAIN)
    (tmp_path / "copy/source/source/vendor").symlink_to(users.parent)
    inode = users.stat().st_ino
    for name in (str(users), "vendor/a.c", "../../../users/a.c"):
        assert not check.prepare(name, MAIN)
    tree = BuildTree(tmp_path / "copy", tmp_path / "copy")
    with pytest.raises(BuildTreeError, match="outside"), tree.holding("source/vendor/a.c", b""):
        pass
    assert (users.read_bytes(), users.stat().st_ino) == (MAIN, inode)


@needs_cc
def test_a_mutant_that_a_killed_check_left_is_taken_out(tmp_path, monkeypatch):
    recorded = Recorded(tmp_path, ["-DNAMED=3"])
    check = recorded.check()
    assert check.prepare("src/a.c", MAIN)
    with monkeypatch.context() as patched:
        patched.setattr(BuildTree, "restore", lambda self: None)
        assert not compiles(check, "src/a.c", MAIN_WITHOUT)
    assert (tmp_path / "source/source/src/a.c").read_bytes() == MAIN_WITHOUT
    again = recorded.check()
    assert (tmp_path / "source/source/src/a.c").read_bytes() == MAIN
    assert again.prepare("src/own.h", b"#define OWN 1\n")


def test_nothing_is_recorded(tmp_path):
    assert not BuildCheck(tmp_path / "none", os.environ).prepare("a.c", b"")

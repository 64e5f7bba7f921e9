"""Programs for AFL++, and builds that make one."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from fuzztui.tools.scaffold.native import (
    builds,
    instrumented_programs,
    is_instrumented,
    seed_folder,
    takes_file,
)

BUILDS = {
    "Makefile": ("all:\n\t$(CC) -o tool tool.c\n", "./tool"),
    "CMakeLists.txt": ("add_executable(tool a.c)\nadd_executable( tool_fuzz b.c)\n", "./tool_fuzz"),
    "meson.build": ("executable('tool', 'a.c')\n", "./tool"),
    "configure": ("#!/bin/sh\n", ""),
    "configure.ac": ("AC_INIT\n", ""),
}


@pytest.mark.parametrize("name", BUILDS)
def test_a_build_and_the_program_that_it_names(name, tmp_path):
    text, program = BUILDS[name]
    (tmp_path / name).write_text(text)
    assert list(builds(tmp_path)) == []  # there is no C source
    (tmp_path / "a.c").touch()
    (found,) = builds(tmp_path)
    assert (found.what, found.program) == (name, program)
    assert "$CC" in found.build or name == "meson.build"  # meson reads CC from the environment


def test_a_makefile_names_its_first_goal(tmp_path):
    (tmp_path / "a.c").touch()
    (tmp_path / "Makefile").write_text("all: tool other\ntool: a.c\n\t$(CC) -o $@ $<\n")
    (found,) = builds(tmp_path)
    assert found.program == "./tool"


def test_a_makefile_whose_goal_is_named_after_a_source(tmp_path):
    (tmp_path / "parse.c").touch()
    (tmp_path / "Makefile").write_text("CFLAGS := -g\nparse: parse.c\n\t$(CC) $< -o $@\n")
    (found,) = builds(tmp_path)
    assert found.program == "./parse"


def test_autotools_name_their_programs_in_makefile_am(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "Makefile.am").write_text("bin_PROGRAMS = tool\n")
    (tmp_path / "src" / "a.c").touch()
    (tmp_path / "configure.ac").touch()
    (tmp_path / "configure").touch()
    (found,) = builds(tmp_path)
    assert found.program == "./src/tool"


def test_seeds_of_a_project(tmp_path):
    assert seed_folder(tmp_path) == ""
    (tmp_path / "tests" / "data").mkdir(parents=True)
    assert seed_folder(tmp_path) == ""
    (tmp_path / "tests" / "data" / "a.png").write_bytes(b"x")
    assert seed_folder(tmp_path) == "tests/data"


def test_a_plain_program_is_not_instrumented(tmp_path):
    shutil.copy("/bin/true", tmp_path / "true")
    (tmp_path / "script").write_text("#!/bin/sh\n# __AFL_SHM_ID\n")
    (tmp_path / "script").chmod(0o755)
    assert list(instrumented_programs(tmp_path)) == []


@pytest.mark.parametrize("name", ["my prog", "it's", "$HOME", "-v"])
def test_a_program_of_any_name_is_one_word_of_a_command(name, tmp_path):
    (tmp_path / name).write_bytes(b"\x7fELF".ljust(64) + b"__AFL_SHM_ID")
    (tmp_path / name).chmod(0o755)
    (found,) = instrumented_programs(tmp_path)
    assert found.what == f"./{name}" and shlex.split(found.program) == [f"./{name}"]


def test_directories_that_cannot_be_listed_have_nothing(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "Makefile").write_text(BUILDS["Makefile"][0])
    (tmp_path / "seeds").mkdir()
    monkeypatch.setattr(Path, "iterdir", refuse)
    assert list(builds(tmp_path)) == [] and seed_folder(tmp_path) == ""


@pytest.mark.parametrize(("main", "program"), [("fopen(argv[1])", "./a @@"), ("stdin", "./a")])
def test_a_program_that_opens_its_argument_is_given_the_input_as_a_file(main, program, tmp_path):
    (tmp_path / "a.c").write_text(main)
    (tmp_path / "Makefile").write_text("a: a.c\n\t$(CC) -o $@ $<\n")
    (found,) = builds(tmp_path)
    assert found.program == program


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
@pytest.mark.parametrize("clean", ["", "clean:\n\trm -f a.o\n"])
def test_a_build_with_make_prints_no_error(clean, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.c").write_text("int main(void) { return 0; }\n")
    (source / "a.o").write_text("of another compiler")
    (source / "Makefile").write_text(f"a: a.c\n\t$(CC) -o $@ $<\n{clean}")
    (found,) = builds(source)
    (tmp_path / "build").mkdir()
    env = {**os.environ, "SOURCE": str(source), "CC": "true", "CXX": "true"}
    done = subprocess.run(
        ["sh", "-c", found.build],
        cwd=tmp_path / "build", env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert (tmp_path / "build" / "a.o").exists() != bool(clean)


CODE = """
#include <stdio.h>
int main(int argc, char **argv) {
  FILE *f = %s;
  if (!f) return 1;
  int c = fgetc(f), n = 0;
  while (c != EOF) {
    if (c == 'a') n += 2; else if (c > 'z') n++; else if (c == '{') n = 0;
    c = fgetc(f);
  }
  return n > 100;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("afl-cc"), reason="AFL++ is not installed")
@pytest.mark.parametrize(("opened", "file"), [("stdin", False), ('fopen(argv[1], "r")', True)])
def test_where_a_program_reads_its_input(opened, file, tmp_path):
    (tmp_path / "a.c").write_text(CODE % opened)
    subprocess.run(["afl-cc", "-o", "tool", "a.c"], cwd=tmp_path, check=True, capture_output=True)
    (found,) = instrumented_programs(tmp_path)
    assert found.program == "./tool"
    assert is_instrumented(tmp_path / "tool")
    subprocess.run(["strip", "tool"], cwd=tmp_path, check=True)
    assert is_instrumented(tmp_path / "tool")
    assert takes_file(tmp_path / "tool", [b"", b"a", b"{a}", b"~~"]) is file

"""Covered lines of programs with generated sources are those that gcov itself reports."""

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fuzztui.features.gcov.by_line import FirstEntries, first_entries
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(shutil.which(tool) is None for tool in ("gcc", "gcov", "flex", "bison")),
        reason="gcc, flex or bison is not installed",
    ),
]

SCANNER = """\
%{
#include "gram.h"
#include <stdlib.h>
static int depth(int by) { static int n; return n += by; }
%}
%option noyywrap nounput noinput
%%
[0-9]+      { yylval = atoi(yytext); return NUMBER; }
"("         { depth(1); return '('; }
")"         { depth(-1); return ')'; }
[ \\t]+      ;
"#".*       { if (yyleng > 3) depth(0); }
.|\\n        { return *yytext; }
"""
GRAMMAR = """\
%{
#include <stdio.h>
int yylex(void);
static void yyerror(const char *text) { (void)text; }
%}
%token NUMBER
%left '+' '-'
%%
input: | input line ;
line: '\\n' | sum '\\n' { if ($1 > 99) puts("large"); } | error '\\n' { yyerrok; } ;
sum: NUMBER
   | sum '+' sum { $$ = $1 + $3; }
   | sum '-' sum { $$ = $1 - $3; if ($$ < 0) puts("negative"); }
   | '(' sum ')' { $$ = $2; }
   ;
%%
"""
MAIN = """\
#include <stdio.h>
int yyparse(void);
extern FILE *yyin;
int main(int n, char **argv) {
    if (n < 2 || !(yyin = fopen(argv[1], "r"))) return 1;
    return yyparse();
}
"""
INPUTS = [b"1\n", b"2+3\n", b"(1-2)\n", b"# x\n\n", b"((\n1\n", b"99+9\n"]

BESIDE = """
bison -d -o gram.c $SOURCE/gram.y; flex -o scan.c $SOURCE/scan.l
$CC -g -I. -o calc $SOURCE/main.c gram.c scan.c
"""
"""Generated in the directory of the build."""

RENAMED = """
cd $SOURCE; bison -y -d gram.y; mv y.tab.c gram.c; mv y.tab.h gram.h; flex -t scan.l >scan.c
for one in main gram scan; do $CC -g -c $one.c; done
cd - >/dev/null; $CC -o calc $SOURCE/main.o $SOURCE/gram.o $SOURCE/scan.o
"""
"""Generated in the source, under other names than ``#line`` has."""

RELATIVE = """
cp -r $SOURCE lib; bison -d -o lib/gram.c lib/gram.y; flex -o lib/scan.c lib/scan.l
(cd lib; for one in main gram scan; do $CC -g -c $one.c; done; ar rc libcalc.a gram.o scan.o)
$CC -o calc lib/main.o lib/libcalc.a
"""
"""``#line`` is relative to another directory than that of the compiler."""


COPIED = r"""
cp -r $SOURCE lib; cd lib; bison -d -o gram.c gram.y; flex -o scan.c scan.l
sed -i 's#^.line \([0-9]*\) .\([a-z]*[.][ly]\).$#\#line \1 "../../lib/\2"#' gram.c scan.c
mkdir -p ../old/lib; cp gram.y scan.l ../old/lib
for one in main gram scan; do $CC -g -c $one.c; done; cd ..
$CC -o calc lib/main.o lib/gram.o lib/scan.o; cp calc gram; cp calc scan
"""
"""``#line`` is relative to a directory that is gone, of files that exist several times, next to
programs with the names of objects."""


def judged(build: str, source: Path, inputs: list[Path], place: Path) -> dict[str, dict[int, bool]]:
    """Whether each line was executed, by gcov's own text of an own build, by file name."""
    shutil.copytree(source, place / "source")
    (place / "build").mkdir()
    for left in (place / "source").rglob("*.gcno"):
        left.unlink()
    (place / "cc").write_text('#!/bin/sh\nexec gcc -w "$@" --coverage -O0\n')
    (place / "cc").chmod(0o700)
    env = {**os.environ, "CC": str(place / "cc"), "SOURCE": str(place / "source")}
    subprocess.run(["sh", "-eu", "-c", build], cwd=place / "build", env=env, check=True, timeout=60)
    for file in inputs:
        subprocess.run([place / "build/calc", file], capture_output=True, timeout=60, check=False)
    found: dict[str, dict[int, bool]] = {}
    for notes in place.rglob("*.gcno"):
        command = ["gcov", "--json-format", "--stdout", notes.name]
        report = subprocess.run(
            command, cwd=notes.parent, capture_output=True, check=True, timeout=60
        )
        for file in json.loads(report.stdout)["files"]:
            name = Path(file["file"]).name
            if name in ("y.tab.c", "<stdout>"):  # the file that was compiled has these lines
                name = notes.with_suffix(".c").name
            of = found.setdefault(name, {})
            for row in file["lines"]:
                number = row["line_number"]
                of[number] = of.get(number, False) or row["count"] > 0
    return found


def measured(tmp_path: Path, build: str, queue: list[Path]) -> FirstEntries:
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds/1").write_bytes(b"1\n")
    (tmp_path / "c.toml").write_text(
        f"[target]\ncommand = [\"./calc\", \"@@\"]\nsource = \"src\"\nbuild = '''{build}'''\n"
        'coverage = true\ncoverage_tool = "gcov"\n[engine]\nkind = "afl"\nseeds = ["seeds"]\n'
    )
    campaign = load(tmp_path / "c.toml").campaign
    run = RunDir(tmp_path / "runs/c")
    run.path.mkdir(parents=True)
    (first,) = asyncio.run(first_entries(campaign, run, [queue], lambda n: None))
    return first


@pytest.mark.parametrize(
    "build",
    [BESIDE, RENAMED, RELATIVE, COPIED],
    ids=["beside", "renamed", "relative", "copied"],
)
def test_lines_of_generated_sources_are_those_of_gcov(tmp_path: Path, build: str) -> None:
    source, queue = tmp_path / "src", tmp_path / "out/main/queue"
    source.mkdir()
    queue.mkdir(parents=True)
    for name, text in (("scan.l", SCANNER), ("gram.y", GRAMMAR), ("main.c", MAIN)):
        (source / name).write_text(text)
    files = [queue / f"id:{n:06d},time:{n},op:havoc" for n in range(len(INPUTS))]
    for file, data in zip(files, INPUTS, strict=True):
        file.write_bytes(data)
    # A build of the user's own, of which notes and objects are left in the source.
    (source / "old.c").write_text("int old(int n) {\n    return n ? 1 : 2;\n}\n")
    subprocess.run(["gcc", "--coverage", "-c", "old.c"], cwd=source, check=True, timeout=60)
    expected = judged(build, source, files, tmp_path / "judge")
    assert {"scan.l", "gram.y", "scan.c", "gram.c", "main.c"} == expected.keys()
    first = measured(tmp_path, build, files)
    lines = {
        Path(path).name: {n: n in first.lines.get(path, {}) for n in statements}
        for path, statements in first.statements.items()
    }
    assert lines == expected
    for path in first.statements:  # what is in the source is there, the rest in the build
        assert Path(path).is_file() or not Path(path).is_relative_to(source) or build == RENAMED


def test_a_build_may_declare_functions_of_the_c_library(tmp_path: Path) -> None:
    """As tests of a configure script do: what it finds out decides which program is built."""
    source, queue = tmp_path / "src", tmp_path / "out/main/queue"
    source.mkdir()
    queue.mkdir(parents=True)
    (source / "check.c").write_text("char fork(void);\nint main(void) {\n    return fork();\n}\n")
    (source / "main.c").write_text("int main(void) {\n    return 0;\n}\n")
    build = "$CC -fsyntax-only $SOURCE/check.c; $CC -o calc $SOURCE/main.c"
    first = measured(tmp_path, build, [])
    assert [Path(path).name for path in first.statements] == ["main.c"]

"""Mutants of real projects, built by the real AFL++: every way that a program comes about."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from skipped import needs_afl
from waiting import DEADLINE_S

from fuzztui.features.fuzzfirst import baseline as baseline_module
from fuzztui.features.fuzzfirst.backend import AflBackend
from fuzztui.features.fuzzfirst.build import Build, directory_name
from fuzztui.features.fuzzfirst.build_environment import sources_of
from fuzztui.features.fuzzfirst.ranking_process import main as rank
from fuzztui.features.fuzzfirst.reach import BuildReach
from fuzztui.features.fuzzfirst.source_mutants.generate import generate
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.identity import marked

pytestmark = [pytest.mark.slow, needs_afl("afl-cc")]

MAIN = """\
#include <stdio.h>
#include "lib.h"
int main(void) {
    int n = getchar();
    if (n == 'a') puts("letter");
    printf("%d\\n", twice(n) + LIMIT);
    return 0;
}
"""
LIB = """\
#include "lib.h"
int twice(int n) {
    int unused = n * 3;
    (void)unused;
    return n + n;
}
"""
HEADER = """\
#define LIMIT 1000
int twice(int n);
"""
PROJECT = {"main.c": MAIN, "lib.c": LIB, "lib.h": HEADER}
MAKEFILE = """\
prog: main.o libtwice.a
\t$(CC) -o $@ main.o -L. -ltwice
libtwice.a: lib.o
\trm -f $@; ar rc $@ lib.o
main.o: $(SOURCE)/main.c
\t$(CC) -O1 -c -o $@ $(SOURCE)/main.c
lib.o: $(SOURCE)/lib.c
\t$(CC) -O1 -c -o $@ $(SOURCE)/lib.c
"""


class Lab:
    """One campaign with a builder."""

    def __init__(self, home: Path, files: dict[str, str], build: str, **target: str) -> None:
        self.home, self.source, self.run = home, home / "src", home / "run"
        for name, text in files.items():
            path = self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.run.mkdir(exist_ok=True)
        more = "".join(f"{key} = '{value}'\n" for key, value in target.items() if key != "command")
        self.file = home / "c.toml"
        self.file.write_text(
            f'[campaign]\noutput = "run"\n[target]\ncommand = "{target.get("command", "prog")}"\n'
            f"source = 'src'\nbuild = '''{build}'''\n{more}[engine]\nkind = 'afl'\n"
        )
        self.told: list[str] = []
        self.builder = self.anew()
        self.count = 0

    def anew(self) -> AflBackend:
        self.builder = AflBackend(load(self.file).campaign, RunDir(self.run))
        return self.builder

    async def prepare(self) -> None:
        await self.builder.prepare(self.told.append)

    def mutant(self, file: str, before: str, after: str) -> SourceMutant:
        lines = (self.source / file).read_text().splitlines()
        line = next(i for i, text in enumerate(lines) if before in text)
        was = lines[line]
        now = was.replace(before, after)
        return SourceMutant(f"{file}#{before}>{after}", file, line + 1, "test", was, now)

    async def build(self, file: str, before: str, after: str) -> Build:
        self.count += 1
        return await self.builder.build(
            self.mutant(file, before, after), self.run / "mutants/built" / str(self.count)
        )

    def output(self, build: Build, given: str = "b") -> str:
        assert build.command, build
        environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
        done = subprocess.run(
            build.command, input=given, capture_output=True, text=True, check=False,
            timeout=DEADLINE_S, env=environment,
        )  # fmt: skip
        return done.stdout + done.stderr

    def instrumented(self, build: Build) -> bool:
        argv = ["afl-showmap", "-q", "-o", str(self.home / "map"), "--", *build.command]
        subprocess.run(argv, input=b"b", capture_output=True, check=False, timeout=DEADLINE_S)
        return bool((self.home / "map").read_bytes())

    def untouched(self) -> dict[str, bytes]:
        return {
            str(p.relative_to(self.source)): p.read_bytes()
            for p in self.source.rglob("*")
            if p.is_file()
        }


@pytest.fixture
def lab(tmp_path) -> Callable[..., Lab]:
    return lambda files, build, **target: Lab(tmp_path, files, build, **target)


@pytest.fixture
def prepared(lab) -> Callable[..., Awaitable[Lab]]:
    """``await prepared(files, build)``: a lab whose original is built."""

    async def make(files: dict[str, str], build: str, **target: str) -> Lab:
        made = lab(files, build, **target)
        await made.prepare()
        return made

    return make


async def all_kinds(made: Lab) -> None:
    """What has to hold however the program of PROJECT is built."""
    before = made.untouched()
    await made.prepare()
    assert not made.builder.baseline.no_duplicates_because
    main = await made.build("main.c", "'a'", "'b'")
    assert (main.duplicate_of, main.error) == ("", "")
    assert made.output(main) == "letter\n1196\n"
    assert made.instrumented(main)
    lib = await made.build("lib.c", "n + n", "n - n")
    assert made.output(lib) == "1000\n"
    header = await made.build("lib.h", "1000", "3000")
    assert made.output(header) == "3196\n"
    equal = await made.build("lib.c", "n * 3", "n * 4")
    assert (equal.duplicate_of, equal.command) == ("original", ())
    again = await made.build("lib.c", "return n + n", "return n * 0")
    assert (again.duplicate_of, again.command) == ("lib.c#n + n>n - n", ())
    broken = await made.build("main.c", "getchar();", "getchar()")
    assert broken.command == ()
    assert broken.duplicate_of == ""
    assert "main.c:4:22: error: expected ';'" in broken.error
    assert str(made.run / "mutants/work/failed") in broken.error
    assert made.output(await made.build("main.c", "LIMIT", "1")) == "197\n"
    assert made.untouched() == before


MAKE = 'make -f $SOURCE/Makefile CC="$CC"'
COPIES = 'cp -r "$SOURCE"/. . && $CC -O1 -c *.c && $CC -o prog *.o'
LISTS = (
    "cmake_minimum_required(VERSION 3.5)\nproject(x C)\nset(CMAKE_BUILD_TYPE Release)\n"
    "add_library(twice STATIC lib.c)\nadd_executable(prog main.c)\n"
    "target_link_libraries(prog twice)\n"
)
no_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")


@pytest.mark.parametrize(
    ("more", "build", "command"),
    [
        ({}, "$CC -O1 -o prog $SOURCE/main.c $SOURCE/lib.c -lm", "prog"),
        ({"Makefile": MAKEFILE}, MAKE, "prog"),
        ({"Makefile": MAKEFILE.replace("$(SOURCE)/", "")},
         'make -C "$SOURCE" CC="$CC"', "../../src/prog"),
        ({}, COPIES, "prog"),
        ({}, "afl-clang-fast -O1 -o prog $SOURCE/main.c $SOURCE/lib.c", "prog"),
        pytest.param({"CMakeLists.txt": LISTS}, 'cmake "$SOURCE" && cmake --build .', "prog",
                     marks=no_cmake),
    ],
    ids=["one line", "archive that forgets headers", "in the source", "copies the source",
         "AFL's compiler by name", "cmake"],
)  # fmt: skip
async def test_builds(lab, more, build, command):
    await all_kinds(lab(PROJECT | more, build, command=command))


async def test_a_makefile_compiles_only_what_changed(prepared):
    made = await prepared(PROJECT | {"Makefile": MAKEFILE}, MAKE)
    for room in made.builder.baseline.environments():
        assert {Path(name).name for name in sources_of(room.calls)} == {"main.c", "lib.c"}
    await made.build("main.c", "LIMIT", "1")
    for room in made.builder.baseline.environments():
        assert {Path(name).name for name in sources_of(room.calls)} == {"main.c"}


async def test_a_library_that_is_found_by_its_run_path(lab):
    made = lab(
        PROJECT,
        "mkdir -p l; $CC -O1 -shared -fPIC -o l/libtwice.so $SOURCE/lib.c\n"
        '$CC -O1 -o prog $SOURCE/main.c -Ll -ltwice -Wl,-rpath,"$PWD/l"; echo data > l/data',
    )
    await all_kinds(made)
    first = await made.build("lib.c", "n + n", "n + 5")
    await made.build("lib.c", "n + n", "n + 6")
    assert made.output(first) == "1103\n"
    assert (Path(first.command[0]).parent / "l/data").read_text() == "data\n"


async def test_a_library_that_is_made_in_the_source(lab):
    command = """cd $SOURCE; $CC -O1 -shared -fPIC -o libtwice.so lib.c
$CC -O1 -o "$OLDPWD/prog" main.c -L. -ltwice -Wl,-rpath,"$SOURCE" """
    made = lab(PROJECT, command)
    await all_kinds(made)
    first = await made.build("lib.c", "n + n", "n + 5")
    await made.build("lib.c", "n + n", "n + 6")
    assert made.output(first) == "1103\n"


async def test_blanks_in_every_path(tmp_path):
    home = tmp_path / "a b'c"
    home.mkdir()
    made = Lab(home, PROJECT, '$CC -O1 -o prog "$SOURCE"/main.c "$SOURCE"/lib.c')
    await all_kinds(made)


async def test_a_build_that_hides_its_compiler_has_no_twins_but_is_right(prepared):
    build = MAKE.replace("$CC", shutil.which("afl-cc"))
    made = await prepared(PROJECT | {"Makefile": MAKEFILE}, build)
    assert "does not compile with $CC" in made.builder.baseline.no_duplicates_because
    for file, before, after, output in (
        ("main.c", "LIMIT", "1", "197\n"),
        ("lib.h", "1000", "3000", "3196\n"),
        ("lib.c", "n * 3", "n * 4", "1196\n"),
    ):
        build = await made.build(file, before, after)
        assert made.output(build) == output


async def test_cpp_in_persistent_mode_with_a_sanitizer(prepared):
    text = """\
#include <unistd.h>
#include <iostream>
#include <vector>
__AFL_FUZZ_INIT();
int main() {
    __AFL_INIT();
    unsigned char *input = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(10)) {
        std::vector<int> v(4);
        if (__AFL_FUZZ_TESTCASE_LEN > 0 && input[0] == 'b') std::cout << v.data()[3] << "\\n";
    }
}
"""
    command = "AFL_USE_ASAN=1 $CXX -O1 -std=c++17 -o prog $SOURCE/x.cpp"
    made = await prepared({"x.cpp": text}, command)
    assert not made.builder.baseline.no_duplicates_because
    build = await made.build("x.cpp", "[3]", "[4]")
    assert "heap-buffer-overflow" in made.output(build)
    # Without a sanitizer these would be one program: it tells where in the line it was.
    assert (await made.build("x.cpp", "(4)", "(2 + 2)")).duplicate_of == "original"


async def test_a_harness_of_libfuzzer(prepared):
    text = (
        "#include <stdlib.h>\n#include <stddef.h>\n"
        "int LLVMFuzzerTestOneInput(const unsigned char *d, size_t n) {\n"
        "    if (n > 2 && d[0] == 'x') abort();\n    return 0;\n}\n"
    )
    made = await prepared({"x.c": text}, "$CC -O1 -fsanitize=fuzzer -o prog $SOURCE/x.c")
    build = await made.build("x.c", "'x'", "'b'")
    assert (build.error, made.builder.baseline.no_duplicates_because) == ("", "")
    assert made.instrumented(build)
    assert (await made.build("x.c", "n > 2", "2 < n")).duplicate_of == "original"


async def test_the_run_may_be_inside_of_the_source(tmp_path):
    (tmp_path / "c.toml").write_text(
        '[campaign]\noutput = "runs/now"\n[target]\ncommand = "prog"\n'
        "build = '$CC -o prog $SOURCE/x.c'\n[engine]\nkind = 'afl'\n"
    )
    (tmp_path / "x.c").write_text("int main(void) { return 1; }\n")
    run = tmp_path / "runs/now"
    other = tmp_path / "runs/other"
    for name in ("campaign.toml", "supervisor", "log", "out"):
        (other / name).mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/etc/passwd")
    run.mkdir()
    builder = AflBackend(load(tmp_path / "c.toml").campaign, RunDir(run))
    await builder.prepare(lambda words: None)
    copy = run / "mutants/work/base/source"
    assert sorted(p.name for p in copy.iterdir()) == ["c.toml", "link", "runs", "x.c"]
    assert (copy / "link").readlink() == Path("/etc/passwd")
    assert list((copy / "runs").iterdir()) == []
    line = "int main(void) { return 1; }"
    for file in ("x.c", str(tmp_path / "x.c")):
        mutant = SourceMutant("x.c#x", file, 1, "o", line, line.replace("1", "2"))
        assert (await builder.build(mutant, run / "b")).command == (str(run / "b/build/prog"),)
    for file in ("../x.c", "/etc/passwd", "link", "fifo", "."):
        mutant = SourceMutant("x", file, 1, "o", line, line.replace("1", "2"))
        assert "target.source" in (await builder.build(mutant, run / "b")).error
    mutant = SourceMutant("x", "x.c", 1, "o", "something else", "x")
    assert "has changed since" in (await builder.build(mutant, run / "b")).error


async def test_a_start_goes_on_where_the_last_one_ended(prepared):
    made = await prepared(
        PROJECT | {"Makefile": MAKEFILE}, 'echo x >> ../count; make -f $SOURCE/Makefile CC="$CC"'
    )
    first = await made.build("main.c", "'a'", "'b'")
    await made.build("lib.c", "n + n", "n - n")
    digests = dict(made.builder.digests)
    assert set(digests) == {"main.c#'a'>'b'", "lib.c#n + n>n - n"}
    shutil.rmtree(made.source)  # the run has all that it needs
    (made.source).mkdir()
    for name, text in PROJECT.items():
        (made.source / name).write_text(text)
    count = made.run / "mutants/work/base/count"
    builds = count.read_text()
    made.anew().digests |= digests
    await made.prepare()
    assert sum("copying" in words for words in made.told) == 1
    assert count.read_text() == builds
    assert (await made.build("main.c", "'a'", "98")).duplicate_of == "main.c#'a'>'b'"
    assert (
        await made.build("lib.c", "return n + n", "return n * 0")
    ).duplicate_of == "lib.c#n + n>n - n"
    own = await made.build("main.c", "'a'", "'b'")  # it is no twin of its own
    assert made.output(own) == made.output(first)


async def test_a_run_of_an_earlier_version_goes_on_with_its_source(prepared):
    made = await prepared(PROJECT, "$CC -O1 -o prog $SOURCE/main.c $SOURCE/lib.c")
    work = made.run / "mutants/work"
    state = json.loads((work / "state.json").read_text())
    original = state.pop("original")
    state |= {"slow": "", "originals": {"fast": original}}
    (work / "state.json").write_text(json.dumps(state))
    (work / "fast-base").mkdir()
    (made.source / "main.c").write_text("int main(void) { return 9; }\n")  # the run has its own
    made.anew().digests |= {"earlier": original}
    await made.prepare()
    assert not (work / "fast-base").exists()
    mutant = SourceMutant("m", "main.c", 5, "test", "    if (n == 'a') puts(\"letter\");", "")
    assert made.output(await made.builder.build(mutant, made.run / "b")) == "1196\n"


@pytest.mark.parametrize("file", ["main.c", "lib.c"])
async def test_a_build_may_be_cancelled_at_any_moment(prepared, file):
    made = await prepared(PROJECT | {"Makefile": MAKEFILE}, MAKE)
    change = {"main.c": ("LIMIT", "1"), "lib.c": ("n + n", "n - n")}[file]
    other = {"main.c": ("'a'", "'b'"), "lib.c": ("return n", "return 7 + n")}[file]
    for pause in (0, 0.03, 0.1, 0.3, 0.6, 1.0):
        task = asyncio.create_task(made.build(file, *change))
        await asyncio.sleep(pause)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert marked(made.run) == []
        for tree in (made.run / "mutants/work" / n / "source" for n in ("origin", "plain", "base")):
            if (tree.parent / "unfinished").exists():
                continue
            assert (tree / file).read_bytes() == (made.source / file).read_bytes()
    expected = {"main.c": "letter\n1196\n", "lib.c": "1203\n"}[file]
    assert made.output(await made.build(file, *other)) == expected


async def test_a_mutant_that_was_left_in_by_a_crash_is_taken_out(prepared):
    made = await prepared(PROJECT, "$CC -O1 -o prog $SOURCE/main.c $SOURCE/lib.c")
    tree = made.builder.baseline._environment("base").tree
    holding = tree.holding("main.c", b"#error left\n")
    holding.__enter__()
    assert (tree.source / "main.c").read_bytes() == b"#error left\n"
    keep = dict(holding.gen.gi_frame.f_locals)
    made.anew()
    await made.prepare()
    assert keep
    assert (tree.source / "main.c").read_text() == MAIN
    assert made.output(await made.build("lib.c", "n + n", "n - n")) == "1000\n"


async def test_a_crash_in_the_middle_of_a_build_is_got_over(prepared):
    made = await prepared(PROJECT, COPIES)
    for name in ("base", "plain"):
        tree = made.builder.baseline._environment(name).tree
        tree.begin()
        (tree.build / "main.o").write_text("half of it")
    mutant = made.mutant("main.c", "LIMIT", "1")
    for file in made.source.iterdir():
        file.unlink()
    await made.anew().prepare(made.told.append)
    build = await made.builder.build(mutant, made.run / "b")
    assert made.output(build) == "197\n"
    assert not made.builder.baseline.no_duplicates_because


async def test_a_build_without_end_is_ended_with_all_its_processes(prepared, monkeypatch):
    monkeypatch.setattr(baseline_module, "MIN_LIMIT_S", 10.0)
    monkeypatch.setattr(baseline_module, "TIMES_BASELINE", 0)
    command = """\
$CC -o prog $SOURCE/x.c
if grep -q HANG $SOURCE/x.c; then setsid sleep 600 & sleep 600; fi
if grep -q TALK $SOURCE/x.c; then yes error: much | head -c 100000000; exit 3; fi
if grep -q FORK $SOURCE/x.c; then setsid sleep 600 & fi
cp prog p2"""
    text = "int main(void) {\n/* hang */\n/* talk */\n/* fork */\nreturn 0;\n}\n"
    made = await prepared({"x.c": text}, command, command="p2")
    hangs = await made.build("x.c", "hang", "HANG")
    assert "took more than 10 s" in hangs.error
    assert marked(made.run) == []
    monkeypatch.setattr(baseline_module, "MIN_LIMIT_S", DEADLINE_S)  # these end
    talks = await made.build("x.c", "talk", "TALK")
    assert "exit status 3" in talks.error
    logs = list((made.run / "mutants/work/failed").iterdir())
    assert sorted(log.stem for log in logs) == sorted(
        directory_name(f"x.c#{a}>{a.upper()}") for a in ("hang", "talk")
    )
    assert all(log.stat().st_size <= 1 << 20 for log in logs)
    forks = await made.build("x.c", "fork", "FORK")
    assert forks.duplicate_of == "original"
    assert marked(made.run) == []


async def test_a_target_that_does_not_build_is_refused_in_words(lab):
    made = lab({"x.c": "int main(void) {\n"}, "$CC -o prog $SOURCE/x.c")
    with pytest.raises(SupervisorError, match=r"(?s)target.build: .*exit status.*error: expected"):
        await made.prepare()
    made = lab({"x.c": "int main(void) {}\n"}, "$CC -o other $SOURCE/x.c")
    with pytest.raises(SupervisorError, match="made no prog"):
        await made.prepare()


def mutating(made: Lab, *sources: str) -> None:
    """The campaign's mutants are of these files."""
    text = made.file.read_text().replace("[campaign]\n", '[campaign]\nbudget = "1h"\n')
    made.file.write_text(f"{text}[mutants]\nsources = {list(sources)}\n")
    made.anew()


@pytest.mark.parametrize("compiler", ["$CC", "afl-clang-fast"])
async def test_a_build_that_does_not_use_the_copy_is_refused(lab, compiler):
    made = lab(PROJECT, f"{compiler} -O1 -o prog ABOVE/main.c ABOVE/lib.c")
    made.file.write_text(made.file.read_text().replace("ABOVE", str(made.source)))
    mutating(made, "main.c", "lib.c")
    words = r"does not compile main.c, lib.c from \$SOURCE.*name the file as \$SOURCE/main.c"
    for _ in range(2):
        with pytest.raises(SupervisorError, match=words):
            await made.anew().prepare(made.told.append)


async def test_a_build_that_only_copies_the_copy_uses_it(lab):
    made = lab(PROJECT, "cp -r $SOURCE/. . && $CC -O1 -o prog main.c lib.c")
    mutating(made, "main.c")
    await made.prepare()
    assert "checking that target.build compiles the copy of the source" in made.told
    assert made.output(await made.build("main.c", "LIMIT", "1")) == "197\n"


async def test_two_builds_at_once_wait_for_each_other(prepared):
    made = await prepared(PROJECT, "$CC -O1 -o prog $SOURCE/main.c $SOURCE/lib.c")
    one, two = await asyncio.gather(
        made.build("main.c", "LIMIT", "1"), made.build("main.c", "LIMIT", "2")
    )
    assert (made.output(one), made.output(two)) == ("197\n", "198\n")


@pytest.mark.skipif(shutil.which("ccache") is None, reason="ccache is not installed")
async def test_ccache_has_what_did_not_change(prepared):
    command = (
        "export AFL_USE_ASAN=1; for f in main lib; do $CC -O1 -c $SOURCE/$f.c; done\n"
        "ar rc x.a main.o lib.o; $CC -o prog -Wl,--whole-archive x.a -Wl,--no-whole-archive"
    )
    made = await prepared(PROJECT, command)
    assert not any("ccache is not used" in words for words in made.told)
    build = await made.build("main.c", "LIMIT", "1")
    assert made.output(build) == "197\n"
    assert made.instrumented(build)
    stats = subprocess.run(
        ["ccache", "--print-stats"], capture_output=True, text=True, check=True,
        env=os.environ | {"CCACHE_DIR": str(made.run / "mutants/work/ccache")},
    ).stdout  # fmt: skip
    hits = [
        int(line.split()[1]) for line in stats.splitlines() if line.startswith("direct_cache_hit")
    ]
    assert hits[0] >= 1


# -------------------------------------------------------------------- the compile check

FLAGGED = {
    "core/parse.c": """\
#include "own.h"
#include "public.h"
#include "made.h"
#ifndef REQUIRED
#error REQUIRED is not defined
#endif
int parse(int n) {
    int limit = n + REQUIRED;
    for (int i = 0; i < 3; i++) limit += OWN + MADE;
    return limit > PUBLIC ? limit : n;
}
""",
    "core/own.h": "#define OWN 2\n",
    "include/public.h": "#define PUBLIC 10\nint parse(int n);\n",
    "core/main.c": """\
#include <stdio.h>
#include "public.h"
int main(void) {
    while (__AFL_LOOP(10)) printf("%d\\n", parse(getchar()));
    return 0;
}
""",
}
STRICT = (
    'echo "#define MADE 5" > made.h\n'
    'cd "$SOURCE/core"\n'
    'for name in parse main; do $CC -std=c99 -Wall -Werror -I../include -I"$OLDPWD" '
    '-DREQUIRED=4 -c -o "$OLDPWD/$name.o" "$name.c"; done\n'
    'cd "$OLDPWD" && $CC -o prog parse.o main.o -lm'
)


def ranked(made: Lab, capsys: pytest.CaptureFixture[str]) -> list[dict]:
    """What the ranking process prints."""
    (reach := made.home / "reach.json").write_text(json.dumps(BuildReach().to_json()))
    backend = made.builder
    sources = json.dumps(backend.sources)
    rank([str(made.file), str(backend.tree), sources, str(reach), str(backend.checks)])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def with_sources(made: Lab, *sources: str) -> None:
    """Name the files whose mutants are wanted."""
    text = made.file.read_text().replace("[campaign]\n", '[campaign]\nbudget = "1h"\n')
    made.file.write_text(f"{text}[mutants]\nsources = {json.dumps(sources)}\n")
    made.anew()


async def test_what_is_ranked_builds_and_what_is_rejected_does_not(lab, capsys):
    made = lab(FLAGGED, STRICT)
    with_sources(made, "core/parse.c:8-10")
    await made.prepare()
    said = ranked(made, capsys)
    assert {"ready": []} in said
    good = {row["mutant"]["id"]: SourceMutant(**row["mutant"]) for row in said if "mutant" in row}
    every = generate(made.source / "core/parse.c", name="core/parse.c", lines=[8, 9, 10]).mutants
    bad = [mutant for mutant in every if mutant.id not in good]
    assert said[-1]["figures"]["rejected"] == len(bad)
    assert min(len(good), len(bad)) > 10
    for number, mutant in enumerate([*list(good.values())[::9], *bad[::9]]):
        built = await made.builder.build(mutant, made.run / f"b{number}")
        assert bool(built.error) == (mutant.id not in good), (mutant, built.error)


async def test_the_check_is_the_same_after_a_restart_and_while_a_mutant_is_built(lab, capsys):
    made = lab(FLAGGED, STRICT)
    with_sources(made, "core/parse.c:8", "core/own.h")
    await made.prepare()
    first = ranked(made, capsys)
    files = {row["mutant"]["file"] for row in first if "mutant" in row}
    assert files == {"core/parse.c", "core/own.h"}
    made.anew()
    await made.prepare()
    for environment in made.builder.baseline.environments():
        shutil.rmtree(environment.tree.build)
        with environment.tree.holding("core/own.h", b"not C"):
            assert ranked(made, capsys) == first


async def test_a_file_that_cannot_be_checked_is_named_and_the_others_are_checked(lab, capsys):
    flagged = LIB.replace("n * 3", "n * THREE")
    files = PROJECT | {"lib.c": flagged, "odd.c": "int odd = UNKNOWN;\n"}
    made = lab(files, COPIES.replace("*.c", "-DTHREE=3 main.c lib.c"))
    with_sources(made, "lib.c:3", "odd.c")
    await made.prepare()
    said = ranked(made, capsys)
    (note,) = next(row["ready"] for row in said if "ready" in row)
    assert "mutants of odd.c are ranked without a compile check" in note
    assert said[-1]["figures"]["rejected"] > 0  # of lib.c, whose copy needs -DTHREE

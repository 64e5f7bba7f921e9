"""What AFL++ has saved, run again for real: compiled targets, gdb, sanitizers, afl-tmin."""

import asyncio
import re
import shutil
import subprocess
from functools import partial

import pytest
from commands import commands
from homes import FUZZTUI, compiled
from waiting import DEADLINE_S

from fuzztui.features.minimise.handlers import Minimiser
from fuzztui.features.minimise.program_inputs import minimise
from fuzztui.features.minimise.rewrite import Search
from fuzztui.kernel.wire.commands import Minimise
from fuzztui.run.campaign import load, write_frozen
from fuzztui.run.campaign.rundir import RunDir, SupervisorError, prepare_run
from fuzztui.run.process.execute import children
from fuzztui.run.triage.afl import examine_file
from fuzztui.run.triage.gdb import LOOKS, hang_stacks
from fuzztui.run.triage.program import TargetProgram
from fuzztui.run.triage.sandbox import open_sandbox

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("afl-cc") and shutil.which("gdb")), reason="afl++ or gdb is missing"
    ),
]

QUIET = Search(lambda *_: None, 900.0)

SOURCE = r"""
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define KEEP __attribute__((noinline))
static char b[4096];
static int n;
KEEP int null_read(char *p) { return *(volatile int *)(p - (long)p); }
KEEP int other_null(char *p) { return *(volatile int *)(p - (long)p) + 1; }
KEEP int divide(int by) { volatile int zero = by - by; return 7 / zero; }
KEEP int down(volatile char *p);
KEEP int deeper(volatile char *p) { char c[99]; c[3] = p[1]; return down(c) + c[3]; }
KEEP int down(volatile char *p) { char c[9]; c[1] = p[1]; return deeper(c) + c[1]; }
KEEP int overflow(void) { char *q = malloc(4); memcpy(q, b, n + 4); return q[n]; }
KEEP void freed_twice(void) { char *volatile q = malloc(4); free(q); free(q); }
KEEP int step(volatile int *x) { return (*x)++; }
KEEP void spin(void) { volatile int x = 0; for (;;) step(&x); }
KEEP void give_up(void) { abort(); }
KEEP void claim(void) { assert(n == 77); }
int main(int argc, char **argv) {
  FILE *f = argc > 1 ? fopen(argv[1], "r") : stdin;
  n = fread(b, 1, sizeof b, f);
  if (n < 1) return 0;
  switch (b[0]) {
  case 'n': return null_read(b);
  case 'm': return other_null(b);
  case 'z': return divide(b[1]);
  case 'd': return down(b);
  case 'o': return overflow();
  case 'D': freed_twice(); break;
  case 'a': give_up(); break;
  case 'c': claim(); break;
  case 'l': spin(); break;
  case 's': usleep(300000); break;
  case 'p': { static char x[1 << 20]; for (int i = 0; i < 256; i++) write(2, x, sizeof x); } break;
  case 'k': if (!fork()) { setsid(); sleep(1000); } break;
  case 't': signal(SIGTERM, SIG_IGN); for (;;) pause();
  case 'j': ((void (*)(void))(long)(n - 1))(); break;
  case 'M': { volatile char *q = malloc(300 << 20); q[0] = 1; } break;
  }
  puts("fine");
  return 3;
}
"""

EVIL = r"""
void evil(volatile int *p) __asm__("\"evil\033[31m[/x]\342\200\256\"");
__attribute__((noinline)) void evil(volatile int *p) { *p = 1; }
int main(int argc, char **argv) { evil((volatile int *)(long)(argc - 1)); return 0; }
"""

PERSISTENT = r"""
#include <unistd.h>
__AFL_FUZZ_INIT();
#define KEEP __attribute__((noinline))
KEEP void crash_here(unsigned char *b) { if (b[0] == 'n') *(volatile int *)0 = 1; }
int main() {
  __AFL_INIT();
  unsigned char *buf = __AFL_FUZZ_TESTCASE_BUF;
  while (__AFL_LOOP(1000)) { if (__AFL_FUZZ_TESTCASE_LEN > 0) crash_here(buf); }
  return 0;
}
"""

HARNESS = r"""
#include <stddef.h>
#include <stdint.h>
#define KEEP __attribute__((noinline))
KEEP void other_crash(const uint8_t *b) { if (b[0] == 'n') *(volatile int *)0 = 1; }
int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { if (n) other_crash(d); return 0; }
"""


@pytest.fixture(scope="session")
def zoo(tmp_path_factory):
    """``zoo / "g"``: with symbols; n: stripped, asan, persistent, harness, plain: no AFL++."""
    home = tmp_path_factory.mktemp("zoo")

    def compile_it(name, source, *flags, compiler="afl-cc", **env):
        compiled(home, source, "-O1", *flags, compiler=compiler, name=name, **env)

    compile_it("g", SOURCE, "-g")
    compile_it("n", SOURCE, "-s")
    compile_it("asan", SOURCE, "-g", AFL_USE_ASAN="1")
    compile_it("plain", SOURCE, "-g", compiler="cc")
    compile_it("slow", SOURCE.replace("switch", "usleep(50000); switch"), "-g")
    compile_it("evil", EVIL, compiler="cc")
    compile_it("persistent", PERSISTENT, "-g", compiler="afl-clang-fast")
    compile_it("harness", HARNESS, "-g", "-fsanitize=fuzzer", compiler="afl-clang-fast")
    return home


@pytest.fixture
def campaign(tmp_path, zoo):
    def make(name, *arguments, target="", engine="", timeout="0.5s"):
        command = ", ".join(f"'{word}'" for word in (str(zoo / name), *arguments))
        file = tmp_path / "c.toml"
        file.write_text(
            f'[campaign]\noutput = "run"\n[target]\ncommand = [{command}]\ntimeout = "{timeout}"\n'
            f'env = {{ AFL_HANG_TMOUT = "200" }}\n{target}\n[engine]\nkind = "afl"\n{engine}\n'
        )
        loaded = load(file)
        prepare_run(loaded.campaign.output)
        write_frozen(loaded, loaded.campaign.output)
        return loaded.campaign

    return make


@pytest.fixture
def verdict(campaign):
    """``verdict("g", b"n")``: what comes of that input under that target."""

    def run(name, data, *arguments, category="crash", **kwargs):
        subject = TargetProgram.of(campaign(name, *arguments, **kwargs))
        found = asyncio.run(examine_file(subject, category, data, sig=11))
        assert children() == set()
        assert len(found.detail) <= 8192
        return found

    return run


@pytest.mark.parametrize("argument", [(), ("@@",)])
@pytest.mark.parametrize(
    ("data", "title", "place"),
    [
        (b"n", "SIGSEGV in null_read", "g.c:11 in null_read"),
        (b"z1", "SIGFPE in divide", "g.c:13 in divide"),
        (b"a", "SIGABRT in give_up", "g.c:21 in give_up"),
        (b"c", "SIGABRT in claim: Assertion `n == 77' failed.", "g.c:22 in claim"),
        (b"d", "SIGSEGV in deeper: endless recursion", "in deeper"),
        (b"D", "SIGABRT in freed_twice", "g.c:18 in freed_twice"),
    ],
)
def test_gdb_finds_the_place(verdict, data, title, place, argument):
    found = verdict("g", data, *argument)
    assert (found.title, found.place) == (title, place)
    assert "#0" in found.detail


@pytest.mark.parametrize(
    ("data", "title", "place"),
    [
        (b"n", "SEGV in null_read (READ)", "asan.c:11 in null_read"),
        (b"o", "heap-buffer-overflow in overflow (WRITE)", "asan.c:17 in overflow"),
        (b"z1", "FPE in divide", "asan.c:13 in divide"),
        (b"D", "double-free in freed_twice", "asan.c:18 in freed_twice"),
        (b"c", "SIGABRT in claim: Assertion `n == 77' failed.", "asan.c:22 in claim"),
    ],
)
def test_asan_finds_the_place(verdict, data, title, place):
    # A limit of memory would leave no room for ASan's shadow.
    found = verdict("asan", data, target='memory = "200MiB"')
    assert (found.title, found.place) == (title, place)


@pytest.mark.parametrize("name", ["g", "n", "asan"])
def test_one_group_a_bug(verdict, name):
    groups = {
        bug: {verdict(name, bug + tail).signature for tail in (b"", b"x", b"\xff" * 300)}
        for bug in (b"n", b"m", b"d", b"z")
    }
    assert [len(signatures) for signatures in groups.values()] == [1] * 4
    assert len(set.union(*groups.values())) == 4


def test_a_stripped_program_has_places_too(verdict):
    found = verdict("n", b"n")
    assert found.title.startswith("SIGSEGV in n+0x")


def test_a_jump_to_nowhere(verdict):
    assert verdict("g", b"j").title == "SIGSEGV in main"


def test_memory_is_limited_as_afl_does(verdict):
    assert verdict("g", b"M", target='memory = "100MiB"').title.startswith("SIGSEGV in main")
    assert verdict("g", b"M").ended


def test_without_gdb_edges_tell_crashes_apart(verdict, tmp_path, monkeypatch):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "nice", "env", "afl-showmap"):
        (tools / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tools))
    null, other = verdict("g", b"n"), verdict("g", b"m")
    assert null.title == other.title == "SIGSEGV"
    assert null.signature != other.signature
    assert null.signature == verdict("g", b"nnn").signature
    assert "gdb is not installed" in null.detail
    assert verdict("harness", b"n").title == "SIGSEGV"
    (tools / "afl-showmap").unlink()
    assert "afl-showmap is missing" in verdict("g", b"n").detail


@pytest.mark.parametrize(
    ("name", "place"), [("persistent", "crash_here"), ("harness", "other_crash")]
)
def test_harnesses_run_alone(verdict, name, place):
    assert verdict(name, b"n").title == f"SIGSEGV in {place}"
    assert verdict(name, b"x").ended


def test_hangs(verdict):
    found = verdict("g", b"l", category="hang")
    assert found.title in ("no end within 1 s in spin", "no end within 1 s in step")
    assert verdict("g", b"t", category="hang").title == "no end within 1 s in main"
    slow = verdict("g", b"s", category="hang", timeout="10s").title
    after = re.fullmatch(r"ended after (\d+\.\d) s when run again", slow)
    assert after and float(after[1]) >= 0.3
    assert verdict("g", b"n", category="hang").title == "SIGSEGV in null_read"


def test_a_hang_is_looked_at_several_times(campaign):
    async def job():
        with open_sandbox(TargetProgram.of(campaign("g")), b"l") as place:
            return await hang_stacks(place, 1.0)

    stacks = asyncio.run(job())
    assert len(stacks) == LOOKS
    assert all(any(f.name == "spin" for f in stack.frames) for stack in stacks)


def test_targets_that_misbehave(verdict, zoo):
    assert verdict("g", b"p").ended  # prints 256 MiB
    assert verdict("g", b"k").ended  # leaves a child behind
    assert str(zoo) not in commands()


def test_nothing_in_the_targets_directory_is_executed(verdict, zoo, tmp_path):
    proof = tmp_path / "proof"
    for name in (".gdbinit", "g-gdb.gdb", ".gdbearlyinit"):
        (zoo / name).write_text(f"shell touch {proof}\n")
    (zoo / "g-gdb.py").write_text(f"open('{proof}', 'w')\n")
    try:
        assert verdict("g", b"n", target=f"cwd = '{zoo}'").title == "SIGSEGV in null_read"
    finally:
        for file in (*zoo.glob(".gdb*"), *zoo.glob("g-gdb.*")):
            file.unlink()
    assert not proof.exists()


def test_names_of_functions_are_harmless(verdict):
    found = verdict("evil", b"x")
    assert found.title == "SIGSEGV in evil\\e[31m[/x]\\u202e"
    assert "\x1b" not in found.detail + found.place + found.stack


# --------------------------------------------------------------------------- minimise and repro


def finding(campaign, data, folder="crashes", name="id:000000,sig:11"):
    file = campaign.output / "out/main" / folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


@pytest.mark.parametrize(
    ("name", "arguments", "engine"),
    [("g", (), ""), ("g", ("@@",), ""), ("asan", (), ""), ("harness", (), ""),
     ("persistent", (), ""), ("plain", (), 'extra_args = ["-n"]')],
)  # fmt: skip
def test_minimise(campaign, name, arguments, engine):
    made = campaign(name, *arguments, engine=engine)
    home = RunDir(made.output)
    finding(made, b"n" + b"filling " * 50)
    told = []
    words = asyncio.run(
        Minimiser(home, partial(minimise, made, home), 900.0).minimise(
            Minimise("crashes/id:000000,sig:11", "main"), lambda *heard: told.append(heard)
        )
    )
    result = home.path / "minimised/main/id:000000,sig:11"
    assert words == f"401 -> 1 byte: {result}"
    assert result.read_bytes() == b"n"
    assert result.stat().st_mode & 0o777 == 0o600
    assert any("bytes left" in words for words, _ in told)
    assert all("\x1b" not in words for words, _ in told)


def test_minimise_a_hang(campaign):
    made = campaign("g")
    file = finding(made, b"lxxxxxxx", "hangs")
    output = made.output / "out.min"
    words = asyncio.run(minimise(made, RunDir(made.output), file, output, QUIET))
    assert words.startswith("8 -> 1 byte")
    assert output.read_bytes() == b"l"


def test_afl_tmin_that_is_stopped_leaves_the_smallest_so_far(campaign):
    made = campaign("slow")
    file, output = finding(made, b"n" + b"filling " * 50), made.output / "small"
    told = []

    async def shorten(stop):
        home = RunDir(made.output)
        return await minimise(
            made, home, file, output, Search(lambda *heard: told.append(heard), 900.0, stop)
        )

    def got_somewhere():
        return any(re.search(r" (\d|\d\d) of 401 bytes left", words) for words, _ in told)

    words = asyncio.run(shorten(got_somewhere))
    assert words.endswith("; stopped: more may be possible")
    assert 1 < len(output.read_bytes()) < 401
    with pytest.raises(SupervisorError, match="stopped before"):
        asyncio.run(shorten(lambda: True))


def test_what_cannot_be_minimised(campaign, zoo):
    made = campaign("g")
    home = RunDir(made.output)

    def why(file, campaign=made):
        with pytest.raises(SupervisorError) as e:
            asyncio.run(minimise(campaign, home, file, home.path / "small", QUIET))
        return str(e.value)

    assert why(finding(made, b"x")).startswith("cannot minimise: did not crash again")
    assert "afl-tmin: " in why(finding(made, b"n"), campaign("plain"))
    assert not (home.path / "small").exists()
    other = zoo / "gone"
    shutil.copy(zoo / "g", other)
    gone = campaign("gone")
    other.unlink()
    assert "no longer exists" in why(finding(made, b"n"), gone)


def fuzztui(*words, code):
    done = subprocess.run(
        [FUZZTUI, *map(str, words)], capture_output=True, timeout=DEADLINE_S, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout.decode(), done.stderr.decode()


def test_repro_on_the_command_line(campaign, tmp_path):
    made = campaign("g")
    file = finding(made, b"n")
    out, err = fuzztui("repro", made.output, file, code=10)
    assert "fuzztui: SIGSEGV in null_read (g.c:11 in null_read)" in err
    assert "#0" in out
    line = next(line for line in out.splitlines() if line.startswith("command: "))
    done = subprocess.run(
        ["/bin/sh", "-c", line.partition(": ")[2]], capture_output=True, check=False
    )
    assert done.returncode in (139, -11)
    file.parent.rename(file.parent.with_name("crashes.2026-01-01-00:00:00"))
    fuzztui("repro", made.output, "main/crashes/id:000000,sig:11", code=10)
    fuzztui("repro", made.output, file, code=10)
    out, err = fuzztui("repro", made.output, finding(made, b"x", "queue", "id:000000"), code=0)
    assert out.startswith("fine\n")
    assert "ended with exit status 3" in err
    out, err = fuzztui("repro", made.output, finding(made, b"l", "hangs", "id:000000"), code=10)
    assert "no end within 1 s" in err
    out, err = fuzztui("repro", made.output, finding(made, b"p", "queue", "id:000000"), code=0)
    assert "the rest of the output is left out" in out
    assert len(out) < 5 << 20
    fuzztui("repro", made.output, "nothing", code=2)
    mutants = made.output / "mutants" / "slots" / "m7" / "out" / "m7" / "crashes" / "id:000000"
    mutants.parent.mkdir(parents=True)
    mutants.write_bytes(b"x")  # the target has nothing against it, and never had
    out, err = fuzztui("repro", made.output, mutants, code=0)
    assert "ended with exit status 3" in err
    assert "this was the original; crashes/id:000000 is of m7, with a mutant" in err
    assert "again" not in err
    mutants.write_bytes(b"n")
    out, err = fuzztui("repro", made.output, mutants, code=10)
    assert "fuzztui: SIGSEGV in null_read" in err


def test_minimise_on_the_command_line(campaign, tmp_path):
    made = campaign("g")
    finding(made, b"nnnnnnnn")
    name = "main/crashes/id:000000,sig:11"
    out, _ = fuzztui("minimise", made.output, name, code=0)
    assert out.startswith("8 -> 1 byte: ")
    out, _ = fuzztui("minimise", made.output, name, "-o", tmp_path / "small", code=0)
    assert (tmp_path / "small").read_bytes() == b"n"
    _, err = fuzztui("minimise", made.output, finding(made, b"x"), code=1)
    assert "cannot minimise" in err

"""Which functions a real program has, and which lines its seeds execute."""

import asyncio
import shutil

import pytest

from fuzztui.features.fuzzfirst.reach import BuildReach, python_functions, reach_by_gcov
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError, prepare_run

SOURCE = """\
#include <stdlib.h>
#include <unistd.h>
static int deep(int c) {
    if (c == 'z')
        return 7;
    return 0;
}
static void dies(void) {
    abort();
}
__AFL_FUZZ_INIT();
int main(void) {
    __AFL_INIT();
    unsigned char *b = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(1000)) {
        int n = __AFL_FUZZ_TESTCASE_LEN;
        if (n > 1 && b[0] == 'd')
            deep(b[1]);
        if (n > 1 && b[0] == '!')
            dies();
    }
    return 0;
}
"""
BUILD = "$CC -O2 -c $SOURCE/a.c -o a.o && $CC a.o -o prog"

has_afl = pytest.mark.skipif(shutil.which("afl-fuzz") is None, reason="afl++ is not installed")


def reach(tmp_path, source, seeds, build=BUILD):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.c").write_text(source)
    (tmp_path / "c.toml").write_text(
        f"""
[campaign]
budget = "1h"
output = "{tmp_path}/run"
[target]
command = ["./prog"]
source = "src"
build = "{build}"
[engine]
kind = "afl"
[mutants]
sources = ["a.c"]
covered = true
"""
    )
    campaign = load(tmp_path / "c.toml").campaign
    prepare_run(campaign.output)
    files = []
    for number, data in enumerate(seeds):
        files.append(tmp_path / f"seed{number}")
        files[-1].write_bytes(data)
    home = RunDir(campaign.output)
    home.mutants.mkdir()
    return asyncio.run(reach_by_gcov(campaign, home, tmp_path / "src", files))


@pytest.mark.slow
@has_afl
def test_what_seeds_execute(tmp_path):
    found = reach(tmp_path, SOURCE, [b"dx"])
    assert [name for name, *_ in found.functions["a.c"]] == ["deep", "dies", "main"]
    assert {4, 6, 18} <= found.lines["a.c"]
    assert not {5, 9, 20} & found.lines["a.c"]
    assert found.function_of("a.c", 5) == "deep"
    assert found.wants("a.c", 4, ["de*"], covered=True)
    assert not found.wants("a.c", 5, ["de*"], covered=True)
    assert found.wants("a.c", 5, ["deep"], covered=False)
    assert not found.wants("a.c", 1, ["deep"], covered=False)
    assert BuildReach.from_json(found.to_json()) == found


@pytest.mark.slow
@has_afl
def test_a_seed_that_crashes_has_executed_lines_too(tmp_path):
    assert 9 in reach(tmp_path, SOURCE, [b"!x"]).lines["a.c"]


@pytest.mark.slow
@has_afl
def test_a_libfuzzer_harness(tmp_path):
    source = """\
int LLVMFuzzerTestOneInput(const unsigned char *b, unsigned long n) {
    if (n && *b == 'x')
        return 1;
    return 0;
}
"""
    found = reach(tmp_path, source, [b"x"], "$CC -fsanitize=fuzzer $SOURCE/a.c -o prog")
    assert {2, 3} <= found.lines["a.c"]
    assert 4 not in found.lines["a.c"]


@pytest.mark.slow
@has_afl
def test_what_gcc_cannot_build_is_said(tmp_path):
    with pytest.raises(SupervisorError, match="gcc --coverage failed"):
        reach(tmp_path, "int main(void) { syntax error }\n", [])


def test_functions_of_python():
    source = (
        "class A:\n    @property\n    def f(self):\n        def g():\n            pass\n\nx = 1\n"
    )
    found = BuildReach({"a.py": python_functions(source)})
    assert found.function_of("a.py", 2) == "A.f"
    assert found.function_of("a.py", 5) == "A.f.g"
    assert found.function_of("a.py", 7) == ""
    assert found.wants("a.py", 5, ["g"], covered=False)
    assert not found.wants("a.py", 7, ["*"], covered=False)

"""Stacks of real programs by gdb: their files, and the frame that names a finding."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from fuzztui.run.triage.examine import examine_input
from fuzztui.run.triage.program import TargetProgram
from fuzztui.run.triage.sandbox import open_sandbox

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("gdb") is None or shutil.which("gcc") is None,
        reason="gdb or gcc is not installed",
    ),
]

PARSE = """\
#include <stdio.h>
#include <stdlib.h>
void parse(const char *text) {
    char out[8];
    if (text[0] == 'a')
        abort();
    if (text[0] == 'p')
        snprintf(out, atoi(text + 1), "%s", (char *)1);
}
"""
MAIN = """\
#include <stdio.h>
void parse(const char *);
int main(void) {
    char data[99] = "";
    if (fgets(data, 99, stdin)) parse(data);
    return 0;
}
"""


def examined(program: Path, data: bytes):
    target = TargetProgram(
        (str(program),), {}, None, 0, 1.0, "input", (), blind=True, afl_path=""
    )  # fmt: skip
    with open_sandbox(target, data) as place:
        return asyncio.run(examine_input(place))


@pytest.mark.parametrize("options", [["-O1"], ["-O2", "-D_FORTIFY_SOURCE=2"], ["-O1", "-static"]])
def test_the_frame_of_the_program_names_the_finding_and_has_its_path(tmp_path, options):
    source, build = tmp_path / "src", tmp_path / "build"
    source.mkdir()
    build.mkdir()
    (source / "parse.c").write_text(PARSE)
    (source / "main.c").write_text(MAIN)
    gcc = ["gcc", "-g", "-w", *options, "-o", "t", "../src/main.c", "../src/parse.c"]
    subprocess.run(gcc, cwd=build, check=True, timeout=60)
    for data, line in ((b"a", 6), (b"p900", 8)):
        found = examined(build / "t", data)
        assert found.title.endswith(" in parse")
        assert found.place == f"parse.c:{line} in parse"
        (frame,) = [row for row in found.frames if row["function"] == "parse"]
        assert (frame["file"], frame["line"]) == (str(source / "parse.c"), line)


INLINED = """\
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#define INLINE static inline __attribute__((always_inline))
INLINE int deref(const char *at) { return *(const int *)(long)at[1]; }
INLINE int field(const char *at) { return deref(at); }
INLINE void fail(const char *at) { if (at[1] == 'A') abort(); assert(at[1] != 'B'); }
__attribute__((noinline)) int parse(const char *at) {
    if (at[0] == 'I') fail(at);
    return at[0] == 'D' ? field(at) : 0;
}
int main(void) {
    char data[99] = "";
    return fgets(data, 99, stdin) ? parse(data) & 1 : 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_finding_in_an_inlined_function_is_named_by_it_also_by_asan(tmp_path, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "t.c").write_text(INLINED)
    found = []
    for name, options in (("plain", []), ("asan", ["-fsanitize=address"])):
        command = [compiler, "-g", "-O2", "-w", *options, "-o", name, "t.c"]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
        found.append([examined(tmp_path / name, data) for data in (b"DA", b"IA", b"IB")])
    for of in found:
        assert [result.place for result in of] == [
            "t.c:5 in deref", "t.c:7 in fail", "t.c:7 in fail",
        ]  # fmt: skip
        assert "Assertion `at[1] != 'B'' failed" in of[2].title
    # ASan reports abort() itself: its stack makes the same group as gdb's.
    assert [r.signature for r in found[0][1:]] == [r.signature for r in found[1][1:]]
    assert all("AddressSanitizer" in result.detail and not result.stack for result in found[1])

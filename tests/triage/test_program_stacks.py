"""Stacks of real programs by gdb: their files, and the frame that names a finding."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from fuzztui.triage.examine import examine_other
from fuzztui.triage.program import TargetProgram
from fuzztui.triage.sandbox import open_sandbox

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
        return asyncio.run(examine_other(place))


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

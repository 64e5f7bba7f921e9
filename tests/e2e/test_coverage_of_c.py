"""Lines and functions of a C target are those that gcov and llvm-cov report themselves."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from skipped import needs_afl
from waiting import DEADLINE_S

from fuzztui.kernel.base.text import visible

pytestmark = [pytest.mark.slow, needs_afl()]

ODD = "odd: it's \\e \x1b[31m.c"
FILES = {
    "util.h": """\
#define LARGEST(a, b) ((a) > (b) ? (a) : (b))
#define DEFINE(name, by) static int name(int n) { \\
    if (n > 100) return 0; \\
    return n * by; }
static inline int clamp(int n) {
    if (n < 0)
        return 0;
    return n > 9 ? 9 : n;
}
static inline int unused(int n) {
    return n;
}
""",
    "main.c": """\
#include "util.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int parse(const char *text, int n);
int odd(int n);
DEFINE(twice, 2)
DEFINE(thrice, 3)
static void help(void) {
    puts("help");
    exit(2);
}
int main(int argc, char **argv) {
    char text[65] = "";
    FILE *file = fopen(argv[1], "rb");
    if (!file)
        help();
    int n = fread(text, 1, 64, file);
    fclose(file);
    if (n > 1 && text[0] == 'c')
        abort();
    while (text[0] == 'h')
        ;
    switch (text[0]) {
    case 'p': return parse(text + 1, n - 1);
    case 'o': return odd(n);
    case 't': printf("%d", twice(n)); break;
    case 'z': printf("%d", LARGEST(n, thrice(n))); break;
    default: puts("other");
    }
    return clamp(-n);
}
""",
    "parse.c": """\
#include "util.h"
static int digit(char c) {
    return c >= '0' && c <= '9';
}
static int help(int n) {
    return clamp(n);
}
static int deep(const char *text) {
    int sum = 0;
    for (int i = 0; i < 50; i++) {
        sum += digit(text[i]) ? text[i] - '0' : 0;
        if (sum > 40)
            break;
    }
    return sum;
}
static int never_called(int n) {
    return n > 3 ? deep("1") : 2;
}
int parse(const char *text, int n) {
    int sum = 0;
    if (n > 20)
        return deep(text);
    for (int i = 0; i < n; i++)
        if (digit(text[i]))
            sum += help(text[i] - '0');
    if (sum == 77)
        return never_called(sum);
    return sum > 5;
}
""",
    ODD: """\
#include "util.h"
int odd(int n) {
    if (n % 2)
        return clamp(n);
    else
        return LARGEST(n, 3);
}
int odd_never(int n) {
    return odd(n) + 1;
}
""",
}
ENTRIES = (
    b"p", b"p12", b"p999999", b"o", b"oo", b"zz", b"tt", b"crash", b"hang", b"x", b"\xff\0",
    b"p" + b"8" * 30,
)  # fmt: skip
BUILD = """\
cp -r "$SOURCE/." .
for file in *.c; do $CC -g -O2 -c "$file" -o "${file%.c}.o"; done
$CC -o prog *.o
"""
CAMPAIGN = """\
[campaign]
name = "c"
budget = "3s"
seed = 1
[target]
command = ["./prog", "@@"]
source = "src"
build = '''
%s'''
coverage_tool = "%s"
timeout = "100ms"
[engine]
kind = "afl"
seeds = ["seeds"]
"""
LLVM = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("clang", "llvm-profdata", "llvm-cov")),
    reason="clang or llvm is not installed",
)
TOOLS = ["gcov", pytest.param("llvm-cov", marks=LLVM)]


def run(command: list[str], place: Path, **more: str) -> str:
    done = subprocess.run(
        command, cwd=place, env={**os.environ, **more}, capture_output=True, timeout=DEADLINE_S,
        check=True,
    )  # fmt: skip
    return done.stdout.decode(errors="replace")


class Judge:
    """One tool, by hand: lines (covered or not) by file, and functions by file and name."""

    def __init__(self, place: Path, queue: list[Path]) -> None:
        self.place = place
        self.lines: dict[str, dict[int, bool]] = {}
        self.calls: dict[tuple[str, str], int] = {}
        self.of_lines: dict[tuple[str, str], tuple[int, int]] = {}
        place.mkdir()
        for name, text in FILES.items():
            (place / name).write_text(text)
        self.build()
        for file in queue:
            command = ["timeout", "-s", "KILL", "1", place / "prog", file]
            env = {**os.environ, "LLVM_PROFILE_FILE": str(place / "%p.profraw")}
            subprocess.run(
                command, cwd=place, env=env, capture_output=True, timeout=DEADLINE_S, check=False
            )
        self.read()

    def build(self) -> None:
        raise NotImplementedError

    def read(self) -> None:
        raise NotImplementedError


class GcovJudge(Judge):
    def build(self) -> None:
        for name in FILES:
            if name.endswith(".c"):
                run(["gcc", "--coverage", "-O0", "-c", name], self.place)
        run(["gcc", "--coverage", "-o", "prog", *(f.name for f in self.place.glob("*.o"))],
            self.place)  # fmt: skip

    def read(self) -> None:
        for notes in sorted(self.place.glob("*.gcno")):
            name = ""
            for line in run(["gcov", "-b", "-t", notes.name], self.place).splitlines():
                if match := re.match(r"\s+-:\s+0:Source:(.*)", line):
                    name = match[1]
                elif match := re.match(r"function (\S+) called (\d+) ", line):
                    key = name, match[1]
                    self.calls[key] = self.calls.get(key, 0) + int(match[2])
                elif match := re.match(r"\s*([^:]+):\s*(\d+):", line):
                    count, number = match[1].strip(), int(match[2])
                    if count != "-" and number:
                        of = self.lines.setdefault(name, {})
                        of[number] = of.get(number, False) or count not in ("#####", "=====")
            source = f"{notes.stem}.c"
            report = run(["gcov", "-f", "-n", notes.name], self.place)
            for function, share, count in re.findall(
                r"Function '(.*)'\nLines executed:([\d.]+)% of (\d+)", report
            ):
                ran = round(float(share) * int(count) / 100)
                self.of_lines[source, function] = ran, int(count)


class LlvmJudge(Judge):
    def build(self) -> None:
        flags = ["-fprofile-instr-generate", "-fcoverage-mapping", "-O0"]
        run(["clang", *flags, "-o", "prog", *(n for n in FILES if n.endswith(".c"))], self.place)

    def read(self) -> None:
        raw = [file.name for file in self.place.glob("*.profraw")]
        run(["llvm-profdata", "merge", "-o", "all.profdata", *raw], self.place)
        profile = "-instr-profile=all.profdata"
        for name in FILES:
            show = ["llvm-cov", "show", "prog", profile, "-show-instantiations=false", name]
            for line in run(show, self.place).splitlines():
                if (match := re.match(r"\s*(\d+)\|\s*([^|\s]+)\|", line)) is not None:
                    self.lines.setdefault(name, {})[int(match[1])] = match[2] != "0"
            report = run(
                ["llvm-cov", "report", "prog", profile, "-show-functions", name], self.place
            )
            for line in report.splitlines():
                if re.match(r"\S.*\d+\.\d\d%", line) and not line.startswith("TOTAL"):
                    words = line.split()
                    function = words[-10].rpartition(":")[2]
                    total, missed = map(int, words[-6:-4])
                    self.of_lines[name, function] = total - missed, total
        whole = json.loads(run(["llvm-cov", "export", "prog", profile], self.place))
        for row in whole["data"][0]["functions"]:
            key = Path(row["filenames"][0]).name, row["name"].rpartition(":")[2]
            self.calls[key] = self.calls.get(key, 0) + row["count"]


JUDGES = {"gcov": GcovJudge, "llvm-cov": LlvmJudge}


def started(home, tool, files=FILES):
    (home.path / "src").mkdir()
    for name, text in files.items():
        (home.path / "src" / name).write_text(text)
    (home.path / "seeds").mkdir()
    (home.path / "seeds" / "one").write_bytes(b"p1")
    (home.path / "c.toml").write_text(CAMPAIGN % (BUILD, tool))
    home(str(home.path / "c.toml"), "--headless", code=None)
    found = home.path / "runs" / "c"
    queue = found / "out" / "main" / "queue"
    for old in queue.glob("id:*"):
        old.unlink()
    for n, data in enumerate(ENTRIES):
        (queue / f"id:{n:06d},time:{n}").write_bytes(data)
    return found, sorted(queue.glob("id:*"))


@pytest.mark.parametrize("tool", TOOLS)
def test_lines_and_functions_are_those_of_the_tool_itself(home, tmp_path, tool):
    found, queue = started(home, tool)
    judge = JUDGES[tool](tmp_path / "judge", queue)
    options = ("--root", str(home.path / "src"))
    data = json.loads(home("coverage", str(found), "--format", "json", *options))
    assert "the program was killed on 2 of them" in home.stderr
    files = data["files"]
    lines = {
        name: {n: n in f["executed_lines"] for n in f["executed_lines"] + f["missing_lines"]}
        for name, f in files.items()
    }
    assert lines.keys() == {name for name, of in judge.lines.items() if name in FILES}
    assert lines == {name: judge.lines[name] for name in lines}
    functions = [(name, f) for name, file in files.items() for f in file["functions"]]
    calls: dict[tuple[str, str], int] = {}
    for name, f in functions:
        calls[name, f["name"]] = calls.get((name, f["name"]), 0) + f["calls"]
        assert f["entered"] == (f["calls"] > 0)
    assert calls == {key: n for key, n in judge.calls.items() if key[0] in FILES}
    never = {f["name"] for _, f in functions if not f["entered"]}
    assert {"never_called", "odd_never"} <= never
    for name, f in functions:
        # Functions of a header are in several objects, which the tools list one by one.
        if name != "util.h":
            own = f["executed"], f["statements"]
            assert own == judge.of_lines[name, f["name"]], (name, f["name"])
    # Conditions with a branch that was never taken; behind the check of the sum is a function.
    text = FILES["parse.c"].splitlines()
    frontier = {text[row["line"] - 1].strip(): row for row in data["frontier"]
                if row["file"] == "parse.c"}  # fmt: skip
    assert frontier["if (sum == 77)"]["behind"] >= 2
    # The other exports have the same.
    lcov = home("coverage", str(found), "--format", "lcov", *options)
    for record in lcov.split("end_of_record\n")[:-1]:
        (name,) = [n for n in files if f"SF:{visible(n)}\n" in record]
        rows = re.findall(r"^DA:(\d+),(\d+)$", record, re.M)
        assert {int(n): count != "0" for n, count in rows} == lines[name]
        assert len(re.findall("^FNDA:", record, re.M)) == len(files[name]["functions"])
        assert len(re.findall("^BRDA:", record, re.M)) == len(files[name]["branches"])
    table = home("coverage", str(found), "--functions", *options)
    assert re.search(r"never_called +0 +\d +never  parse\.c:\d+", table)
    one = json.loads(home("coverage", str(found), "--format", "json", "--entry", "3", *options))
    assert {f["name"] for f in one["files"][ODD]["functions"] if f["entered"]} == {"odd"}
    grown = json.loads(home("coverage", str(found), "--format", "json", "--over-time", *options))
    assert grown["over_time"][-1][2] == data["totals"]["covered_lines"]
    home("report", str(found), "--coverage", "-o", str(home.path / "page.html"))
    page = (home.path / "page.html").read_text()
    assert "never_called" in page
    source = json.loads(home("report", str(found), "--coverage", "--format", "json"))["source"]
    missed = {Path(name).name: file["missed_lines"] for name, file in source.items()}
    assert missed == {name: file["missing_lines"] for name, file in files.items()}
    assert not [*found.glob("supervisor/bench/*")], "no build is left behind"


def test_what_is_gone_or_broken_is_named(home):
    found, _ = started(home, "auto")
    (home.path / "src" / "parse.c").write_text('#include "gone.h"\n')
    home("coverage", str(found), code=1)
    assert "gone.h" in home.stderr
    assert "fatal error" in home.stderr
    (home.path / "src" / "parse.c").write_text(FILES["parse.c"])
    # An input that kills the program wrote no counts: nothing is known of it.
    home("coverage", str(found), "--entry", "7", code=1)
    assert "killed on 1 input" in home.stderr
    shutil.rmtree(home.path / "src")
    home("coverage", str(found), code=1)
    assert "target.source" in home.stderr
    assert not [*found.glob("supervisor/bench/*")]


def test_a_missing_tool_is_named_with_its_package(home, tmp_path):
    found, _ = started(home, "gcov")
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for file in Path(folder).glob("*"):
            link = tools / file.name
            if not link.exists() and "gcov" not in file.name and "llvm-profdata" not in file.name:
                link.symlink_to(file)
    home.env["PATH"] = str(tools)
    home("coverage", str(found), code=1)
    assert "gcov is not installed (Debian: apt install build-essential)" in home.stderr

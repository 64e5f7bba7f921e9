"""The covered lines of a C target, in the log and by line, are those of gcov on the same queue."""

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from commands import commands
from homes import covered
from skipped import needs_afl
from waiting import DEADLINE_S

pytestmark = [pytest.mark.slow, needs_afl()]

SAMPLES = Path(__file__).parents[2] / "sample_campaigns"
CAMPAIGN = """\
[campaign]
name = "crate"
budget = "12s"
seed = 1
[target]
command = ["./crate", "@@"]
source = "src"
build = "$CC -g -O1 -o crate $SOURCE/{file}"
coverage = true
coverage_tool = "gcov"
[engine]
kind = "afl"
seeds = ["seeds"]
"""


def by_gcov(source, inputs, folder):
    """Covered lines, and those that are not, by an own build and gcov's text."""
    folder.mkdir()
    build = ["gcc", "--coverage", "-O0", "-o", "judge", str(source)]
    subprocess.run(build, cwd=folder, check=True, timeout=DEADLINE_S)
    for file in inputs:
        judge = [folder / "judge", file]
        subprocess.run(judge, cwd=folder, capture_output=True, timeout=DEADLINE_S, check=False)
    (notes,) = folder.glob("*.gcno")
    subprocess.run(
        ["gcov", notes.name], cwd=folder, capture_output=True, check=True, timeout=DEADLINE_S
    )
    ran, not_ran = set(), set()
    for line in (folder / f"{source.name}.gcov").read_text().splitlines():
        count, number = (part.strip() for part in line.split(":")[:2])
        if re.fullmatch(r"[\d.]+[kM]?\*?", count):
            ran.add(int(number))
        elif count in ("#####", "====="):
            not_ran.add(int(number))
    return ran, not_ran


def start(home, file="crate.c"):
    (home.path / "src").mkdir()
    shutil.copy(SAMPLES / "crate.c", home.path / "src" / "crate.c")
    shutil.copytree(SAMPLES / "seeds/crate-packed", home.path / "seeds")
    campaign = home.path / "crate.toml"
    campaign.write_text(CAMPAIGN.format(file=file))
    return campaign


def test_the_lines_in_the_log_are_those_of_gcov(home, tmp_path):
    home(str(start(home)), "--headless", code=None)
    run = home.path / "runs" / "crate"
    state, lines = covered(run)
    source = home.path / "src" / "crate.c"
    (file,) = lines.files.values()
    assert file.row.key == str(source)
    # An entry that crashes the uninstrumented program leaves no counts for the judge.
    queue = sorted(run.glob("out/*/queue/id:*"))
    ran, not_ran = by_gcov(source, queue, tmp_path / "judge")
    assert set(file.first) == ran
    assert file.statements - file.first.keys() == not_ran
    assert {first.entry for first in file.first.values()} <= {*state.entries}
    assert state.coverage_build == "ready"
    assert "unpack" in [f.name for f in file.functions]
    assert not (run / "gcov").exists()  # the build is not left behind
    # Continued: what the log has is not reported again.
    before = len(state.covered)
    home(str(home.path / "crate.toml"), "--headless", "--set", "campaign.budget=20s", code=None)
    state, lines = covered(run)
    steps = list(state.covered.values())
    texts = [text for step in steps for text in step.lines.values()]
    assert len(steps) >= before
    assert len(texts) == len(set(texts))


HOSTILE = """\
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char data[9] = "";
    FILE *file = fopen(argv[1], "r+b");
    if (!file || !fread(data, 1, 8, file)) return 1;
    if (data[0] == 'h')
        for (;;) sleep(1);
    if (data[0] == 'f')
        if (fork() == 0) for (;;) sleep(1);
    if (data[0] == 'c')
        abort();
    fputs("changed", file);
    fclose(file);
    fopen("left behind", "w");
    unlink(argv[1]);
    return 0;
}
"""


def by_line(home, run, *options):
    return json.loads(home("coverage", str(run), "--by-line", *options))["by_line"]


def test_the_first_and_the_smallest_entry_of_each_line_of_a_c_target(home, tmp_path):
    file = start(home)
    file.write_text(file.read_text().replace('"12s"', '"8s"'))
    home(str(file), "--headless", code=None)
    run, source = home.path / "runs" / "crate", home.path / "src" / "crate.c"
    (rows,) = by_line(home, run).values()
    assert not [*run.glob("supervisor/bench/*")], "the build is not left behind"
    _, lines = covered(run)
    (logged,) = lines.files.values()
    first = {line: entry for line, entry, _ in rows["first"]}
    assert set(rows["statements"]) == logged.statements
    assert set(first) == set(logged.first)
    smallest = {line: (entry, size) for line, entry, size in rows["smallest"]}
    assert set(smallest) == set(first)
    assert any(entry != first[line] for line, (entry, _) in smallest.items())
    # The judge runs each of these entries alone.
    files = {f"{f.parts[-3]}/{int(f.name[3:9])}": f for f in run.glob("out/*/queue/id:*")}
    ran = {}
    for key in {*first.values(), *(entry for entry, _ in smallest.values())}:
        ran[key], _ = by_gcov(source, [files[key]], tmp_path / key.replace("/", "-"))
    for line, (entry, size) in smallest.items():
        assert files[entry].stat().st_size == size
        assert line in ran[entry]
        assert line in ran[first[line]]
        for other, of_other in ran.items():
            assert line not in of_other or files[other].stat().st_size >= size
    most = max(size for _, size in smallest.values())
    smaller = [f for f in files.values() if f.stat().st_size < most]
    of_smaller, _ = by_gcov(source, smaller, tmp_path / "smaller")
    assert {line for line, (_, size) in smallest.items() if size == most}.isdisjoint(of_smaller)


@pytest.fixture
def hostile(home):
    """A run of a program that hangs, forks and deletes its input, with such entries."""
    file = start(home)
    (home.path / "src" / "crate.c").write_text(HOSTILE)
    text = file.read_text().replace('"12s"', '"3s"')
    file.write_text(text.replace("[engine]", 'timeout = "100ms"\n[engine]'))
    home(str(file), "--headless", code=None)
    run = home.path / "runs" / "crate"
    queue = run / "out" / "main" / "queue"
    for old in queue.glob("id:*"):
        old.unlink()
    for n, data in enumerate((b"hang", b"fork", b"crash", b"x", b"xx")):
        (queue / f"id:{n:06d},time:{n}").write_bytes(data)
    return run


def test_hostile_entries_are_bounded_and_leave_nothing(home, hostile):
    before = sorted(str(p.relative_to(hostile)) for p in hostile.rglob("*"))
    sources = sorted((home.path / "src").iterdir())
    (rows,) = by_line(home, hostile).values()
    smallest = {line: entry for line, entry, _ in rows["smallest"]}
    line = {text.strip(): n for n, text in enumerate(HOSTILE.splitlines(), 1)}
    # As in the campaign: a program that dies or is killed leaves no counts.
    assert {line["abort();"], line["for (;;) sleep(1);"]}.isdisjoint(smallest)
    assert smallest[line["if (fork() == 0) for (;;) sleep(1);"]] == "main/1"
    assert smallest[line["return 0;"]] == "main/3"
    assert sorted(str(p.relative_to(hostile)) for p in hostile.rglob("*")) == before
    assert sorted((home.path / "src").iterdir()) == sources
    assert [*hostile.glob("out/main/queue/*")], "the entries themselves are as before"
    assert str(hostile) not in commands()


def test_a_measurement_that_is_cancelled_leaves_nothing(home, hostile):
    with home.popen("coverage", str(hostile), "--by-line", "--progress") as process:
        said = process.stderr.readline()
        assert "gcov measures the lines" in said
        while "entries" not in said:
            said = process.stderr.readline()
            assert said
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode not in (0, 1)
    assert out == ""
    assert "Traceback" not in errors
    assert not [*hostile.glob("supervisor/bench/*")]
    assert str(hostile) not in commands()


def test_without_a_command_that_builds_a_message_says_what_to_do(home, hostile):
    frozen = hostile / "campaign.toml"
    frozen.write_text(frozen.read_text().replace("coverage = true", "coverage = false"))
    assert by_line(home, hostile), "the command builds whether or not the campaign does"
    text = re.sub(r"(?m)^build = .*$", "", frozen.read_text())
    frozen.write_text(text.replace('"./crate"', json.dumps(str(hostile / "build" / "crate"))))
    for option in ("--by-line", "--functions"):
        home("coverage", str(hostile), option, code=2)
        assert "target.build" in home.stderr
    home("report", str(hostile), "--coverage", code=2)
    assert "target.build" in home.stderr


def test_a_build_that_gcc_cannot_make_is_said_on_the_screen_and_harms_nothing(home):
    file = start(home)
    text = file.read_text().replace("crate $SOURCE/crate.c", "crate $SOURCE/crate.c $EXTRA")
    text = text.replace('build = "', 'build = "EXTRA=; $CC --version | grep -q gcc && EXTRA=no.c; ')
    file.write_text(text.replace('"12s"', '"6s"').replace("$CC --version", "command -v afl-cc"))
    # afl-cc of the build for gcov lies in a folder of the run.
    file.write_text(file.read_text().replace("grep -q gcc", "grep -q /gcov/"))
    home(str(file), "--headless", code=None)
    state, _ = covered(home.path / "runs" / "crate")
    assert state.state == "finished"
    assert state.coverage_build == "failed"
    assert "gcc --coverage failed" in state.coverage_reason
    assert "no.c" in state.coverage_reason

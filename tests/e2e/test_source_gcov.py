"""The covered lines of a C target in the log are those of gcov on the same queue."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fuzztui.log.reader import LogReader
from fuzztui.model.fold import apply
from fuzztui.model.source_lines import LineCoverage
from fuzztui.model.state import State

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("afl-fuzz") is None, reason="afl++ is not installed"),
]

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
[engine]
kind = "afl"
seeds = ["seeds"]
"""


def by_gcov(source, inputs, folder):
    """Covered lines, and those that are not, by an own build and gcov's text."""
    folder.mkdir()
    build = ["gcc", "--coverage", "-O0", "-o", "judge", str(source)]
    subprocess.run(build, cwd=folder, check=True, timeout=60)
    for file in inputs:
        subprocess.run(
            [folder / "judge", file], cwd=folder, capture_output=True, timeout=20, check=False
        )
    (notes,) = folder.glob("*.gcno")
    subprocess.run(["gcov", notes.name], cwd=folder, capture_output=True, check=True, timeout=60)
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


def state_of(run):
    state = State()
    apply(state, LogReader(run).records())
    lines = LineCoverage()
    lines.take(state)
    return state, lines


def test_the_lines_in_the_log_are_those_of_gcov(home, tmp_path):
    home(str(start(home)), "--headless", code=None)
    run = home.path / "runs" / "crate"
    state, lines = state_of(run)
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
    state, lines = state_of(run)
    steps = list(state.covered.values())
    texts = [text for step in steps for text in step.lines.values()]
    assert len(steps) >= before
    assert len(texts) == len(set(texts))


def test_a_build_that_gcc_cannot_make_is_said_on_the_screen_and_harms_nothing(home):
    file = start(home)
    text = file.read_text().replace("crate $SOURCE/crate.c", "crate $SOURCE/crate.c $EXTRA")
    text = text.replace('build = "', 'build = "EXTRA=; $CC --version | grep -q gcc && EXTRA=no.c; ')
    file.write_text(text.replace('"12s"', '"6s"').replace("$CC --version", "command -v afl-cc"))
    # afl-cc of the build for gcov lies in a folder of the run.
    file.write_text(file.read_text().replace("grep -q gcc", "grep -q /gcov/"))
    home(str(file), "--headless", code=None)
    state, _ = state_of(home.path / "runs" / "crate")
    assert state.state == "finished"
    assert state.coverage_build == "failed"
    assert "gcc --coverage failed" in state.coverage_reason
    assert "no.c" in state.coverage_reason

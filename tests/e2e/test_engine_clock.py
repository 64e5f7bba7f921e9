"""Campaigns of a program that looks at the clock, with the real clock and with a fixed one."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from homes import Home, logged
from waiting import DEADLINE_S

from fuzztui.engines.base.clock import FIXED
from fuzztui.kernel.wire.events import VARYING, Message

pytestmark = pytest.mark.slow

PROGRAM = """\
import random
import uuid
from datetime import datetime
from time import time


def parse(data: bytes):
    text = data.decode("latin-1")
    if text[:1] == "!":
        raise KeyError(datetime.now().isoformat())
    kind = "odd" if datetime.now().microsecond % 2 else "even"
    if random.random() < 0.5:
        kind += "?"
    if text[:1] == "a":
        kind += "a"
    elif text[:1] == "b":
        kind += "b"
    elif text[:1] == "c":
        kind += "c"
    elif text[:1] == "d":
        kind += "d"
    total = 0
    for letter in text[:8]:
        total += ord(letter) * 2
    return kind, total, time(), str(uuid.uuid4())
"""
SEEDS = (b"a12", b"b", b"c xyz", b"d", b"else")

FIXED_CLOCK = ("--set", 'target.clock="fixed"')


def queue(home: Home) -> list[tuple[str, bytes]]:
    files = sorted(f for f in (home.run / "out/main/queue").iterdir() if f.is_file())
    return [(re.sub("time:[0-9]+,", "", f.name), f.read_bytes()) for f in files]


def proposals(home: Home) -> list[str]:
    return [m.text for m in logged(home.run, Message) if m.about == VARYING]


def variable(home: Home) -> int:
    stats = (home.run / "out/main/fuzzer_stats").read_text()
    found = re.search(r"corpus_variable +: (\d+)", stats)
    assert found is not None
    return int(found[1])


def test_entries_vary_with_the_real_clock_and_the_campaign_proposes_a_fixed_one(
    home: Home,
) -> None:
    home.fuzzes(PROGRAM, "zest", *SEEDS)
    home.headless("600 trials", code=None)
    assert variable(home) >= 3
    (text,) = proposals(home)
    assert re.match(r"\d+ of \d+ entries vary between two runs; the program calls ", text)
    assert re.search(r"datetime\.now \(prog\.py:1[0-2]\)", text)
    assert 'target.clock = "fixed" makes them repeatable' in text
    home(str(home.file), "--headless", "--set", "campaign.budget=900 trials", code=None)
    assert len(proposals(home)) == 1, "once in a run"


def test_no_entry_varies_with_a_fixed_clock(home: Home) -> None:
    home.fuzzes(PROGRAM, "zest", *SEEDS)
    home.headless("600 trials", *FIXED_CLOCK, code=None)
    assert (variable(home), proposals(home)) == (0, [])
    first = queue(home)
    assert len(first) >= len(SEEDS)
    home.headless("600 trials", *FIXED_CLOCK, "--set", "campaign.output=again", code=None)
    home.run = home.path / "again"
    assert queue(home) == first


def test_a_program_without_a_clock_gets_no_proposal(home: Home) -> None:
    """Its entries vary because it remembers."""
    program = """\
import itertools
COUNT = itertools.count()
def parse(data: bytes):
    found = []
    if next(COUNT) % 2:
        found.append("odd")
    else:
        found.append("even")
    for one in "abcdef":
        if data[:1] == one.encode():
            found.append(one)
    return found
"""
    home.fuzzes(program, "zest", b"a", b"b", b"c", b"d", b"e")
    home.headless("900 trials", code=None)
    assert variable(home) >= 1
    assert proposals(home) == []


@pytest.mark.parametrize("fixed", [False, True], ids=["real", "fixed"])
def test_mutants_settle(home: Home, fixed: bool) -> None:
    home.fuzzes(PROGRAM, "mu2", *SEEDS)
    home.headless("600 trials", *(FIXED_CLOCK if fixed else ()), code=None)
    result = json.loads(home("score", str(home.run), "--json", code=None))
    if fixed:
        assert (result["flaky"], result["pending"], proposals(home)) == (0, 0, [])
        assert result["killed"] + result["alive"] == result["total"] - result["invalid"]
        assert result["killed"] > 10
    else:
        assert len(proposals(home)) == 1
        assert any("vary between two runs; the program calls d" in w for w in result["warnings"])


def test_findings_and_exported_tests_have_the_clock_of_the_run(home: Home) -> None:
    home.fuzzes(PROGRAM, "mu2", *SEEDS, b"!")
    home.headless("400 trials", *FIXED_CLOCK, code=10)
    (finding,) = (home.run / "out/main/crashes").glob("id*")
    assert "KeyError: '2024-06-03T" in home("repro", str(home.run), str(finding), code=10)

    file = home.path / "tests" / "test_fuzz_prog.py"
    said = home("export", str(home.run), "--pytest", str(file))
    confirmed = re.search(r"(\d+) of (\d+) confirmed", said)
    assert confirmed is not None
    assert confirmed[1] == confirmed[2] != "0"
    text = file.read_text()
    assert f'@fixed_clock("{FIXED}")' in text
    assert "it needs fuzztui" in text
    assert "varies" not in home.stderr
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    argv += ["-c", "/dev/null", "--rootdir", str(home.path), str(file)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 xfailed" in done.stdout


def test_check_proposes_the_key(home: Home) -> None:
    home.fuzzes(PROGRAM, "zest", *SEEDS)
    home("check", str(home.file))
    assert re.search(
        r"warning: \d+ of \d+ inputs vary between two runs; the program calls", home.stderr
    )
    home("check", str(home.file), *FIXED_CLOCK)
    assert "vary" not in home.stderr

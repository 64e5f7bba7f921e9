"""Hangs of whole runs: what waits or is slow is none; one slow place is one cause."""

from pathlib import Path
from typing import Any

import pytest
from engine_lab import Lab, names, stats

pytestmark = pytest.mark.slow

APP = """
import hashlib, time

BLOCK = bytes(1 << 18)

def one():
    hashlib.sha256(BLOCK).digest()

def two():
    hashlib.md5(BLOCK).digest()

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        one()
        two()

def waits(data: bytes):
    time.sleep(0.6)

def slow(data: bytes):
    burn(0.5)

def endless(data: bytes):
    burn(1e9)

def sleeps(data: bytes):
    time.sleep(1e9)
"""


@pytest.fixture
def lab(lab: Lab) -> Lab:
    lab.write("app.py", APP)
    return lab


def ran(lab: Lab, function: str, **target: Any) -> Path:
    """The directory of a run of three trials; the limits by the clock allow for much load."""
    target = {"include": ["app"], "timeout_s": 0.3, "timeout_wall": 30, **target}
    return lab.campaign(f"app:{function}", timeout=300, budget_trials=3, target=target)


def test_what_waits_does_not_hang(lab: Lab) -> None:
    directory = ran(lab, "waits")
    assert names(directory, "hangs") == []
    assert stats(directory)["total_tmout"] == "0"


def test_what_is_only_slow_is_not_saved(lab: Lab) -> None:
    directory = ran(lab, "slow", timeout_confirm=4)
    assert names(directory, "hangs") == []
    assert stats(directory)["total_tmout"] == "3"
    assert sum("not saved as a hang" in text for text in lab.messages(directory)) == 1


def test_one_slow_place_is_one_cause(lab: Lab) -> None:
    directory = ran(lab, "endless")
    (hang,) = lab.findings(directory).values()
    assert (hang["category"], hang["place"]) == ("hang", "app.py in burn")
    assert len(names(directory, "hangs")) == 1


def test_what_sleeps_forever_ends_by_the_clock(lab: Lab) -> None:
    directory = ran(lab, "sleeps", timeout_wall=2)
    (hang,) = lab.findings(directory).values()
    assert (hang["category"], hang["place"]) == ("hang", "app.py in sleeps")

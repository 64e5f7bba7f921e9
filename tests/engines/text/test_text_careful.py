"""Parsing in the engine's process: what kills it is left out the next time but one."""

import signal
import subprocess
import sys
import time

import pytest

from fuzztui.engines.text.careful import GuardedParser
from fuzztui.engines.text.syntax import Spans

FOUND = Spans({"word": ((0, 2),)})

DEADLY = """
import os, sys
from pathlib import Path
from fuzztui.engines.text import careful
careful._PARSE_S = 0.1
def parse(data):
    {ends}
careful.GuardedParser(parse, Path(sys.argv[1])).spans(b"deadly")
"""


def kill_by(ends: str, directory) -> int:
    argv = [sys.executable, "-c", DEADLY.format(ends=ends), str(directory)]
    return subprocess.run(argv, check=False, capture_output=True, timeout=60).returncode


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ends", "status"),
    [("os._exit(7)", 7), ("os.abort()", -signal.SIGABRT), ("while True: pass", -signal.SIGPROF)],
)
def test_once_may_be_chance_but_not_twice(tmp_path, ends, status):
    assert kill_by(ends, tmp_path) == status
    assert GuardedParser(lambda data: FOUND, tmp_path).spans(b"deadly") == FOUND
    assert kill_by(ends, tmp_path) == status
    careful = GuardedParser(lambda data: FOUND, tmp_path)
    assert careful.spans(b"deadly") == Spans()
    assert careful.spans(b"another") == FOUND
    assert kill_by(ends, tmp_path) == 0, "it is not parsed any more"


def test_only_the_processors_time_counts(tmp_path, monkeypatch):
    monkeypatch.setattr("fuzztui.engines.text.careful._PARSE_S", 0.05)

    def slow(data: bytes) -> Spans:
        time.sleep(0.3)
        return FOUND

    assert GuardedParser(slow, tmp_path).spans(b"x") == FOUND


def test_the_targets_own_timer_goes_on(tmp_path):
    met = []
    before = signal.signal(signal.SIGPROF, lambda *_: met.append(1))
    try:
        signal.setitimer(signal.ITIMER_PROF, 500.0, 7.0)
        assert GuardedParser(lambda data: FOUND, tmp_path).spans(b"x") == FOUND
        left, period = signal.getitimer(signal.ITIMER_PROF)
        signal.raise_signal(signal.SIGPROF)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert met and left > 400
    assert period == pytest.approx(7.0, abs=0.1)

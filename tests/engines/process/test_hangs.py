"""When the parent process of a worker takes it for hung."""

import pytest

from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.directory import journal as j
from fuzztui.engines.process import hangs


@pytest.fixture
def words(monkeypatch) -> list[int]:
    """The words of a journal; the worker is stopped whenever it is looked at."""
    monkeypatch.setattr(hangs, "stopped_by", lambda pid: "SIGSTOP")
    words = [0] * j.COUNTERS
    words[j.PHASE] = j.RUNNING
    return words


def looks(words: list[int], most: int, *, trials: int) -> bool:
    """Whether one of so many looks finds it hung; ``trials`` begin between two of them."""
    watch = hangs.HangDetector(TargetSpec("f"), 1, words)
    for _ in range(most):
        words[j.STARTED] += trials
        if watch.hangs(0.05):
            return True
    return False


def test_a_worker_that_is_stopped_in_a_trial_hangs(words):
    assert looks(words, 100, trials=0)


def test_one_that_is_slowed_down_from_outside_does_not(words):
    assert not looks(words, 1000, trials=1)


@pytest.mark.parametrize(("busy", "seconds"), [(1.0, 3.0), (0.1, 12.0)])
def test_cpu_time_decides_unless_a_worker_waits_much_longer(words, monkeypatch, busy, seconds):
    """``seconds``: of time by the clock; a share of ``busy`` of it is CPU time."""
    clock = [0.0]
    monkeypatch.setattr(hangs, "stopped_by", lambda pid: "")
    monkeypatch.setattr(hangs, "cpu_s", lambda pid: busy * clock[0])
    watch = hangs.HangDetector(TargetSpec("f"), 1, words)
    watch.hangs(0.05)
    while not watch.hangs(0.05):
        clock[0] += 0.05
        assert clock[0] < 2 * seconds
    assert clock[0] == pytest.approx(seconds, abs=0.2)

"""When the parent process of a worker takes it for hung."""

import pytest

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
    watch = hangs.HangDetector(1.0, 1, words)
    for _ in range(most):
        words[j.STARTED] += trials
        if watch.hangs(0.05):
            return True
    return False


def test_a_worker_that_is_stopped_in_a_trial_hangs(words):
    assert looks(words, 100, trials=0)


def test_one_that_is_slowed_down_from_outside_does_not(words):
    assert not looks(words, 1000, trials=1)

"""When a trial ends: by CPU time, by the clock if it waits; and where it was all the time."""

import sys
from typing import Any

import pytest

from fuzztui.engines.instrument import guard as module
from fuzztui.engines.instrument.guard import Guard, TrialTimeout


def expires_after(
    monkeypatch: pytest.MonkeyPatch, busy: float, part: float = 1.0, **keys: Any
) -> float:
    """Seconds by the clock until a trial ends that uses this share of the CPU."""
    cpu_s = [100.0]
    monkeypatch.setattr(module, "process_time", lambda: cpu_s[0])
    guard = Guard(1.0, **keys)
    guard.start(part=part)
    for alarm in range(1, 10_000):
        cpu_s[0] += busy * 0.05
        try:
            guard._on_alarm(0, sys._getframe())
        except TrialTimeout:
            assert guard.expired
            return alarm * 0.05
    raise AssertionError("it does not end")


def test_cpu_time_decides_and_the_clock_only_of_trials_that_wait(monkeypatch):
    assert expires_after(monkeypatch, 1.0) == pytest.approx(1.0, abs=0.11)
    assert expires_after(monkeypatch, 0.5) == pytest.approx(2.0, abs=0.11)
    assert expires_after(monkeypatch, 0.0) == pytest.approx(4.0, abs=0.11)
    assert expires_after(monkeypatch, 0.0, wall=10) == pytest.approx(10.0, abs=0.11)
    assert expires_after(monkeypatch, 1.0, part=2) == pytest.approx(2.0, abs=0.11)
    assert expires_after(monkeypatch, 0.0, part=0.25) == pytest.approx(1.0, abs=0.11)


def test_more_time_is_also_more_fuel():
    def spent(part: float) -> int:
        guard = Guard(0.1)
        guard.start(part=part)
        with pytest.raises(TrialTimeout):
            for _ in range(10**9):
                guard.spend()
        return guard.spent

    assert spent(2.0) == pytest.approx(2 * spent(1.0), rel=0.01)


def test_the_lasting_part_of_the_stack_is_without_the_calls_of_a_loop():
    guard = Guard(1.0)

    def one() -> None:
        guard._on_alarm(0, sys._getframe())

    def two() -> None:
        one()

    def slow() -> None:
        while True:  # its calls have equal frames, but other ones each time
            one()
            two()

    def trial() -> None:
        slow()

    guard.start()
    guard._part = 0.1
    with pytest.raises(TrialTimeout):
        trial()
    guard.stop()
    assert guard.where[-1][0].co_name == "one"
    names = [code.co_name for code, _ in guard.lasting]
    assert names[-2:] == ["trial", "slow"]
    assert guard._frames == []

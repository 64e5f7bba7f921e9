"""A worker that cannot close exits; others are left alone."""

from types import SimpleNamespace

import pytest
from lab_clock import LabClock

from fuzztui.features.jobs import nodes
from fuzztui.features.jobs.nodes import watch_closing


def worker(status):
    return SimpleNamespace(status=SimpleNamespace(name=status))


@pytest.fixture
def clock(monkeypatch):
    clock = LabClock()
    monkeypatch.setattr(nodes, "time", clock)
    return clock


def test_a_worker_that_closes_for_ever_exits(clock):
    left, began = [], clock.now
    watch_closing(worker("closing"), left.append)
    assert left == [75]
    assert clock.now - began >= nodes.CLOSING_S


def test_a_worker_that_runs_stays(clock):
    left, one, began = [], worker("running"), clock.now

    def close_after_an_hour():
        assert left == []
        if clock.now - began > 3600:
            one.status.name = "closed"

    clock.at_sleep = close_after_an_hour
    watch_closing(one, left.append)
    assert left == [75]

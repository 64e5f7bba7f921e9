"""The helpers with which all tests wait."""

import asyncio

import lab_clock
import pytest
import waiting
from lab_clock import LabClock, virtual_time
from waiting import turns_of_the_loop, until, wait_until


@pytest.fixture
def clock(monkeypatch):
    """A clock for the helper itself, which ``sleep`` moves."""
    clock = LabClock()
    monkeypatch.setattr(waiting, "time", clock)
    return clock


def test_the_first_true_value_is_returned(clock):
    began, values = clock.now, iter([0, "", None, "found", "never asked for"])
    assert wait_until(lambda: next(values)) == "found"
    assert began < clock.now < began + 1


def test_a_state_that_never_comes_is_described_after_the_deadline(clock):
    began = clock.now
    with pytest.raises(AssertionError, match="what is there instead"):
        wait_until(lambda: False, lambda: "what is there instead")
    assert clock.now - began >= waiting.DEADLINE_S >= 60


def test_a_state_that_comes_while_a_machine_is_suspended_counts(clock):
    clock.at_sleep = lambda: setattr(clock, "now", clock.now + 1e6)
    values = iter([False, True])
    assert wait_until(lambda: next(values))


async def test_coroutines_wait_alike():
    virtual_time(asyncio.get_running_loop())
    values = iter([0, 7])
    assert await until(lambda: next(values)) == 7

    async def later():
        await asyncio.sleep(0)
        return "later"

    assert await until(later) == "later"


async def test_virtual_time_jumps_to_the_next_timer():
    loop = asyncio.get_running_loop()
    began, order = loop.time(), []
    virtual_time(loop)
    loop.call_later(7200, order.append, "second")
    loop.call_later(3600, order.append, "first")
    loop.call_later(9000, order.append, "third")
    await turns_of_the_loop()
    assert order == []
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(8000):
            await asyncio.Event().wait()
    assert order == ["first", "second"]
    assert loop.time() - began >= 8000


def test_a_file_may_be_as_old_as_wanted(tmp_path):
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    lab_clock.aged(tmp_path / "a", 3600)
    assert (tmp_path / "b").stat().st_mtime - (tmp_path / "a").stat().st_mtime > 3000

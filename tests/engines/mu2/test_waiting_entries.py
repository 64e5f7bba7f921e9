"""Saved inputs wait in groups, so that a property is not set up for each of them."""

from types import SimpleNamespace
from typing import Any

from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.suite import _REST_TURNS, SuiteCorpus
from fuzztui.engines.mu2.backlog import Backlog
from fuzztui.engines.mu2.waiting import WaitingEntries


def entry(number: int, data: bytes) -> CorpusEntry:
    return CorpusEntry(number, str(number), data, 1)


def test_each_group_is_a_queue() -> None:
    waiting = WaitingEntries(lambda data: data[:1])
    assert not waiting and waiting.first() == b""
    for number, data in enumerate((b"a1", b"b1", b"a2", b"a3", b"b2")):
        waiting.add(entry(number, data))
    assert len(waiting) == 5 and waiting.has(b"b") and not waiting.has(b"c")
    assert [waiting.take(b"b").data for _ in range(2)] == [b"b1", b"b2"]
    assert not waiting.has(b"b") and waiting.first() == b"a"
    assert [one.id for one in waiting] == [0, 2, 3]
    while waiting.has(b"a"):
        waiting.take(b"a")
    assert len(waiting) == 0 and waiting.first() == b""


def test_a_suite_rests_after_the_same_turns_whether_children_run_or_not() -> None:
    """Else fixtures would be set up again when a child starts, at a time that no seed repeats."""
    suite = SuiteCorpus.__new__(SuiteCorpus)
    suite._turn, suite._turns = None, 0
    done: list[str] = []
    backlog = Backlog.__new__(Backlog)
    fixtures: Any = SimpleNamespace(leave=lambda: done.append("leave"))
    suite._suite, backlog._properties = fixtures, suite
    runner: Any = SimpleNamespace(put_back=lambda: done.append("put back"))
    backlog._runner = runner
    rests = []
    for turn in range(1, 3 * _REST_TURNS):
        suite._turns = turn
        if backlog._may_fork():
            rests.append(turn)
    assert rests == [_REST_TURNS, 2 * _REST_TURNS]
    assert done == 2 * ["put back", "leave"]
    running: Any = SimpleNamespace(yielded=SimpleNamespace(work=1.0))
    suite._turn, suite._until, suite._turns = running, 2.0, _REST_TURNS
    assert not backlog._may_fork()  # in the middle of a turn

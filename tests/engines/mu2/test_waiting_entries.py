"""Saved inputs wait in groups, so that a property is not set up for each of them."""

from __future__ import annotations

from fuzztui.engines.loop.corpus import CorpusEntry
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

"""Saved inputs that wait for their mutants, in groups: of a suite, one for each property."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from fuzztui.engines.loop.corpus import CorpusEntry

Group = bytes
"""A property's key; empty if there is one target only."""


class WaitingEntries:
    """A queue of entries for each group."""

    def __init__(self, group_of: Callable[[bytes], Group]) -> None:
        self.group_of = group_of
        self._queues: dict[Group, deque[CorpusEntry]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def __iter__(self) -> Iterator[CorpusEntry]:
        return (entry for queue in self._queues.values() for entry in queue)

    def add(self, entry: CorpusEntry) -> None:
        """Add an entry at the end of its group."""
        self._queues.setdefault(self.group_of(entry.data), deque()).append(entry)

    def has(self, group: Group) -> bool:
        """Whether an entry of the group waits."""
        return bool(self._queues.get(group))

    def take(self, group: Group) -> CorpusEntry:
        """Remove and return the first entry of a group that has one."""
        return self._queues[group].popleft()

    def first(self) -> Group:
        """A group that has an entry: the one that got its first entry earliest."""
        return next((group for group, queue in self._queues.items() if queue), b"")

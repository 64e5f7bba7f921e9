"""Choose the entries of a large queue to record: the newest, and the ancestors of findings.

50 instances with 20,000 entries each would yield a million records before the first screen. Only
names are read: a ``stat`` of each file takes five seconds.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nlargest

from fuzztui.kernel.wire.afl import with_colons
from fuzztui.run.observe.afl_names import parse_name

MAX_ANCESTORS = 5_000
"""Maximum number of ancestors chosen from one queue."""

CLIMB_S = 1.0
"""Maximum seconds to search ancestors in the queues of peers, while the screen waits."""


class Numbered:
    """A compact set of file names that were seen, because AFL's ids count up.

    All ids up to ``floor`` were seen; higher ids, and names without an id (``odd``), are stored.
    """

    def __init__(self, floor: int = -1, odd: Iterable[str] = ()) -> None:
        self._floor = floor
        self._beyond: set[int] = set()
        self._odd = set(odd)

    def take_over(self, other: Numbered) -> None:
        """Replace the content by the content of ``other``."""
        self._floor, self._beyond, self._odd = other._floor, other._beyond, other._odd

    def __contains__(self, name: object) -> bool:
        assert isinstance(name, str)
        number = number_of(name)
        if number < 0:
            return name in self._odd
        return number <= self._floor or number in self._beyond

    def add(self, name: str) -> None:
        """Add a name."""
        number = number_of(name)
        if number < 0:
            self._odd.add(name)
            return
        self._beyond.add(number)
        while self._floor + 1 in self._beyond:
            self._floor += 1
            self._beyond.remove(self._floor)


def number_of(name: str) -> int:
    """Return the id in a file name; -1: none."""
    key = with_colons(name).partition(",")[0]
    digits = key[3:]
    if key[:3] == "id:" and digits.isdigit() and digits.isascii() and len(digits) <= 10:
        return int(digits)
    return -1


_USUAL = re.compile("(?:id:[0-9]{6},)*")


@dataclass(slots=True)
class WatchedQueue:
    """The entries chosen from one instance's queue."""

    path: str
    prefix: str = ""
    """Precedes the names of peers in the log."""
    seen: Numbered = field(default_factory=Numbered)
    mtime_ns: int = -1
    """Modification time of the directory before it was listed; -1: unknown."""
    count: int = 0
    chosen: set[str] = field(default_factory=set)
    wanted: set[int] = field(default_factory=set)
    """Ids of ancestors to search."""
    climbed: set[int] = field(default_factory=set)
    """Ids of ancestors that were found."""


def choose(
    queues: Mapping[str, WatchedQueue], parents: Iterable[tuple[str, int]], most: int
) -> None:
    """List every queue and choose the entries to record.

    ``parents``: instance and id of the parents of findings. ``most``: the number of newest entries
    of all instances together; what a small queue does not use goes to the queues after it.
    """
    for name, number in parents:
        if name in queues:
            queues[name].wanted.add(number)
    for done, queue in enumerate(queues.values()):
        queue.mtime_ns = _mtime_ns(queue.path)
        names = _list(queue.path)
        by_key, usual = _by_key(names)
        share = most // (len(queues) - done)
        newest = _newest(by_key, usual, max(1, share))
        odd = [] if usual else [n for n in names if number_of(n) < 0 and n[:1] != "."]
        queue.count = len(names)
        queue.seen = Numbered(number_of(newest[0]) if newest else -1, odd)
        queue.chosen = {by_key[key] for key in newest[:share]}
        queue.chosen.update(odd[: share - len(queue.chosen)])
        most -= len(queue.chosen)
        _climb(queue, queues, by_key)
    # The parent of an imported entry is in the peer's queue, and its parent perhaps in another.
    end = time.monotonic() + CLIMB_S
    while time.monotonic() < end:
        wanting = [q for q in queues.values() if q.wanted]
        if not wanting:
            return
        for queue in wanting:
            _climb(queue, queues, _by_key(_list(queue.path))[0])


def _by_key(names: list[str]) -> tuple[dict[str, str], bool]:
    """Return names by the part before the first comma, and whether all start like ``id:000012,``.

    Called with a million names while the screen waits, so there is no call for each name.
    """
    if _USUAL.fullmatch("".join([name[:10] for name in names])):
        return {name[:9]: name for name in names}, True
    return {with_colons(name).partition(",")[0]: name for name in names}, False


def _newest(by_key: Mapping[str, str], usual: bool, most: int) -> list[str]:
    """Return the keys with the highest ids, highest first."""
    if usual:
        return nlargest(most, by_key)
    numbered = [key for key in by_key if number_of(key) >= 0]  # beyond a million: more digits
    return nlargest(most, numbered, key=number_of)


def _climb(
    queue: WatchedQueue, queues: Mapping[str, WatchedQueue], by_key: Mapping[str, str]
) -> None:
    """Choose the wanted entries of one queue, and their ancestors."""
    todo, queue.wanted = list(queue.wanted), set()
    while todo and len(queue.climbed) < MAX_ANCESTORS:
        number = todo.pop()
        entry = by_key.get(f"id:{number:06d}")
        if entry is None or number in queue.climbed:
            continue
        queue.climbed.add(number)
        queue.chosen.add(entry)
        parsed = parse_name(entry)
        if parsed.first >= 0:
            continue  # a resume has renumbered its parents
        for parent in parsed.src[:1]:  # along the first one, as a lineage is shown
            if not parsed.sync:
                todo.append(parent)
            elif (peer := queues.get(queue.prefix + parsed.sync)) is not None:
                peer.wanted |= {parent} - peer.climbed


def _mtime_ns(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return -1


def _list(path: str) -> list[str]:
    try:
        names = os.listdir(path)  # noqa: PTH208
    except OSError:
        return []
    if ".state" in names:
        names.remove(".state")
    return names

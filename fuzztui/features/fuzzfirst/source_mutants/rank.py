"""Furthest point first: an order of mutants in which each is the least like all before it.

Gonzalez' greedy algorithm with the metric of "First, Fuzz the Mutants", section "Choosing the
Mutants". The result is exact although most of the metric is never computed: the edit term alone is
nearly always larger than the smallest distance found before, and other terms only add to it.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from fuzztui.features.fuzzfirst.source_mutants.text import DELETED, SourceMutant, edit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS_BYTES = 64 << 20
"""Bytes for the cache of rows of edit distances."""

_ROUNDING = 1e-9

Accept = Callable[[int], bool]
"""Whether the mutant at an index may be ranked."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Weights of the distance, by default the paper's. All ratios are of dissimilarity (1 - r).

    The paper's formula has ``max(0.25, d / 10)`` for the location, which its text contradicts. Used
    here, for two mutants of a file: ``line * lines_between / span``, at most ``line``.
    """

    edit: float = 5.0
    source: float = 0.1
    mutant: float = 0.1
    file: float = 0.5
    line: float = 0.25
    span: float = 10.0
    as_tool: bool = False
    """Compute the location term as universalmutator's code does."""

    def place(self, far: NDArray[np.float64], elsewhere: NDArray[np.bool_]) -> Any:
        """Return the location term for distances in lines; ``elsewhere``: in another file."""
        if self.as_tool:
            near = np.where(far > 10, self.file * 0.5, self.file * (0.5 * (far / 11.0)))
        else:
            near = np.minimum(self.line, self.line * far / self.span)
        return np.where(elsewhere, self.file, near)


COMPATIBLE = Metric(as_tool=True)
"""Equal to universalmutator 1.14.1's ``utils.d``, to the last bit."""


@dataclass(frozen=True, slots=True)
class Pick:
    """A ranked mutant: its index, and the distance to the nearest one before it; -1: the first."""

    index: int
    distance: float


@dataclass(slots=True)
class RankingGroup:
    """Indexes of mutants that :func:`rank_by_group` ranks together; ``better`` before ``others``.

    ``weight``: how early the second and later ones of the group come.
    """

    weight: int
    better: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)


def shuffled(n: int, seed: int) -> list[int]:
    """Return a random order of ``n`` mutants, the same for the same seed."""
    order = list(range(n))
    random.Random(seed).shuffle(order)
    return order


def rank_in_order(
    mutants: Sequence[SourceMutant],
    order: str,
    seed: int,
    *,
    metric: Metric | None = None,
    accept: Accept,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Iterator[Pick]:
    """Rank like :func:`rank`, in one of the orders of ``mutants.order`` that need no corpus."""
    by_chance = shuffled(len(mutants), seed)
    if order == "random":
        return (Pick(index, -1.0) for index in by_chance if accept(index))
    if order == "universalmutator":
        return rank_as_universalmutator(mutants, accept=accept)
    return rank(mutants, metric=metric, first=by_chance, accept=accept, progress=progress)


def rank(
    mutants: Sequence[SourceMutant],
    *,
    metric: Metric | None = None,
    first: Sequence[int] = (),
    avoid: Iterable[int] = (),
    among: Iterable[int] | None = None,
    accept: Accept = lambda index: True,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Iterator[Pick]:
    """Yield mutants as they are found, the best first.

    ``first``: the first pick is the first of these indexes that is accepted; without any, the first
    of all. ``avoid``: indexes of mutants that count as picked before. ``among``: the indexes to
    rank; None: all. Of equal distances, the lower index wins.
    ``accept`` is called with each index just before it would be picked; a rejected mutant has no
    effect on the order, so a long list need not be checked in advance. ``progress`` is called with
    the number of edits computed and the total, before the first pick.
    """
    chosen = list(range(len(mutants)) if among is None else among)
    if not chosen:
        return
    distances = _Distances(mutants, metric or Metric(), progress)
    nearest = np.full(len(mutants), -1.0)
    nearest[chosen] = np.inf
    for index in avoid:
        distances.lower(nearest, index)
    beginning = [index for index in dict.fromkeys([*first, *chosen]) if nearest[index] >= 0]
    at, distance, picked = beginning[0], -1.0, False
    for number in range(len(chosen)):
        wanted = accept(at)
        nearest[at] = -1.0
        if wanted:
            picked = True
            yield Pick(at, distance)
            distances.lower(nearest, at)
        if picked:
            at = int(np.argmax(nearest))
            distance = float(nearest[at])
        elif number + 1 < len(beginning):  # all until now were rejected
            at = beginning[number + 1]


def rank_by_group(
    mutants: Sequence[SourceMutant],
    groups: Sequence[RankingGroup],
    *,
    metric: Metric | None = None,
    accept: Accept = lambda index: True,
) -> Iterator[Pick]:
    """Rank like :func:`rank`, but first the mutants of groups.

    Each group has one turn, in the order given. Then turns go by weight: the n-th turn of a group
    comes when no other group has more than the group's weight divided by n. Mutants that are in no
    group follow.
    """
    distances = _Distances(mutants, metric or Metric(), lambda done, of: None)
    nearest = np.full(len(mutants), np.inf)

    def furthest(among: Sequence[int]) -> Iterator[Pick]:
        left = np.array(among, np.intp)
        while len(left := left[nearest[left] >= 0]):
            at = int(left[np.argmax(nearest[left])])
            distance, nearest[at] = float(nearest[at]), -1.0
            if accept(at):
                distances.lower(nearest, at)
                yield Pick(at, distance if math.isfinite(distance) else -1.0)

    picks = [itertools.chain(furthest(group.better), furthest(group.others)) for group in groups]
    turns = [(-math.inf, number, 1) for number in range(len(groups))]
    while turns:
        _, number, turn = heapq.heappop(turns)
        if (pick := next(picks[number], None)) is not None:
            yield pick
            heapq.heappush(turns, (-groups[number].weight / (turn + 1), number, turn + 1))
    yield from furthest(range(len(mutants)))


def rank_as_universalmutator(
    mutants: Sequence[SourceMutant], *, accept: Accept = lambda index: True
) -> Iterator[Pick]:
    """Rank like universalmutator's ``prioritize_mutants``: statement deletions first."""
    whole = range(len(mutants))
    deleted = [i for i in whole if edit(mutants[i].before, mutants[i].after) == DELETED]
    gone = set(deleted)
    rest = [i for i in whole if i not in gone]
    done: list[int] = []
    for group in (deleted, rest):
        if group:
            for pick in rank(mutants, metric=COMPATIBLE, among=group, avoid=done, accept=accept):
                yield pick
                done.append(pick.index)


class _Column:
    """One text per mutant: ``distinct`` texts, and the index of each mutant's text (``of``)."""

    def __init__(self, texts: Iterable[str]) -> None:
        numbers: dict[str, int] = {}
        self.of = np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.intp)
        self.distinct = list(numbers)

    def unlike(self, one: int, others: Sequence[str]) -> NDArray[np.float64]:
        """Return 1 - the similarity of a distinct text and others; exact only in float64."""
        me = [self.distinct[one]]
        row = cdist(me, others, scorer=Indel.normalized_similarity, dtype=np.float64)[0]
        return np.asarray(1.0 - row)


class _Distances:
    """Computes the distances to one mutant at a time, if they can be the smallest."""

    def __init__(
        self,
        mutants: Sequence[SourceMutant],
        metric: Metric,
        progress: Callable[[int, int], None],
    ) -> None:
        self._metric = metric
        edits = []
        for done, mutant in enumerate(mutants):
            if done % 1000 == 0:
                progress(done, len(mutants))
            edits.append(edit(mutant.before, mutant.after))
        self._edits = _Column(edits)
        # With line ends, as universalmutator compares lines.
        self._small = (
            (metric.source, _Column(m.before + "\n" for m in mutants)),
            (metric.mutant, _Column(m.after + "\n" for m in mutants)),
        )
        self._files = _Column(m.file for m in mutants).of
        self._lines = np.array([m.line for m in mutants], np.float64)
        self._rows: dict[int, NDArray[np.float64]] = {}
        self._most_rows = _ROWS_BYTES // (8 * max(1, len(self._edits.distinct)))

    def lower(self, nearest: NDArray[np.float64], one: int) -> None:
        """Lower ``nearest`` to the distances to ``one`` where these are smaller; -1 stays."""
        by_edit = self._metric.edit * self._edit_row(int(self._edits.of[one]))
        place = self._metric.place(
            np.abs(self._lines - self._lines[one]), self._files != self._files[one]
        )
        least = by_edit[self._edits.of]
        at = np.nonzero(least + place < nearest + _ROUNDING)[0]
        if not len(at):
            return
        sums = least[at]
        for weight, column in self._small:
            mine, where = np.unique(column.of[at], return_inverse=True)
            others = [column.distinct[i] for i in mine]
            sums += weight * column.unlike(int(column.of[one]), others)[where]
        sums += place[at]
        nearest[at] = np.minimum(nearest[at], sums)

    def _edit_row(self, number: int) -> NDArray[np.float64]:
        row = self._rows.get(number)
        if row is None:
            row = self._edits.unlike(number, self._edits.distinct)
            if len(self._rows) < self._most_rows:
                self._rows[number] = row
        return row

"""What values depend on: the graph that the first pass builds and the second one walks.

A node is a value: an expression, a variable, an attribute, what a function returns. An edge
leads from a value to one that it is made of, or decided by; its cost is 1 for each step of
computation and 0 for mere names. A way that enters a function through its return value must
leave it to the call that it came by: *summary* edges carry it past the call, as in
"Precise interprocedural dataflow analysis via graph reachability" (Reps, Horwitz, Sagiv). So a
helper that all call does not tie all of them together.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["NOTHING", "Graph"]

NOTHING = 0
"""The node of constants: no type, no edges."""

Binding = tuple[int, int]
"""A parameter's node and the node of what is given for it."""


@dataclass(frozen=True, slots=True)
class _Site:
    call: int
    bindings: tuple[Binding, ...]


class Graph:
    """Nodes are numbers; ``types`` and the edges are indexed by them."""

    def __init__(self) -> None:
        self.types: list[tuple[str, ...]] = []
        """Names of the types that a value may have."""
        self.inner: list[dict[int, int]] = []
        """Edges within a function, and summaries of calls: cost by node."""
        self.entering: list[dict[int, int]] = []
        """Edges from a call to what the function returns."""
        self.leaving: list[dict[int, int]] = []
        """Edges from a parameter to what calls give for it."""
        self.shared: set[int] = set()
        """Attributes, globals, variables of closures: who reads them may have any caller."""
        self._owners: list[int] = []
        self._named: dict[str, int] = {}
        self._sites: dict[int, list[_Site]] = {}
        self.add()

    def add(self, types: tuple[str, ...] = (), owner: int = -1) -> int:
        """A new node, of the function with number ``owner``."""
        self.types.append(types)
        self.inner.append({})
        self.entering.append({})
        self.leaving.append({})
        self._owners.append(owner)
        return len(self.types) - 1

    def named(self, name: str, types: tuple[str, ...] = (), owner: int = -1) -> int:
        """The node of that name; made when it is first asked for."""
        if name not in self._named:
            self._named[name] = self.add(types, owner)
        return self._named[name]

    def link(self, node: int, to: int, cost: int = 1) -> None:
        """``node`` depends on ``to``."""
        if node not in (to, NOTHING) and to != NOTHING:
            _lower(self.inner[node], to, cost)

    def enter(self, node: int, result: int) -> None:
        """``node`` is a function as a value, of which only the ``result`` matters."""
        _lower(self.entering[node], result, 1)

    def call(self, call: int, result: int, bindings: Iterable[Binding]) -> None:
        """``call`` is made of a function's ``result``, its parameters of what is bound to them."""
        bound = tuple(b for b in bindings if NOTHING not in b)
        self.enter(call, result)
        for parameter, given in bound:
            _lower(self.leaving[parameter], given, 1)
        self._sites.setdefault(result, []).append(_Site(call, bound))

    def is_called(self, result: int) -> bool:
        """Is any call known whose value this ``result`` is?"""
        return result in self._sites

    def summarise(self) -> None:
        """Add the summary edges, after which the graph may be walked.

        A call's summary may shorten that of the function which makes it: to the fixpoint.
        """
        by_owner: dict[int, list[int]] = {}
        for result in self._sites:
            by_owner.setdefault(self._owners[result], []).append(result)
        todo = deque(self._sites)
        waiting = set(todo)
        while todo:
            result = todo.popleft()
            waiting.discard(result)
            far = self._within(result)
            for site in self._sites[result]:
                changed = False
                for parameter, given in site.bindings:
                    if parameter in far and given != site.call:
                        changed |= _lower(self.inner[site.call], given, far[parameter] + 2)
                again = by_owner.get(self._owners[site.call], ()) if changed else ()
                for other in again:
                    if other not in waiting:
                        waiting.add(other)
                        todo.append(other)

    def _within(self, start: int) -> dict[int, int]:
        """Distances from a function's result to nodes of the function, by no other function."""
        done: dict[int, int] = {}
        heap = [(0, start)]
        while heap:
            distance, node = heapq.heappop(heap)
            if node in done:
                continue
            done[node] = distance
            if node in self.shared:
                continue  # from there on anybody may come
            for to, cost in self.inner[node].items():
                if to not in done:
                    heapq.heappush(heap, (distance + cost, to))
        return done

    def nearest(self, starts: Sequence[int], most: int, furthest: int) -> list[tuple[str, int]]:
        """Types that values depend on and their distances, the nearest first, then by name.

        At most ``most``, and none further than ``furthest``.
        """
        found: dict[str, int] = {}
        # A node is walked from again where a way to it may leave its function and the first
        # could not: twice at most. Costs are small, so a list for each distance is a queue.
        done: dict[int, bool] = {}
        rings: list[list[tuple[int, bool]]] = [[] for _ in range(furthest + 1)]
        rings[0] += [(node, True) for node in starts]
        for distance, ring in enumerate(rings):
            while ring:
                node, free = ring.pop()
                free = free or node in self.shared
                if node in done and done[node] >= free:
                    continue
                done[node] = free
                for name in self.types[node]:
                    found.setdefault(name, distance)
                ways = [(self.inner[node], free), (self.entering[node], False)]
                if free:
                    ways.append((self.leaving[node], True))
                for edges, then_free in ways:
                    for to, cost in edges.items():
                        if distance + cost <= furthest and done.get(to, False) < 1:
                            rings[distance + cost].append((to, then_free))
            if len(found) >= most:
                break
        return sorted(found.items(), key=lambda item: (item[1], item[0]))[:most]


def _lower(costs: dict[int, int], to: int, cost: int) -> bool:
    """Note the cost if it is lower than what is known."""
    if costs.get(to, cost + 1) <= cost:
        return False
    costs[to] = cost
    return True

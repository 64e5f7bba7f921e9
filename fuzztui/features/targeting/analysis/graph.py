"""The dependency graph of values, which the first pass builds and the second one walks.

A node is a value: an expression, a variable, an attribute, the result of a function. An edge leads
from a value to one that it is computed from, or decided by; its cost is 1 for a step of computation
and 0 for a name. A path that enters a function through its result must leave the function to the
same call: *summary* edges skip the call, as in "Precise interprocedural dataflow analysis via graph
reachability" (Reps, Horwitz, Sagiv). So the callers of a common helper stay independent.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NOTHING = 0
"""The node of constants: no type, no edges."""

Binding = tuple[int, int]
"""A parameter's node and its argument's node."""


@dataclass(frozen=True, slots=True)
class _Site:
    call: int
    bindings: tuple[Binding, ...]


class Graph:
    """A graph whose nodes are numbers, the indexes of ``types`` and of the edges."""

    def __init__(self) -> None:
        self.types: list[tuple[str, ...]] = []
        """Names of the types that a value may have."""
        self.inner: list[dict[int, int]] = []
        """Edges within a function, and summaries of calls: cost by node."""
        self.entering: list[dict[int, int]] = []
        """Edges from a call to the function's result."""
        self.leaving: list[dict[int, int]] = []
        """Edges from a parameter to the arguments of calls."""
        self.shared: set[int] = set()
        """Attributes, globals, variables of closures: their readers may have any caller."""
        self._owners: list[int] = []
        self._named: dict[str, int] = {}
        self._sites: dict[int, list[_Site]] = {}
        self.add()

    def add(self, types: tuple[str, ...] = (), owner: int = -1) -> int:
        """Add a node of the function ``owner`` (-1: of none), and return its number."""
        self.types.append(types)
        self.inner.append({})
        self.entering.append({})
        self.leaving.append({})
        self._owners.append(owner)
        return len(self.types) - 1

    def named(self, name: str, types: tuple[str, ...] = (), owner: int = -1) -> int:
        """Return the node of a name; add it if it does not exist."""
        if name not in self._named:
            self._named[name] = self.add(types, owner)
        return self._named[name]

    def link(self, node: int, to: int, cost: int = 1) -> None:
        """Let ``node`` depend on ``to``."""
        if node not in (to, NOTHING) and to != NOTHING:
            _lower(self.inner[node], to, cost)

    def enter(self, node: int, result: int) -> None:
        """Let ``node``, a call or a function as a value, depend on the function's ``result``."""
        _lower(self.entering[node], result, 1)

    def call(self, call: int, result: int, bindings: Iterable[Binding]) -> None:
        """Let a call depend on a function's ``result``, and its parameters on their arguments."""
        bound = tuple(b for b in bindings if NOTHING not in b)
        self.enter(call, result)
        for parameter, given in bound:
            _lower(self.leaving[parameter], given, 1)
        self._sites.setdefault(result, []).append(_Site(call, bound))

    def is_called(self, result: int) -> bool:
        """Whether a call of the function with this ``result`` is known."""
        return result in self._sites

    def summarise(self) -> None:
        """Add the summary edges; required before :meth:`nearest`.

        A summary of a call may shorten those of the calling function, so this runs to a fixpoint.
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
        """Return distances from a function's result to nodes of the same function."""
        done: dict[int, int] = {}
        heap = [(0, start)]
        while heap:
            distance, node = heapq.heappop(heap)
            if node in done:
                continue
            done[node] = distance
            if node in self.shared:
                continue  # other functions may set shared nodes
            for to, cost in self.inner[node].items():
                if to not in done:
                    heapq.heappush(heap, (distance + cost, to))
        return done

    def nearest(self, starts: Sequence[int], most: int, furthest: int) -> list[tuple[str, int]]:
        """Return the types that values depend on, with distances, nearest first, then by name.

        At most ``most`` types, none further than ``furthest``.
        """
        found: dict[str, int] = {}
        # A node is visited a second time if the new path may leave its function and the first
        # could not. Costs are small, so a list for each distance serves as priority queue.
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
    """Set the cost if it is lower than the known one; return whether it is."""
    if costs.get(to, cost + 1) <= cost:
        return False
    costs[to] = cost
    return True

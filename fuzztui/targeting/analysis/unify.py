"""The third pass: one distance per type, over all goals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fuzztui.engines.spoton.distances import unify as distances_of
from fuzztui.targeting.analysis.document import Influence


def unify(targets: Iterable[Sequence[Influence]]) -> tuple[Influence, ...]:
    """Return the paper's D, nearest first: a type's distance is that of the goal with most types.

    Of goals with equally many types, the smallest distance counts (III-B, "Type Unification Pass").
    """
    distances = distances_of({t.name: t.distance for t in types} for types in targets)
    found = [Influence(name, distance) for name, distance in distances.items()]
    return tuple(sorted(found, key=lambda t: (t.distance, t.name)))

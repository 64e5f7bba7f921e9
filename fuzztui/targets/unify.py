"""The third pass: one distance for each type, over all code targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fuzztui.targets.document import Influence

__all__ = ["unify"]


def unify(targets: Iterable[Sequence[Influence]]) -> tuple[Influence, ...]:
    """The paper's D, nearest first: a type's distance is that in the target with the most types.

    Of targets with as many, the nearest counts (III-B, "Type Unification Pass").
    """
    best: dict[str, tuple[int, int]] = {}
    for types in targets:
        for t in types:
            best[t.name] = min(best.get(t.name, (0, 0)), (-len(types), t.distance))
    found = [Influence(name, distance) for name, (_, distance) in best.items()]
    return tuple(sorted(found, key=lambda t: (t.distance, t.name)))

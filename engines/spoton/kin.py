"""Which choices belong to a type that the static phase names.

A generator says what it makes (``@generator``), the application what it takes: the same class,
one that is derived from the other, or, where a library stands between them, one that the user
calls an alias of it (``[spoton] aliases``).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NewType

from fuzztui.engines.spoton.source import TypeStacks

__all__ = ["Kin"]


class Kin:
    """Type stacks by the types that they hold, one way or another."""

    def __init__(self, stacks: TypeStacks, aliases: Mapping[str, str]) -> None:
        """``aliases``: a type of the application, and the type that generators make for it."""
        self._stacks, self._aliases = stacks, aliases
        self._holding: dict[str, set[int]] = {}
        self._looked_at: dict[str, int] = {}
        self._same: dict[tuple[str, str], bool] = {}

    def forget(self) -> None:
        """Modules were loaded: classes may be there that were not."""
        self._holding.clear()
        self._looked_at.clear()

    def holding(self, name: str) -> set[int]:
        """The stacks that hold a type; do not change the set, it grows as stacks are met."""
        known = self._holding.setdefault(name, set())
        done, there = self._looked_at.get(name, 0), len(self._stacks)
        if done < there:
            wanted = (name, self._aliases[name]) if name in self._aliases else (name,)
            for stack in range(done, there):
                made = self._stacks.types(stack)
                if any(self._is(w, m) for w in wanted for m in made):
                    known.add(stack)
            self._looked_at[name] = there
        return known

    def _is(self, wanted: str, made: str) -> bool:
        if wanted == made:
            return True
        pair = wanted, made
        if pair not in self._same:
            a, b = _type(wanted), _type(made)
            if a is None or b is None:
                return False  # its module may be imported yet
            self._same[pair] = a is b or _related(a, b)
        return self._same[pair]


def _related(a: Any, b: Any) -> bool:
    """Is one derived from the other? Everything is an object: that is no relation."""
    if object in (a, b):
        return False
    try:
        return issubclass(a, b) or issubclass(b, a)
    except TypeError:  # a metaclass of its own
        return False


def _type(name: str) -> Any:
    """The class, or the new type, of that name, if its module is loaded: none is for this."""
    parts = name.split(".")
    for split in range(len(parts) - 1, 0, -1):
        found: object = sys.modules.get(".".join(parts[:split]))
        if found is None:
            continue
        for part in parts[split:]:
            found = vars(found).get(part) if hasattr(found, "__dict__") else None
        return found if isinstance(found, type | NewType) else None
    return None

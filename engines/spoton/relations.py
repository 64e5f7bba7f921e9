"""Which choices belong to a type that the static analysis names.

A generator says what it makes (``@generator``), the application what it takes: the same class,
one that is derived from the other, or, where a library stands between them, one that the user
calls an alias of it (``[engine] aliases``).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence, Set
from typing import Final

from fuzztui.engines.inputs.typed import TypeStacks

__all__ = ["TypeRelations"]

_UNTOLD: Final = ("builtins.", "hypothesis.", "dataclasses._")
"""Types of what strategies have made on the way: nobody's code depends on them."""


class TypeRelations:
    """Type stacks by the types that they hold, one way or another."""

    def __init__(self, stacks: TypeStacks, aliases: Mapping[str, Sequence[str]]) -> None:
        """``aliases``: a type of the application, and the types that generators make for it."""
        self._stacks, self._aliases = stacks, aliases
        self._holding: dict[str, set[int]] = {}
        self._looked_at: dict[str, int] = {}
        self._same: dict[tuple[str, str], bool] = {}
        self._met: set[int] = set()
        self.age = 0
        """Changes when :meth:`met` may say something else."""

    def forget(self) -> None:
        """Modules were loaded: classes may be there that were not."""
        self._holding.clear()
        self._looked_at.clear()
        self.age += 1

    def meet(self, stacks: Set[int]) -> None:
        """Choices of an input have these."""
        if not stacks <= self._met:
            self._met |= stacks
            self.age += 1

    @property
    def anything_met(self) -> bool:
        """Has any entry been met?"""
        return bool(self._met)

    def met(self, name: str) -> bool:
        """Has a choice of any entry that was seen so far been of that type?"""
        return not self._met.isdisjoint(self.holding(name))

    def made(self) -> list[str]:
        """All types that a choice of any entry that was seen so far has, sorted; for users."""
        names = {name for stack in self._met for name in self._stacks.types(stack)}
        return sorted(name for name in names if not name.startswith(_UNTOLD))

    def holding(self, name: str) -> set[int]:
        """The stacks that hold a type; do not change the set, it grows as stacks are met."""
        known = self._holding.setdefault(name, set())
        done, there = self._looked_at.get(name, 0), len(self._stacks)
        if done < there:
            wanted = (name, *self._aliases.get(name, ()))
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
            a, b = _named(wanted), _named(made)
            if a is None or b is None:
                return False  # its module may be imported yet
            self._same[pair] = a is b or _related(a, b)
        return self._same[pair]


def _related(a: object, b: object) -> bool:
    """Is one class derived from the other? Everything is an object: that is no relation."""
    if not (isinstance(a, type) and isinstance(b, type)) or object in (a, b):
        return False
    try:
        return issubclass(a, b) or issubclass(b, a)
    except TypeError:  # a metaclass of its own
        return False


def _named(name: str) -> object | None:
    """What has that name (a class, a ``NewType``), if its module is loaded: nothing is imported.

    One thing may have several names: where it is defined, and where it is made public.
    """
    parts = name.split(".")
    for split in range(len(parts) - 1, 0, -1):
        found: object = sys.modules.get(".".join(parts[:split]))
        if found is None:
            continue
        for part in parts[split:]:
            found = vars(found).get(part) if hasattr(found, "__dict__") else None
        return found
    return None

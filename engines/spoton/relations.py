"""Find the choices that belong to a type which the static analysis names.

A generator declares the type that it makes (``@generator``); the application uses a type. They
match if they are the same class, if one is derived from the other, or if the user declares one as
an alias of the other (``[engine] aliases``), which is needed for types that a library converts.
Fields (``shop.Order.title``) match if their names are equal and their classes match.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence, Set
from typing import Final, NewType

from fuzztui.engines.inputs.typed import TypeStacks

_BUILT_IN: Final = ("builtins.", "hypothesis.", "dataclasses._")
"""Prefixes of types that strategies use internally; no application depends on them."""


class TypeRelations:
    """The type stacks that contain a type or a related one."""

    def __init__(self, stacks: TypeStacks, aliases: Mapping[str, Sequence[str]]) -> None:
        """``aliases``: for a type of the application, the types that generators make for it."""
        self._stacks, self._aliases = stacks, aliases
        self._holding: dict[str, set[int]] = {}
        self._stacks_checked: dict[str, int] = {}
        self._same: dict[tuple[str, str], bool] = {}
        self._seen_stacks: set[int] = set()
        self.age = 0
        """Grows whenever :meth:`met` may return another result."""

    def forget(self) -> None:
        """Drop cached results, since newly loaded modules may define more classes."""
        self._holding.clear()
        self._stacks_checked.clear()
        self.age += 1

    def meet(self, stacks: Set[int]) -> None:
        """Record the type stacks of an entry's choices."""
        if not stacks <= self._seen_stacks:
            self._seen_stacks |= stacks
            self.age += 1

    @property
    def any_met(self) -> bool:
        """Whether any type stack was recorded."""
        return bool(self._seen_stacks)

    def met(self, name: str) -> bool:
        """Whether a recorded type stack contains the type."""
        return not self._seen_stacks.isdisjoint(self.holding(name))

    def stacks_of(self, name: str) -> frozenset[int]:
        """The recorded type stacks that contain the type."""
        return frozenset(self._seen_stacks & self.holding(name))

    def made(self) -> list[str]:
        """All types of the recorded type stacks, sorted, without fields and internal types."""
        names = {name for stack in self._seen_stacks for name in self._stacks.types(stack)}
        plain = (name for name in names if name.rpartition(".")[0] not in names)
        return sorted(name for name in plain if not name.startswith(_BUILT_IN))

    def holding(self, name: str) -> set[int]:
        """The stacks that contain a type. The caller must not change the set; it grows later."""
        known = self._holding.setdefault(name, set())
        done, there = self._stacks_checked.get(name, 0), len(self._stacks)
        if done < there:
            owner, _, field = name.rpartition(".")
            wanted = (name, *self._aliases.get(name, ()))
            wanted += tuple(f"{alias}.{field}" for alias in self._aliases.get(owner, ()))
            for stack in range(done, there):
                made = self._stacks.types(stack)
                if any(self._is(w, m) for w in wanted for m in made):
                    known.add(stack)
            self._stacks_checked[name] = there
        return known

    def _is(self, wanted: str, made: str) -> bool:
        if wanted == made:
            return True
        pair = wanted, made
        if pair not in self._same:
            a, b = _object_named(wanted), _object_named(made)
            if a is None or b is None:
                return False  # not cached: the module may be imported later
            self._same[pair] = a is b or _related(a, b)
        return self._same[pair]


def _related(a: object, b: object) -> bool:
    """Whether one class is derived from the other; being derived from ``object`` does not count."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a[1] == b[1] and (a[0] is b[0] or _related(a[0], b[0]))
    if not (isinstance(a, type) and isinstance(b, type)) or object in (a, b):
        return False
    try:
        return issubclass(a, b) or issubclass(b, a)
    except TypeError:  # raised by a custom metaclass
        return False


def _object_named(name: str) -> object | None:
    """The object with this name (a class, a ``NewType``; of a field, class and name), or None.

    Imports nothing. Objects may have several names: where defined, and where re-exported.
    """
    parts = name.split(".")
    for split in range(len(parts) - 1, 0, -1):
        found: object = sys.modules.get(".".join(parts[:split]))
        if found is None:
            continue
        owner: object = None
        for part in parts[split:]:
            owner, found = found, vars(found).get(part) if hasattr(found, "__dict__") else None
        if isinstance(owner, type) and not isinstance(found, type | NewType):
            return owner, parts[-1]
        return found
    return None

"""Selections of mutants: one id, several ids, or conditions, in the language of the filters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from fuzztui.kernel.wire.conditions import (
    ConditionError,
    FilterCondition,
    FilterKey,
    alternatives,
    attribute,
    exactly,
    figure,
    literal,
    parts_of,
    split_condition,
    unknown_key,
    words_of,
)

_OWN: Final[dict[str, FilterKey[Any]]] = {
    "file": FilterKey(attribute("file"), folded=False, tail="/"),
    "function": FilterKey(attribute("function"), folded=False, tail="."),
    "operator": FilterKey(attribute("operator")),
    "line": FilterKey(attribute("line"), figure("line")),
    "state": FilterKey(attribute("state")),
    # As lists show it.
    "stage": FilterKey(attribute("listed_stage")),
    "id": FilterKey(attribute("id"), folded=False, listed=False),
}
"""Keys whose values an engine has, too. The last part of a file or function is enough:
"_parser.py", or a method without its class."""

_FIGURES: Final[dict[str, FilterKey[Any]]] = {
    "runs": FilterKey(attribute("runs"), figure("runs")),
    "infected": FilterKey(attribute("infected"), figure("infected")),
    "reached": FilterKey(attribute("reached"), figure("reached")),
    "killed-by": FilterKey(attribute("killer"), folded=False),
    "how": FilterKey(attribute("oracle")),
    "killed": FilterKey(attribute("killed_t"), figure("killed_t"), listed=False),
    "steer": FilterKey(attribute("steer")),
}
"""Keys whose values only the log has, over all instances: one engine has other numbers."""

KEYS: Final[dict[str, FilterKey[Any]]] = _OWN | _FIGURES
"""The keys of a selection, by name."""

MAX_SELECTION = 40_000
"""Maximal UTF-8 bytes of a selection by ids: a request to the supervisor has 64 KiB."""


class SelectionError(ValueError):
    """The text is not a selection; the message contains the correct form."""


class Selectable(Protocol):
    """The attributes of a mutant that every selection can use."""

    @property
    def id(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def function(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def state(self) -> str: ...


_S = TypeVar("_S", bound=Selectable)


@dataclass(frozen=True, slots=True)
class Selection:
    """A parsed selection: an id, or conditions that must all be true."""

    id: str = ""
    conditions: tuple[FilterCondition, ...] = ()
    ids: frozenset[str] = frozenset()
    """The ids of ``id=a|b``."""

    def test(self) -> Callable[[Selectable], bool]:
        """Return the test whether the selection contains a mutant, to be used for many mutants."""
        if self.id:
            return lambda mutant: mutant.id == self.id
        if self.ids:
            return lambda mutant: mutant.id in self.ids
        tests = [c.test(KEYS[c.key]) for c in self.conditions]
        return lambda mutant: all(test(mutant) for test in tests)

    def matches(self, mutant: Selectable) -> bool:
        """Return whether the selection contains the mutant."""
        return self.test()(mutant)

    @staticmethod
    def value(mutant: Selectable, key: str) -> str:
        """Return the value that a condition compares; ``stage`` is the stage as lists show it."""
        return KEYS[key].text(mutant)

    def of(self, mutants: Iterable[_S]) -> list[_S]:
        """Return the selected mutants, in the given order."""
        test = self.test()
        return [m for m in mutants if test(m)]

    @property
    def named(self) -> list[str] | None:
        """The selected ids if they are named one by one; None: conditions select them."""
        if self.id:
            return [self.id]
        return sorted(self.ids) or None

    @property
    def of_log(self) -> bool:
        """Whether a condition has a key whose values only the log has: no engine can decide it."""
        return any(c.key in _FIGURES for c in self.conditions)


def parse_selection(text: str) -> Selection:
    """Parse ``ID``, or conditions: ``key=value[,key=value...]``; several ids are ``id=A|B``.

    Conditions are those of :mod:`fuzztui.kernel.wire.conditions`. Raises :class:`SelectionError`.
    """
    text = text.strip()
    if not text:
        raise SelectionError("empty selection; give a mutant's id, or such as operator=math")
    first = split_condition(next(iter(words_of(text)), ""))
    if first is None and ("=" not in text or ":" in text.partition("=")[0]):
        return Selection(id=text)
    conditions = []
    for word in words_of(text):
        for part in parts_of(word):
            condition = split_condition(part)
            if condition is None or not condition.value:
                raise SelectionError(
                    f"{part!r} is not a condition; write key=value with {', '.join(KEYS)}"
                )
            if condition.key not in KEYS:
                raise SelectionError(unknown_key(condition.key, KEYS))
            try:
                condition.test(KEYS[condition.key])
            except ConditionError as e:
                raise SelectionError(str(e)) from None
            conditions.append(condition)
    if len(conditions) == 1 and (conditions[0].key, conditions[0].op) == ("id", "="):
        named = [literal(part) for part in alternatives(conditions[0].value)]
        if None not in named:
            return Selection(ids=frozenset(id for id in named if id is not None))
    return Selection(conditions=tuple(conditions))


def of_ids(ids: Iterable[str]) -> list[str]:
    """Return selections that together contain exactly the mutants with these ids."""
    out: list[str] = []
    part: list[str] = []
    size = 0
    for id in map(exactly, ids):
        size += len(id.encode("utf-8", "replace")) + 1
        if part and size > MAX_SELECTION:
            out.append("id=" + "|".join(part))
            part, size = [], len(id.encode("utf-8", "replace")) + 1
        part.append(id)
    return [*out, "id=" + "|".join(part)] if part else out


def selection_of(command: dict[str, Any]) -> Selection | None:
    """Return the mutants that an encoded command selects; None for other commands."""
    try:
        return parse_selection(str(command["select"]))
    except (KeyError, SelectionError):
        return None

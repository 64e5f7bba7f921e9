"""Naming many mutants at once: one id, or all of a file, function or operator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Protocol, TypeVar

__all__ = ["KEYS", "Selection", "SelectionError", "parse_selection"]

KEYS: Final = ("file", "function", "operator", "line", "state", "stage")


class SelectionError(ValueError):
    """The text is no selection; the message says what is."""


class Selectable(Protocol):
    """What a mutant must have to be selected."""

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
    """A parsed selection: all conditions must hold."""

    id: str = ""
    conditions: tuple[tuple[str, str], ...] = ()

    def matches(self, mutant: Selectable) -> bool:
        """Is the mutant meant?"""
        if self.id:
            return mutant.id == self.id
        return all(_holds(mutant, key, wanted) for key, wanted in self.conditions)

    @staticmethod
    def value(mutant: Selectable, key: str) -> str:
        """What a condition with that key looks at. A stage is what lists print as one."""
        return str(getattr(mutant, "listed_stage" if key == "stage" else key, ""))

    def of(self, mutants: Iterable[_S]) -> list[_S]:
        """Those that are meant, in their order."""
        return [m for m in mutants if self.matches(m)]


def _holds(mutant: Selectable, key: str, wanted: str) -> bool:
    value = Selection.value(mutant, key)
    if key == "operator":
        value, wanted = value.casefold(), wanted.casefold()
    if fnmatchcase(value, wanted):
        return True
    # A name's last part is enough: "_parser.py", or a method without its class.
    return (key == "file" and value.endswith("/" + wanted)) or (
        key == "function" and value.endswith("." + wanted)
    )


def parse_selection(text: str) -> Selection:
    """``ID``, or ``key=value[,key=value...]`` with shell wildcards in the values.

    Keys: file, function, operator, line, state, stage. Raises :class:`SelectionError`.
    """
    text = text.strip()
    if not text:
        raise SelectionError("an empty selection: give a mutant's id, or such as operator=math")
    head = text.partition("=")[0].strip()
    if "=" not in text or (head not in KEYS and ":" in head):
        return Selection(id=text)
    conditions = []
    for part in text.split(","):
        key, equals, value = part.partition("=")
        key, value = key.strip(), value.strip()
        if key not in KEYS or not equals or not value:
            raise SelectionError(
                f"{part.strip()!r} is no condition: write key=value with {', '.join(KEYS)}"
            )
        conditions.append((key, value))
    return Selection(conditions=tuple(conditions))

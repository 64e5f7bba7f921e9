"""Selections of mutants: one id, or all mutants of a file, function or operator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Protocol, TypeVar

KEYS: Final = ("file", "function", "operator", "line", "state", "stage")


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
    conditions: tuple[tuple[str, str], ...] = ()

    def matches(self, mutant: Selectable) -> bool:
        """Return whether the selection contains the mutant."""
        if self.id:
            return mutant.id == self.id
        return all(_holds(mutant, key, wanted) for key, wanted in self.conditions)

    @staticmethod
    def value(mutant: Selectable, key: str) -> str:
        """Return the value that a condition compares; ``stage`` is the stage as lists show it."""
        return str(getattr(mutant, "listed_stage" if key == "stage" else key, ""))

    def of(self, mutants: Iterable[_S]) -> list[_S]:
        """Return the selected mutants, in the given order."""
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
    """Parse ``ID``, or ``key=value[,key=value...]`` with shell wildcards in the values.

    Keys: file, function, operator, line, state, stage. Raises :class:`SelectionError`.
    """
    text = text.strip()
    if not text:
        raise SelectionError("empty selection; give a mutant's id, or such as operator=math")
    head = text.partition("=")[0].strip()
    if "=" not in text or (head not in KEYS and ":" in head):
        return Selection(id=text)
    conditions = []
    for part in text.split(","):
        key, equals, value = part.partition("=")
        key, value = key.strip(), value.strip()
        if key not in KEYS or not equals or not value:
            raise SelectionError(
                f"{part.strip()!r} is not a condition; write key=value with {', '.join(KEYS)}"
            )
        conditions.append((key, value))
    return Selection(conditions=tuple(conditions))


def selection_of(command: dict[str, Any]) -> Selection | None:
    """Return the mutants that an encoded command selects; None for other commands."""
    try:
        return parse_selection(str(command["select"]))
    except (KeyError, SelectionError):
        return None

"""A command, its answer, and its effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class CommandStatus:
    """A command and its answer. ``state``: pending, applied or rejected."""

    id: str
    t: float
    command: dict[str, Any]
    by: str = ""
    state: str = "pending"
    instance: str = ""
    trial: int = -1
    text: str = ""
    """The result or the reason of a rejection; of a pending command: its progress."""
    part: float = -1.0
    """The part that is done, 0 to 1; -1: unknown."""
    done_t: float = -1.0
    seq: int = 0
    """``seq`` of the record with which it was issued; 0: the log does not contain that."""
    undoes: list[str] = field(default_factory=list)
    """The ids of the commands that this one undoes."""
    step: str = ""
    """Equal for the commands of one key press; an empty string: the command is alone."""


@dataclass(frozen=True, slots=True)
class CommandEffect:
    """What the subjects of a command had when it was applied, from which its receipt is made.

    See :mod:`fuzztui.kernel.model.receipts`.
    """

    id: str
    noun: str
    """The kind of subjects: mutant, entry, type."""
    count: int
    """The number of subjects when the command was given."""
    then: dict[str, list[float]]
    """The figures by subject, without subjects on which the effect has ended."""
    awaited: list[str] = field(default_factory=list)
    """The instances that have still to answer: their figures are those of before the command."""
    t: float = -1.0
    """Campaign time when the first instance applied the command; -1: none has."""
    seq: int = 0
    """``seq`` of that record; 0: none has."""
    measured: int = 0
    """The number of subjects whose figures were kept."""
    around: list[float] = field(default_factory=list)
    """The figures of the whole campaign at that moment."""
    sums: list[float] = field(default_factory=list)
    """What became of the subjects on which the effect has ended, in sum; empty: of none."""
    until: float = -1.0
    """Campaign time when the effect on the last subject ended; -1: it goes on."""
    ended: str = ""
    """How the last one ended: undone, replaced; an empty string: it goes on."""

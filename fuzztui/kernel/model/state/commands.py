"""A command and its answer."""

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

"""Events about commands of users, and their answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzztui.kernel.base.bounds import Count
from fuzztui.kernel.wire.events.base import Event


@dataclass(frozen=True, slots=True)
class CommandIssued(Event, kind="command_issued"):
    """The user ``by`` gave a command; recorded before it is sent to an engine.

    ``command``: the encoded command (:mod:`fuzztui.kernel.wire.commands`). ``undoes``: the ids of
    the commands that this one undoes, first the one whose change it takes back, then later ones
    that have changed nothing. ``step``: equal for the commands that one key press gave, which are
    undone together; an empty string: the command is alone.
    """

    id: str
    command: dict[str, Any] = field(default_factory=dict)
    by: str = ""
    undoes: list[str] = field(default_factory=list)
    step: str = ""


@dataclass(frozen=True, slots=True)
class CommandProgress(Event, kind="command_progress"):
    """Progress of a command that takes long. ``part``: 0 to 1; -1: unknown."""

    id: str
    text: str = ""
    part: float = -1.0


@dataclass(frozen=True, slots=True)
class CommandApplied(Event, kind="command_applied", by_engines=True):
    """The instance or the supervisor executed the command, at ``trial`` (-1: no trial).

    ``made``: the keys of the first and the last entry that the command added; usually empty.
    """

    id: str
    instance: str = ""
    trial: Count = -1
    detail: str = ""
    made: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CommandRejected(Event, kind="command_rejected", by_engines=True):
    """The command was not executed; ``reason``: a text for users."""

    id: str
    instance: str = ""
    reason: str = ""

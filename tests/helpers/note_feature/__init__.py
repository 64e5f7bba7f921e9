"""A feature outside of fuzztui, in three files: ``fuzztui ctl RUN note TEXT --instance NAME``.

``FEATURE`` is its entry point. A note is in the log, so a replay and another machine show it too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.feature import Feature
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.state import State, StatePart
from fuzztui.kernel.wire.commands import Command
from fuzztui.kernel.wire.events import Event

LONGEST = 200
"""Characters of a note."""


@dataclass(frozen=True, slots=True)
class InstanceNoted(Event):
    """A user has written a note on an instance; an empty text removes it."""

    kind: ClassVar[str] = "instance_noted"
    instance: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Note(Command):
    """Write a note on an instance."""

    name: ClassVar[str] = "note"
    text: str
    instance: str = ""

    @property
    def problem(self) -> str:
        """Why the note cannot be written."""
        return f"is longer than {LONGEST} characters" if len(self.text) > LONGEST else ""


@dataclass(slots=True)
class Notes(StatePart):
    """The notes by instance."""

    texts: dict[str, str] = field(default_factory=dict)


def noted(state: State, e: InstanceNoted, touched: ChangesBuilder) -> None:
    """Keep the note, if the instance exists: a log may contain anything."""
    if e.instance in state.instances:
        state.part(Notes).texts[e.instance] = e.text[:LONGEST]
        touched.instances.add(e.instance)


def note_before(command: Note, before: State, now: State) -> list[Command]:
    """The command that sets back what a note has changed."""
    name = command.instance or next(iter(now.instances), "")
    old, new = (state.part(Notes).texts.get(name, "") for state in (before, now))
    return [Note(old, name)] if new == command.text != old else []


FEATURE = Feature(
    "note",
    folds=[EventFold(InstanceNoted, noted)],
    part=Notes,
    undo={Note: note_before},
    service="note_feature.service:NoteService",
    texts="note_feature.screen:texts",
    columns="note_feature.screen:columns",
    facts="note_feature.screen:facts",
)

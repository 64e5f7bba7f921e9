"""Features: what each adds to fuzztui, and which there are.

A package adds one with an entry point of the group :data:`GROUP` that names a :class:`Feature`.
Its events and commands are known once their classes are defined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from fuzztui.base.bounds import all_fit
from fuzztui.base.plugins import installed, named
from fuzztui.model.folding import EventFold
from fuzztui.model.state import State, StatePart
from fuzztui.wire.commands import Command

GROUP = "fuzztui.features"

BUILT_IN = ("fuzztui.model.new_groups:FEATURE",)
"""The features of fuzztui itself."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature. Texts ``MODULE:NAME`` name functions that are imported when they are needed."""

    name: str
    """A name that no other feature has, for checkpoints."""
    folds: Sequence[EventFold] = ()
    """How its events, or those of others, change the state."""
    part: type[StatePart] | None = None
    """Its part of the state; :meth:`State.part` returns the object."""
    undo: Mapping[type[Command], Callable[[Any, State, State], Sequence[Command]]] = field(
        default_factory=dict
    )
    """By class of a command: the commands that set back what it has changed, of the command, the
    state before it and the present state."""
    service: str = ""
    """Returns its service for a :class:`~fuzztui.process.service.ServiceContext`, or None."""
    texts: str = ""
    """Returns functions that describe its events for the log screen, by class of event."""
    columns: str = ""
    """Returns its columns of the table of instances, of a function that returns the state."""
    facts: str = ""
    """Returns its facts about an instance, of the instance and the state."""

    def __post_init__(self) -> None:
        """Raise TypeError for a part that no checkpoint can contain."""
        made = self.part and self.part()
        for one in fields(self.part) if self.part else ():  # type: ignore[arg-type]
            if not all_fit(str(one.type), [getattr(made, one.name)]):
                raise TypeError(f"{self.name}: the default of {one.name} is no {one.type}")


@cache
def features() -> tuple[Feature, ...]:
    """All features, those of fuzztui first. Raises :class:`~fuzztui.base.plugins.PluginError`."""
    return (*map(named, BUILT_IN), *installed(GROUP, Feature))

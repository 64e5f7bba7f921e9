"""Features: what each adds to fuzztui, and which there are.

A package adds one with an entry point of the group :data:`GROUP` that names a :class:`Feature`.
Its events and commands are known once their classes are defined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeVar

from fuzztui.kernel.base.plugins import PluginError, installed, named, points
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.state import State, StatePart
from fuzztui.kernel.wire.codec import annotation_of, check_shapes
from fuzztui.kernel.wire.commands import Command

GROUP = "fuzztui.features"

BUILT_IN = ("fuzztui.kernel.model.new_groups:FEATURE",)
"""The features of fuzztui itself."""

T = TypeVar("T")

_STORED = re.compile(r"(?:dict\[str, |list\[)*(?:int|Count|float|str|bool|dict\[str, Any\])\]*")
"""Annotations of data that a checkpoint can contain."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature. Texts ``MODULE:NAME`` name functions that are imported when they are needed."""

    name: str
    """A name that no other feature has, for checkpoints."""
    folds: Sequence[EventFold] = ()
    """How its events, or those of others, change the state."""
    version: int = 1
    """Increase when the meaning of the folds changes: older checkpoints are not used."""
    part: type[StatePart] | None = None
    """Its part of the state; :meth:`State.part` returns the object."""
    undo: Mapping[type[Command], Callable[[Any, State, State], Sequence[Command]]] = field(
        default_factory=dict
    )
    """By class of a command: the commands that set back what it has changed, of the command, the
    state before it and the present state."""
    service: str = ""
    """Returns its service for a :class:`~fuzztui.run.process.service.ServiceContext`, or None."""
    texts: str = ""
    """Returns functions that describe its events for the log screen, by class of event."""
    columns: str = ""
    """Returns its columns of the table of instances, of a function that returns the state."""
    facts: str = ""
    """Returns its facts about an instance, of the instance and the state."""

    def __post_init__(self) -> None:
        """Raise TypeError for a part that no checkpoint can contain, and for folds of no kind."""
        object.__setattr__(self, "folds", tuple(self.folds))
        if not self.name or not all(isinstance(fold, EventFold) for fold in self.folds):
            raise TypeError(f"feature {self.name!r}: it needs a name, and folds are EventFolds")
        if self.part is None:
            return
        types = {one.name: annotation_of(one) for one in fields(self.part)}  # type: ignore[arg-type]
        wrong = next((name for name, one in types.items() if not _STORED.fullmatch(one)), "")
        if wrong or not types:
            raise TypeError(
                f"{self.part.__name__}.{wrong or '(no field)'}: a part has fields of int, float, "
                "str, bool, and of lists and dicts by str of them"
            )

    def load(self, text: str) -> Any:
        """Return the function that ``MODULE:NAME`` names. Raises PluginError."""
        try:
            return named(text)
        except Exception as e:
            raise PluginError(
                f"feature {self.name}: {text} cannot be imported: {type(e).__name__}: {e}; upgrade "
                "or uninstall its package"
            ) from e

    def call(self, text: str, kind: type[T], *args: Any) -> list[T]:
        """Return the objects of a class that ``MODULE:NAME`` makes. Raises PluginError."""
        function = self.load(text)
        try:
            made = list(function(*args))
            if wrong := [one for one in made if not isinstance(one, kind)]:
                raise TypeError(f"{wrong[0]!r:.100} is no {kind.__name__}")
        except Exception as e:
            raise PluginError(f"feature {self.name}: {text}: {type(e).__name__}: {e}") from e
        return made


@cache
def features() -> tuple[Feature, ...]:
    """All features, those of fuzztui first. Raises
    :class:`~fuzztui.kernel.base.plugins.PluginError`."""
    found = [*map(named, BUILT_IN), *installed(GROUP, Feature)]
    names = [feature.name for feature in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        packages = ", ".join(sorted({p.dist.name for p in points(GROUP) if p.dist}))
        raise PluginError(f"{GROUP}: two features have the name {twice[0]}; look at {packages}")
    if len(found) > len(BUILT_IN):
        try:
            check_shapes()
        except TypeError as e:
            raise PluginError(f"{GROUP}: {e}; upgrade or uninstall the package") from None
    return tuple(found)

"""Features: the class that declares what one adds to fuzztui, and all features.

A package adds one with an entry point of the group :data:`GROUP` that names a :class:`Feature`.
Its events and commands are known once their classes are defined.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, partial
from typing import Any, TypeVar

from fuzztui.kernel.base.plugins import PluginError, installed, named, points
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.state import State, StatePart
from fuzztui.kernel.wire.codec import annotation_of, check_shapes
from fuzztui.kernel.wire.commands import Command

GROUP = "fuzztui.features"

BUILT_IN = "fuzztui.features:BUILT_IN"
"""``MODULE:NAME`` of the features of fuzztui itself."""

MAX_FAULT = 500
"""Characters of the error in the message of :meth:`Feature.fault`."""

T = TypeVar("T")

_STORED = re.compile(r"(?:dict\[str, |list\[)*(?:int|Count|float|str|bool|dict\[str, Any\])\]*")
"""Annotations of data that a checkpoint can contain."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature. Texts ``MODULE:NAME`` name functions that are imported when they are needed."""

    name: str
    """A name that no other feature has, for checkpoints."""
    folds: Sequence[EventFold] = ()
    """How events, the feature's own or others, change the state."""
    version: int = 1
    """Increase when the meaning of the folds changes: older checkpoints are not used."""
    part: type[StatePart] | None = None
    """The class of its part of the state; :meth:`State.part` returns the object."""
    undo: Mapping[type[Command], Callable[[Any, State, State], Any]] = field(default_factory=dict)
    """By class of a command: a function that is called with the command, the state before it and
    the present state. It returns the commands that set back what the command has changed, or an
    :class:`~fuzztui.kernel.model.inverses.Inverse`."""
    receipts: Mapping[type[Command], Any] = field(default_factory=dict)
    """By class of a command: how its effect is measured, a
    :class:`~fuzztui.kernel.model.receipts.Meter`: of fuzztui's own features only."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Commands of ``fuzztui`` that a package adds, by their word. Each text names a function that
    adds arguments to an :class:`argparse.ArgumentParser` and returns the function that carries out
    the command. This is called with the parsed arguments and returns the exit code."""
    table: str = ""
    """Its table of the campaign file: :class:`~fuzztui.run.campaign.table.CampaignTable`."""
    services: str = ""
    """Called with a :class:`~fuzztui.run.process.service.ServiceContext`; returns its services."""
    of_several: bool = False
    """Whether the services also run in a campaign of several targets; if not, only in that of each
    target."""
    phase: str = ""
    """Called with campaign, run directory, launcher and context; returns the
    :class:`~fuzztui.run.instances.phase.Phase` that comes before the target's, or None. For
    fuzztui's own features only."""
    spec: str = ""
    """Called with the campaign, the instance's directory and the path of its ``spec.json``; returns
    tables to add to that file, for in-process engines. Keys are added to tables that exist."""
    texts: str = ""
    """Returns, by class of event, functions that describe its events for the log screen."""
    screen: str = ""
    """Its :class:`~fuzztui.tui.frame.screen.CampaignScreen`: of fuzztui's own features only."""
    actions: str = ""
    """Its :class:`~fuzztui.tui.frame.action.Action` objects: of fuzztui's own features only."""
    legend: str = ""
    """What the columns of its screen mean, a :class:`~fuzztui.tui.labels.legend.Legend`: of
    fuzztui's own features only."""
    overview: str = ""
    """Returns its lines on the Overview: :class:`~fuzztui.tui.frame.overview_line.OverviewLine`."""
    aside: str = ""
    """Returns its :class:`~fuzztui.tui.frame.overview_line.AsideList` objects, for the right part
    of the Overview in a wide terminal: of fuzztui's own features only."""
    advice: str = ""
    """Called with the state; yields what may help a campaign that finds nothing new, the most
    certain first: :class:`~fuzztui.kernel.model.stall.Advice`."""
    figures: str = ""
    """Called with the state; returns its figures for ``status --json``: JSON data by key. Those of
    a package are in the object ``features`` there, and its numbers are metrics, too."""
    rows: str = ""
    """Called with state and run directory; returns rows of ``fuzztui status``: name and text."""
    report: str = ""
    """Called with the state; yields its sections of a run's report:
    :class:`~fuzztui.kernel.base.page.Section`."""
    columns: str = ""
    """Called with a function that returns the state; returns columns of the table of instances."""
    facts: str = ""
    """Called with an instance and the state; returns its facts about the instance."""

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

    def objects(self, text: str, kind: type[T], *args: Any) -> list[T]:
        """Return the objects of class ``kind`` from ``MODULE:NAME``. Raises PluginError."""
        return self.make(text, partial(list_of, kind), *args)

    def made_or(
        self, text: str, check: Callable[[Any], T], failed: Callable[[str], T], *args: Any
    ) -> T:
        """Return what the function ``MODULE:NAME`` returns, checked and converted by ``check``.

        If either raises, return ``failed(message)``.
        """
        try:
            return self.make(text, check, *args)
        except PluginError as e:
            return failed(str(e))

    def data(self, text: str, *args: Any) -> dict[str, Any]:
        """Return the JSON data, by key, from the function ``MODULE:NAME``. Raises PluginError."""
        return self.make(text, as_data, *args)

    def make(self, text: str, checked: Callable[[Any], T], *args: Any) -> T:
        """Call the function ``MODULE:NAME`` with ``args``; return ``checked`` of its result.

        Raises PluginError if one of the two raises.
        """
        function = self.load(text)
        try:
            return checked(function(*args))
        except Exception as e:
            raise PluginError(self.fault(text, e)) from e

    def fault(self, place: str, error: BaseException) -> str:
        """Return a message about an error in the feature; ``place``: the method or function."""
        text = f"feature {self.name}: {place}: {type(error).__name__}: {error}"[:MAX_FAULT]
        return f"{text}; upgrade or uninstall its package"


def list_of(kind: type[T], made: Iterable[T]) -> list[T]:
    """Return the objects as a list. Raises TypeError if one is of another class."""
    found = list(made)
    if wrong := [one for one in found if not isinstance(one, kind)]:
        raise TypeError(f"{wrong[0]!r:.100} is no {kind.__name__}")
    return found


def as_data(made: Mapping[str, Any]) -> dict[str, Any]:
    """Return data for JSON, by key. Raises TypeError or ValueError."""
    return json.loads(json.dumps(dict(made), allow_nan=False))  # type: ignore[no-any-return]


@cache
def own_features() -> tuple[Feature, ...]:
    """The features of fuzztui itself."""
    return tuple(map(named, named(BUILT_IN)))


@cache
def package_features() -> tuple[Feature, ...]:
    """The features of installed packages. Errors in them must not end anything else.

    Raises :class:`~fuzztui.kernel.base.plugins.PluginError`.
    """
    found = installed(GROUP, Feature)
    names = [feature.name for feature in (*own_features(), *found)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        packages = ", ".join(sorted({p.dist.name for p in points(GROUP) if p.dist}))
        raise PluginError(f"{GROUP}: two features have the name {twice[0]}; look at {packages}")
    try:
        check_shapes() if found else None
    except TypeError as e:
        raise PluginError(f"{GROUP}: {e}; upgrade or uninstall the package") from None
    return tuple(found)


def features() -> tuple[Feature, ...]:
    """All features. Raises :class:`~fuzztui.kernel.base.plugins.PluginError`."""
    return (*own_features(), *package_features())

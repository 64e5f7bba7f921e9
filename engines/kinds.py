"""The kinds of in-process engines: one row each, and those that other packages register.

A package offers an engine by an entry point of the group ``fuzztui.engines`` whose name is the kind
and whose object is an :class:`EngineKind`; docs/engines.md has an example. Both the
supervisor and the target's interpreter import this module: it needs ``fuzztui.kernel.wire`` and
``fuzztui.kernel.base`` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fuzztui.engines.keys import MU2_KEYS, SPOTON_KEYS, THIRD_PARTY, Key
from fuzztui.kernel.base.plugins import points
from fuzztui.kernel.wire.commands import (
    ExactPass,
    MutantCommand,
    SetMixture,
    TypeCommand,
    WeighMutator,
    WeighProperty,
    names_of,
)

GROUP: Final = "fuzztui.engines"
"""The entry point group of engines in other packages."""

BASE_COMMANDS: Final = (
    "pause", "resume", "stop", "skip", "promote", "demote", "reset", "add-seed",
)  # fmt: skip
"""Commands that every in-process engine executes: the loop does."""


class UnknownKind(ValueError):
    """No engine of this kind can be used; ``problem`` says why, the message also names the key."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f'engine.kind = "{name}" {problem}')
        self.problem = problem


Option = Key
"""The name of :class:`Key` in packages that register an engine."""


@dataclass(frozen=True, slots=True)
class EngineKind:
    """Everything that fuzztui needs to know about one kind of in-process engine."""

    name: str
    module: str
    """Imported by the worker. ``build(Context)`` returns the loop's parts; optional:
    ``prepare(Spec, Application)``, called before the target is loaded; ``FORM``, the form of a
    generator's inputs; ``fit(InputForm)``, which rejects forms that it cannot mutate."""
    commands: tuple[str, ...] = ()
    """Commands that it executes in addition to :data:`BASE_COMMANDS`."""
    options: tuple[Key, ...] = ()
    """Keys of ``[engine]`` in addition to those that every in-process engine has."""
    finishes: bool = False
    """SIGUSR2 asks it to finish its work (an exact pass) when the budget is used up."""
    analysis: bool = False
    """It needs ``targets.json``, the static analysis of the target's types."""
    without: tuple[str, ...] = ()
    """Keys of ``[target]`` and ``[engine]`` that only other in-process engines accept."""
    oracle: bool = True
    """It accepts the table ``[oracle]``."""
    text: bool = False
    """It accepts the table ``[text]``."""
    suites: bool = False
    """Its campaigns can have several targets: ``target.function`` is a list; it then reads
    ``target.examples``."""
    mutants_first: bool = False
    """Its campaigns can fuzz mutants first: the table ``[mutants]``."""

    @property
    def capabilities(self) -> tuple[str, ...]:
        """All commands that it executes."""
        return (*BASE_COMMANDS, *self.commands)


_ROWS: Final = (
    EngineKind(
        "zest",
        "fuzztui.engines.zest.engine",
        (WeighProperty.name,),
        (THIRD_PARTY,),
        mutants_first=True,
        suites=True,
    ),
    EngineKind(
        "spoton",
        "fuzztui.engines.spoton.engine",
        names_of(TypeCommand),
        SPOTON_KEYS,
        analysis=True,
        without=("input", "dictionary"),  # the input comes from a generator or a test's strategies
    ),
    EngineKind(
        "text",
        "fuzztui.engines.text.engine",
        (SetMixture.name, WeighMutator.name),
        without=("generator",),  # text mutators change inputs, not choices
        text=True,
        mutants_first=True,
    ),
    EngineKind(
        "mu2",
        "fuzztui.engines.mu2.engine",
        (*names_of(MutantCommand), ExactPass.name, WeighProperty.name),
        MU2_KEYS,
        finishes=True,
        oracle=False,
        suites=True,
    ),
)  # fmt: skip

KINDS: Final = {row.name: row for row in _ROWS}
"""The kinds that come with fuzztui."""


def plugin_names() -> Sequence[str]:
    """Kinds that other installed packages register, sorted; a kind of fuzztui's own wins."""
    return sorted({point.name for point in points(GROUP)} - KINDS.keys())


def kind_named(name: str) -> EngineKind:
    """The row of this kind. Raises :class:`UnknownKind`, also of a broken plug-in."""
    if name in KINDS:
        return KINDS[name]
    for point in points(GROUP):
        if point.name != name:
            continue
        try:
            row = point.load()
        except Exception as e:
            problem = f"{point.value} cannot be imported: {type(e).__name__}: {e}"
            raise UnknownKind(name, f"is unusable: {problem}") from None
        if not isinstance(row, EngineKind) or row.name != name:
            raise UnknownKind(name, f"is unusable: {point.value} is not an EngineKind of that name")
        return row
    known = ", ".join((*KINDS, *plugin_names()))
    raise UnknownKind(name, f"is unknown; choose one of {known}")

"""Commands about mutants: of mu2, and of a fuzz-first campaign."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from fuzztui.kernel.wire.commands.base import Command, on_text


class MutantCommand(Command):
    """Base class of commands about mutants; each instance has its own states of them.

    ``select``: a selection (:mod:`fuzztui.kernel.wire.selection`): one id, or all mutants of a
    file, function or operator.
    """

    __slots__ = ()
    for_all = any_applies = for_ended = True
    select: str
    instance: str

    @property
    def summary(self) -> str:
        return f"{self.name} {self.select}{self.details}" + on_text(self.instance)

    @property
    def details(self) -> str:
        """The text after the selection in :attr:`summary`; may be empty."""
        return ""


@dataclass(frozen=True, slots=True)
class SkipMutants(MutantCommand, name="skip-mutants"):
    """Stop running these mutants; they stay in the denominator of the mutation score."""

    select: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class PromoteMutants(MutantCommand, name="promote-mutants"):
    """Run these mutants on every input that reaches them; inputs that infect them get energy."""

    select: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class MoveMutants(MutantCommand, name="move-mutants"):
    """Move these mutants ``to`` "first" or "last" of the mutants that are waiting to run.

    In a worklist also one position "up" or "down".
    """

    select: str
    to: str = "first"
    instance: str = ""

    @property
    def details(self) -> str:
        return f" to {self.to}"


class ReasonedCommand(MutantCommand):
    """Base class of commands about mutants with a user's reason, ``because``."""

    __slots__ = ()
    because: str

    @property
    def details(self) -> str:
        return f", because {self.because}" if self.because else ""


@dataclass(frozen=True, slots=True)
class MarkEquivalent(ReasonedCommand, name="mark-equivalent"):
    """Mark these mutants as equivalent: no input can kill them. ``because``: the user's reason."""

    select: str
    because: str = ""
    instance: str = ""


@dataclass(frozen=True, slots=True)
class AcceptMutants(ReasonedCommand, name="accept-mutants"):
    """Write into the verdicts file that these mutants survive, and need not be looked at.

    ``because``: the user's reason. They stay survivors, and are listed apart.
    """

    ordered: ClassVar[bool] = True
    select: str
    because: str = ""
    instance: str = ""


@dataclass(frozen=True, slots=True)
class UnacceptMutants(MutantCommand, name="unaccept-mutants"):
    """Undo :class:`AcceptMutants`."""

    ordered: ClassVar[bool] = True
    select: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class RequeueMutants(MutantCommand, name="requeue-mutants"):
    """Discard all results of these mutants (verdict, position, runs, even a kill); start again."""

    select: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class RestoreMutants(MutantCommand, name="restore-mutants"):
    """Restore an earlier state of these mutants: users' settings, and results that were discarded.

    The screens and ``fuzztui ctl RUN undo`` send this command; users never do.
    """

    select: str
    state: str = ""
    """The state to restore: skipped, equivalent, killed, ...; an empty string: the state that
    follows from the mutant's results, without a verdict of a user."""
    because: str = ""
    """The reason of ``state``."""
    steer: str = ""
    """promoted, first, last; an empty string: the mutants were not moved."""
    kills: dict[str, Any] = field(default_factory=dict)
    """The discarded kills, by id of the mutant: killer, kill criterion, trial and detail."""
    places: dict[str, Any] = field(default_factory=dict)
    """Positions in a worklist, by id of the mutant."""
    stage: str = ""
    """The progress to restore in a worklist; an empty string: the progress has not changed."""
    instance: str = ""

    @property
    def summary(self) -> str:
        ids = self.select.count("|") + 1 if self.select.startswith("id=") else 0
        what = f"{ids:,} mutants" if ids > 1 else self.select.removeprefix("id=")
        return f"{self.name} {what}" + on_text(self.instance)


USES = ("sequential", "parallel")
"""How instances share mutants: all fuzz one, or each fuzzes one of its own."""


@dataclass(frozen=True, slots=True)
class UseMutants(Command, name="use-mutants"):
    """Fuzz the next mutants ``use``, one of :data:`USES`."""

    for_all: ClassVar[bool] = True
    any_applies: ClassVar[bool] = True
    use: str
    instance: str = ""

    @property
    def problem(self) -> str:
        known = " or ".join(USES)
        return "" if self.use in USES else f"use {self.use!r} is unknown; choose {known}"

    @property
    def summary(self) -> str:
        return f"{self.name} {self.use}" + on_text(self.instance)


@dataclass(frozen=True, slots=True)
class ExactPass(Command, name="exact-pass"):
    """Run every survivor on every entry that infects it, now."""

    for_all: ClassVar[bool] = True
    instance: str = ""

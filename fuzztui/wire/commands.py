"""The commands that a user can give to a running campaign.

A command names instances and entries by id, never by row. It is sent as one JSON object: from
client to supervisor over the control socket, from supervisor to engine as a line of
``control.jsonl``. The engine or the supervisor answers with ``command_applied`` or
``command_rejected``. Unless a command says otherwise, an empty ``instance`` means all instances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fuzztui.wire.mixture import Mixture

MAX_WEIGHT = 1_000_000
"""The largest weight of a type."""


@dataclass(frozen=True, slots=True)
class Command:
    """Base class of all commands; ``name`` is the name on the wire and in ``InstanceHello``."""

    name: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Pause(Command):
    """Stop fuzzing until :class:`Resume`."""

    name: ClassVar[str] = "pause"
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Resume(Command):
    """Undo :class:`Pause`."""

    name: ClassVar[str] = "resume"
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Stop(Command):
    """End one instance; an empty ``instance``: end the campaign. Everything is saved first."""

    name: ClassVar[str] = "stop"
    instance: str = ""


@dataclass(frozen=True, slots=True)
class SkipEntry(Command):
    """Never pick this entry again. ``instance`` may be empty if there is only one."""

    name: ClassVar[str] = "skip"
    entry: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class PromoteEntry(Command):
    """Pick this entry next, with a favored entry's energy; undoes a skip."""

    name: ClassVar[str] = "promote"
    entry: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class DemoteEntry(Command):
    """Pick this entry as rarely as the engine can, with the least energy; undoes a skip."""

    name: ClassVar[str] = "demote"
    entry: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class ResetEntry(Command):
    """Undo a skip, a promotion or a demotion of this entry."""

    name: ClassVar[str] = "reset"
    entry: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class SkipCurrent(Command):
    """Stop fuzzing the present entry and continue with another one."""

    name: ClassVar[str] = "skip-current"
    instance: str = ""


@dataclass(frozen=True, slots=True)
class AddSeed(Command):
    """Add a seed. ``file``: an absolute path on the machine of the campaign.

    Instances import the seed like an entry of a peer: if it covers something new.
    """

    name: ClassVar[str] = "add-seed"
    file: str


@dataclass(frozen=True, slots=True)
class Minimise(Command):
    """Find a smaller input with the same signature as ``file`` (``crashes/NAME``)."""

    name: ClassVar[str] = "minimise"
    file: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class CancelMinimise(Command):
    """End the minimisation of this file; the smallest input until then is kept."""

    name: ClassVar[str] = "cancel-minimise"
    file: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class SetMixture(Command):
    """Set the probabilities of havoc, text and splice steps; their sum is 1.

    ``adaptive``: the engine then raises the probabilities of mutators with more new entries;
    else they stay as set.
    """

    name: ClassVar[str] = "mixture"
    havoc: float
    text: float
    splice: float
    adaptive: bool = False
    instance: str = ""

    @property
    def mixture(self) -> Mixture:
        """The three probabilities as a :class:`Mixture`, which can check them."""
        return Mixture(self.havoc, self.text, self.splice)


@dataclass(frozen=True, slots=True)
class WeighType(Command):
    """Target this type ``weight`` times as often as its distance implies; 0 bans the type.

    ``type``: a name that the static analysis has reported.
    """

    name: ClassVar[str] = "weigh-type"
    type: str
    weight: float
    instance: str = ""

    @property
    def problem(self) -> str:
        """Why the weight is invalid, as a text for users; an empty string if it is valid."""
        if not 0 <= self.weight <= MAX_WEIGHT:  # rejects NaN, too
            return f"a weight is from 0 to {MAX_WEIGHT:,}, not {str(self.weight)[:20]}"
        return ""


@dataclass(frozen=True, slots=True)
class PinGoal(Command):
    """Target this goal alone until it is covered; an empty ``location`` removes the pin.

    ``location`` as in ``targets.json``: ``package/module.py:12:then``.
    """

    name: ClassVar[str] = "pin-target"
    location: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class IgnoreGoal(Command):
    """Do not target this goal; ``ignored`` false targets it again.

    Pinning an ignored goal does so, too; ignoring the pinned goal removes the pin.
    """

    name: ClassVar[str] = "ignore-target"
    location: str
    ignored: bool = True
    instance: str = ""


@dataclass(frozen=True, slots=True)
class SetTargetedShare(Command):
    """Set the part of the mutations, 0 to 1, that are targeted at types."""

    name: ClassVar[str] = "targeted"
    share: float
    instance: str = ""

    @property
    def problem(self) -> str:
        """Why the share is invalid, as a text for users; an empty string if it is valid."""
        if not 0 <= self.share <= 1:
            return f"targeted is {str(self.share)[:20]}, not a part from 0 to 1"
        return ""


# ``select``: a selection of mutants (:mod:`fuzztui.wire.selection`): one id, or all of a file,
# function or operator.


@dataclass(frozen=True, slots=True)
class SkipMutants(Command):
    """Stop running these mutants; they stay in the denominator of the mutation score."""

    name: ClassVar[str] = "skip-mutants"
    select: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class PromoteMutants(Command):
    """Run these mutants on every input that reaches them; inputs that infect them get energy."""

    name: ClassVar[str] = "promote-mutants"
    select: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class MoveMutants(Command):
    """Move these mutants ``to`` "first" or "last" of the mutants that are waiting to run.

    In a worklist also one position "up" or "down".
    """

    name: ClassVar[str] = "move-mutants"
    select: str
    to: str = "first"
    instance: str = ""


@dataclass(frozen=True, slots=True)
class MarkEquivalent(Command):
    """Mark these mutants as equivalent: no input can kill them. ``because``: the user's reason."""

    name: ClassVar[str] = "mark-equivalent"
    select: str
    because: str = ""
    instance: str = ""


@dataclass(frozen=True, slots=True)
class RequeueMutants(Command):
    """Discard all results of these mutants (verdict, position, runs, even a kill); start again."""

    name: ClassVar[str] = "requeue-mutants"
    select: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class ExactPass(Command):
    """Run every survivor on every entry that infects it, now."""

    name: ClassVar[str] = "exact-pass"
    instance: str = ""


MUTANT_COMMANDS = (SkipMutants, PromoteMutants, MoveMutants, MarkEquivalent, RequeueMutants)
"""Commands about mutants. Each instance has its own states of mutants, so one may execute a
command that another one rejects: the command is applied if any instance executed it."""

TYPE_COMMANDS = (WeighType, PinGoal, IgnoreGoal, SetTargetedShare)
"""Commands about types. Each instance has its own uncovered goals: as for mutants, a command is
applied if any instance executed it."""

COMMAND_NAMES: dict[str, type[Command]] = {c.name: c for c in Command.__subclasses__()}
"""Every known command, by its name on the wire."""

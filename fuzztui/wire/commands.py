"""What a user can ask a running campaign to do.

A command names things by id (instance, queue entry), never by row. It travels
as one JSON object: client -> supervisor over the control socket, supervisor ->
engine as a line of ``control.jsonl``. Whoever owns the thing answers with
``command_applied`` or ``command_rejected``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fuzztui.wire.mixture import Mixture

__all__ = [
    "COMMAND_NAMES",
    "MAX_WEIGHT",
    "MUTANT_COMMANDS",
    "TYPE_COMMANDS",
    "AddSeed",
    "CancelMinimise",
    "Command",
    "DemoteEntry",
    "ExactPass",
    "IgnoreGoal",
    "MarkEquivalent",
    "Minimise",
    "MoveMutants",
    "Pause",
    "PinGoal",
    "PromoteEntry",
    "PromoteMutants",
    "RequeueMutants",
    "ResetEntry",
    "Resume",
    "SetMixture",
    "SetTargetedShare",
    "SkipCurrent",
    "SkipEntry",
    "SkipMutants",
    "Stop",
    "WeighType",
]

MAX_WEIGHT = 1_000_000
"""Of a type."""


@dataclass(frozen=True, slots=True)
class Command:
    """Base of all commands; ``name`` is the name on the wire and in ``hello``."""

    name: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Pause(Command):
    """Stop fuzzing until resumed; ``instance`` "" means all."""

    name: ClassVar[str] = "pause"
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Resume(Command):
    """Undo :class:`Pause`."""

    name: ClassVar[str] = "resume"
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Stop(Command):
    """End the campaign cleanly (``instance`` "") or one instance of it."""

    name: ClassVar[str] = "stop"
    instance: str = ""


@dataclass(frozen=True, slots=True)
class SkipEntry(Command):
    """Never pick this queue entry again. ``instance`` "" is allowed where there is only one."""

    name: ClassVar[str] = "skip"
    entry: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class PromoteEntry(Command):
    """Pick this queue entry next, with a favoured entry's energy; undoes a skip."""

    name: ClassVar[str] = "promote"
    entry: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class DemoteEntry(Command):
    """Pick this queue entry as rarely as the engine can, with the least energy; undoes a skip."""

    name: ClassVar[str] = "demote"
    entry: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class ResetEntry(Command):
    """Forget a skip, a promotion or a demotion of this entry."""

    name: ClassVar[str] = "reset"
    entry: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class SkipCurrent(Command):
    """Leave the queue entry that is being fuzzed now, and go on with another."""

    name: ClassVar[str] = "skip-current"
    instance: str = ""


@dataclass(frozen=True, slots=True)
class AddSeed(Command):
    """Give the campaign another input to start from: ``file``, absolute, on its machine.

    Instances take it over as they take over their siblings' finds: if it covers
    something new.
    """

    name: ClassVar[str] = "add-seed"
    file: str


@dataclass(frozen=True, slots=True)
class Minimise(Command):
    """Make a smaller input with the same outcome of ``file`` (``crashes/NAME``)."""

    name: ClassVar[str] = "minimise"
    file: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class CancelMinimise(Command):
    """End what :class:`Minimise` began for that file; the smallest input so far is kept."""

    name: ClassVar[str] = "cancel-minimise"
    file: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class SetMixture(Command):
    """Make steps of the classes havoc, text and splice so probable; they add to 1.

    ``adaptive``: from there on what pays becomes more probable by itself; else they stay as
    they are set. ``instance`` "" means all.
    """

    name: ClassVar[str] = "mixture"
    havoc: float
    text: float
    splice: float
    adaptive: bool = False
    instance: str = ""

    @property
    def mixture(self) -> Mixture:
        """The three as one, which knows what is wrong with it."""
        return Mixture(self.havoc, self.text, self.splice)


@dataclass(frozen=True, slots=True)
class WeighType(Command):
    """Make mutations aim at this type ``weight`` times as often as its distance says; 0 bans it.

    ``type`` is a name that the static analysis has reported. ``instance`` "" means all.
    """

    name: ClassVar[str] = "weigh-type"
    type: str
    weight: float
    instance: str = ""

    @property
    def problem(self) -> str:
        """Why nothing can be weighed so, in words for users; "" if it can."""
        if not 0 <= self.weight <= MAX_WEIGHT:  # nor is no number
            return f"a weight is from 0 to {MAX_WEIGHT:,}, not {str(self.weight)[:20]}"
        return ""


@dataclass(frozen=True, slots=True)
class PinGoal(Command):
    """Aim at this goal alone until it is covered; ``location`` "" ends that.

    ``location`` as in ``targets.json``: ``package/module.py:12:then``. ``instance`` "" means all.
    """

    name: ClassVar[str] = "pin-target"
    location: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class IgnoreGoal(Command):
    """Do not aim at this goal; ``ignored`` false ends that. ``instance`` "" means all.

    Pinning it ends that, too, and ignoring the pinned one ends the pin.
    """

    name: ClassVar[str] = "ignore-target"
    location: str
    ignored: bool = True
    instance: str = ""


@dataclass(frozen=True, slots=True)
class SetTargetedShare(Command):
    """Let this part of the mutations (0 to 1) aim at types. ``instance`` "" means all."""

    name: ClassVar[str] = "targeted"
    share: float
    instance: str = ""

    @property
    def problem(self) -> str:
        """Why there is no such part, in words for users; "" if there is."""
        if not 0 <= self.share <= 1:
            return f"targeted is {str(self.share)[:20]}, not a part from 0 to 1"
        return ""


# Mutants are named by a selection (see :mod:`fuzztui.wire.selection`): one id, or all of a
# file, function or operator. ``instance`` "" means all instances.


@dataclass(frozen=True, slots=True)
class SkipMutants(Command):
    """Do not run these mutants any more; they stay in the score's denominator."""

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
    """Reorder: when mutants wait for their turn, these come ``to`` "first" or "last".

    In a queue also one place "up" or "down".
    """

    name: ClassVar[str] = "move-mutants"
    select: str
    to: str = "first"
    instance: str = ""


@dataclass(frozen=True, slots=True)
class MarkEquivalent(Command):
    """A person's verdict: these mutants cannot be killed, ``because`` ..."""

    name: ClassVar[str] = "mark-equivalent"
    select: str
    because: str = ""
    instance: str = ""


@dataclass(frozen=True, slots=True)
class RequeueMutants(Command):
    """Forget all about these mutants (verdict, place, runs, even a kill) and try them again."""

    name: ClassVar[str] = "requeue-mutants"
    select: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class ExactPass(Command):
    """Run every living mutant on every input of the corpus that infects it, now."""

    name: ClassVar[str] = "exact-pass"
    instance: str = ""


MUTANT_COMMANDS = (SkipMutants, PromoteMutants, MoveMutants, MarkEquivalent, RequeueMutants)
"""Each instance has its own opinion of a mutant: what one cannot do another may. Such a
command was applied if any instance did it."""

TYPE_COMMANDS = (WeighType, PinGoal, IgnoreGoal, SetTargetedShare)
"""Each instance has covered what it has covered: such a command, too, was applied if any did it."""

COMMAND_NAMES: dict[str, type[Command]] = {c.name: c for c in Command.__subclasses__()}
"""Every known command, by its name on the wire."""

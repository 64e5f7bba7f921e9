"""The commands that a user can give to a running campaign.

A command names instances and entries by id, never by row. It is sent as one JSON object: from
client to supervisor over the control socket, from supervisor to engine as a line of
``control.jsonl``. The engine or the supervisor answers with ``command_applied`` or
``command_rejected``. The meaning of a command for instances is described in its class. Whether a
handler of the supervisor executes it instead of the engines depends on the campaign
(``instances.launcher.Launcher.handlers``).
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fuzztui.wire.frames import MAX_RULES, rule_problem
from fuzztui.wire.mixture import Mixture, percentage
from fuzztui.wire.verdicts import CHOICES, MAX_NOTE

MAX_WEIGHT = 1_000_000
"""The largest weight of a type."""


def weight_text(weight: float) -> str:
    """Return a user's weight of a type: ``×4``, ``÷2``, ``⊘ banned``."""
    if weight <= 0:
        return "⊘ banned"
    return f"×{_times(weight)}" if weight >= 1 else f"÷{_times(1 / weight)}"


def _times(n: float) -> str:
    return f"{n:,.0f}" if n >= 100 else f"{n:.3g}"


def _on(instance: str) -> str:
    return f" on {instance}" if instance else ""


@dataclass(frozen=True, slots=True)
class Command:
    """Base class of all commands."""

    name: ClassVar[str] = ""
    """The name on the wire and in ``InstanceHello``; a class without a name is not a command."""
    for_all: ClassVar[bool] = False
    """Whether an empty ``instance`` means all running instances; else it means the only one."""
    any_applies: ClassVar[bool] = False
    """Whether a command for several instances is applied if any of them executed it; else all must.
    For states that each instance has of its own, so that one may execute what another rejects."""
    for_ended: ClassVar[bool] = False
    """Whether instances that have ended get the command, too, for when they are resumed."""
    lasting: ClassVar[bool] = False
    """Whether a command for all instances also holds for instances that start later."""
    ordered: ClassVar[bool] = False
    """Whether a sender waits for the answer before the next such command: one may undo another."""

    @property
    def problem(self) -> str:
        """Why no instance can execute this command, for users; an empty string if it is valid."""
        return ""

    @property
    def subject(self) -> str:
        """What this command sets: a later command with the same name and subject replaces it."""
        return ""

    @property
    def affects(self) -> str:
        """The thing whose state commands of several names change; an empty string if none.

        No command replaces an earlier one that affects the same thing.
        """
        return ""

    @property
    def summary(self) -> str:
        """This command in a few words, for the event list."""
        instance = getattr(self, "instance", "")
        return f"{self.name} {instance}" if instance else self.name


@dataclass(frozen=True, slots=True)
class Pause(Command):
    """Stop fuzzing until :class:`Resume`."""

    name: ClassVar[str] = "pause"
    for_all: ClassVar[bool] = True
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Resume(Command):
    """Undo :class:`Pause`."""

    name: ClassVar[str] = "resume"
    for_all: ClassVar[bool] = True
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Stop(Command):
    """End one instance; an empty ``instance``: end the campaign. Everything is saved first."""

    name: ClassVar[str] = "stop"
    for_all: ClassVar[bool] = True
    instance: str = ""


class EntryCommand(Command):
    """Base class of commands about a queue entry of one instance."""

    __slots__ = ()
    entry: int
    instance: str

    @property
    def summary(self) -> str:
        return f"{self.name} {self.instance or '?'}/{self.entry}"


@dataclass(frozen=True, slots=True)
class SkipEntry(EntryCommand):
    """Never pick this entry again. ``instance`` may be empty if there is only one."""

    name: ClassVar[str] = "skip"
    entry: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class PromoteEntry(EntryCommand):
    """Pick this entry next, with a favored entry's energy; undoes a skip."""

    name: ClassVar[str] = "promote"
    entry: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class DemoteEntry(EntryCommand):
    """Pick this entry as rarely as the engine can, with the least energy; undoes a skip."""

    name: ClassVar[str] = "demote"
    entry: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class ResetEntry(EntryCommand):
    """Undo a skip, a promotion or a demotion of this entry."""

    name: ClassVar[str] = "reset"
    entry: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class SkipCurrent(Command):
    """Stop fuzzing the present entry and continue with another one."""

    name: ClassVar[str] = "skip-current"
    for_all: ClassVar[bool] = True
    instance: str = ""


@dataclass(frozen=True, slots=True)
class AddSeed(Command):
    """Add a seed. ``file``: an absolute path on the machine of the campaign.

    Instances import the seed like an entry of a peer: if it covers something new.
    """

    name: ClassVar[str] = "add-seed"
    file: str

    @property
    def summary(self) -> str:
        return f"{self.name} {self.file}"


class FindingCommand(Command):
    """Base class of commands about a finding. ``file``: ``crashes/NAME``."""

    __slots__ = ()
    file: str
    instance: str

    @property
    def summary(self) -> str:
        return f"{self.name} {self.instance}/{self.file}".replace(" /", " ")


@dataclass(frozen=True, slots=True)
class Minimise(FindingCommand):
    """Find a smaller input with the same signature as ``file``."""

    name: ClassVar[str] = "minimise"
    file: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class CancelMinimise(FindingCommand):
    """End the minimisation of this file; the smallest input until then is kept."""

    name: ClassVar[str] = "cancel-minimise"
    file: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class JudgeFinding(FindingCommand):
    """Write the user's verdict about the group of ``file`` into the campaign's verdicts file.

    ``verdict``: one of :data:`~fuzztui.wire.verdicts.CHOICES`; ``note``: the user's reason.
    """

    name: ClassVar[str] = "judge"
    file: str
    verdict: str
    note: str = ""
    instance: str = ""

    @property
    def problem(self) -> str:
        if self.verdict not in CHOICES:
            return f"a verdict is {', '.join(CHOICES)}, not {self.verdict[:20]!r}"
        if len(self.note) > MAX_NOTE:
            return f"a note has at most {MAX_NOTE:,} characters, not {len(self.note):,}"
        return ""

    @property
    def summary(self) -> str:
        finding = f"{self.instance}/{self.file}".removeprefix("/")
        return f"{self.name} {finding} {self.verdict}" + (f": {self.note}" if self.note else "")


class FramesCommand(Command):
    """Base class of commands about the frames that count for signatures.

    ``rules``: as in the verdicts file, ``FUNCTION`` or ``FILE in FUNCTION``.
    """

    __slots__ = ()
    ordered = True
    rules: list[str]

    @property
    def problem(self) -> str:
        if not self.rules or len(self.rules) > MAX_RULES:
            return f"write from 1 to {MAX_RULES} rules, for example 'checks.py in require'"
        return next(filter(None, map(rule_problem, self.rules)), "")

    @property
    def summary(self) -> str:
        more = f" and {len(self.rules) - 1:,} more" if len(self.rules) > 1 else ""
        return f"{self.name} {self.rules[0] if self.rules else ''}{more}"


@dataclass(frozen=True, slots=True)
class SkipFrames(FramesCommand):
    """Write rules into the verdicts file: frames of these functions do not count."""

    name: ClassVar[str] = "skip-frames"
    rules: list[str]


@dataclass(frozen=True, slots=True)
class CountFrames(FramesCommand):
    """Remove rules from the verdicts file: frames of these functions count again."""

    name: ClassVar[str] = "count-frames"
    rules: list[str]


@dataclass(frozen=True, slots=True)
class SetMixture(Command):
    """Set the probabilities of havoc, text and splice steps; their sum is 1.

    ``adaptive``: the engine then raises the probabilities of mutators with more new entries;
    else they stay as set.
    """

    name: ClassVar[str] = "mixture"
    for_all: ClassVar[bool] = True
    lasting: ClassVar[bool] = True
    havoc: float
    text: float
    splice: float
    adaptive: bool = False
    instance: str = ""

    @property
    def mixture(self) -> Mixture:
        """The three probabilities as a :class:`Mixture`, which can check them."""
        return Mixture(self.havoc, self.text, self.splice)

    @property
    def problem(self) -> str:
        return self.mixture.problem

    @property
    def summary(self) -> str:
        return f"{self.name} {'adaptive' if self.adaptive else self.mixture}" + _on(self.instance)


class TypeCommand(Command):
    """Base class of commands about types and goals, of which each instance has its own."""

    __slots__ = ()
    for_all = any_applies = lasting = True
    instance: str

    @property
    def summary(self) -> str:
        return f"{self.name} {self.what}" + _on(self.instance)

    @property
    def what(self) -> str:
        """What is set, in a few words."""
        return self.subject


@dataclass(frozen=True, slots=True)
class WeighType(TypeCommand):
    """Target this type ``weight`` times as often as its distance implies; 0 bans the type.

    ``type``: a name that the static analysis has reported.
    """

    name: ClassVar[str] = "weigh-type"
    type: str
    weight: float
    instance: str = ""

    @property
    def subject(self) -> str:
        return self.type

    @property
    def what(self) -> str:
        return f"{self.type} {weight_text(self.weight)}"

    @property
    def problem(self) -> str:
        if not 0 <= self.weight <= MAX_WEIGHT:  # rejects NaN, too
            return f"a weight is from 0 to {MAX_WEIGHT:,}, not {str(self.weight)[:20]}"
        return ""


@dataclass(frozen=True, slots=True)
class WeighProperty(Command):
    """Give this property of a suite ``weight`` times the share that its yield implies; 0: none.

    ``property``: its name, the node id of a test.
    """

    name: ClassVar[str] = "weigh-property"
    for_all: ClassVar[bool] = True
    lasting: ClassVar[bool] = True
    property: str
    weight: float
    instance: str = ""

    @builtins.property
    def subject(self) -> str:
        return self.property

    @builtins.property
    def summary(self) -> str:
        return f"{self.name} {self.property} {self.weight:g}" + _on(self.instance)

    @builtins.property
    def problem(self) -> str:
        if not 0 <= self.weight <= MAX_WEIGHT:  # rejects NaN, too
            return f"a weight is from 0 to {MAX_WEIGHT:,}, not {str(self.weight)[:20]}"
        return ""


@dataclass(frozen=True, slots=True)
class PinGoal(TypeCommand):
    """Target this goal alone until it is covered; an empty ``location`` removes the pin.

    ``location`` as in ``targets.json``: ``package/module.py:12:then``.
    """

    name: ClassVar[str] = "pin-target"
    ordered: ClassVar[bool] = True
    location: str
    instance: str = ""

    @property
    def affects(self) -> str:
        return self.location

    @property
    def what(self) -> str:
        return self.location or "none"


@dataclass(frozen=True, slots=True)
class IgnoreGoal(TypeCommand):
    """Do not target this goal; ``ignored`` false targets it again.

    Pinning an ignored goal does so, too; ignoring the pinned goal removes the pin.
    """

    name: ClassVar[str] = "ignore-target"
    ordered: ClassVar[bool] = True
    location: str
    ignored: bool = True
    instance: str = ""

    @property
    def subject(self) -> str:
        return self.location

    @property
    def affects(self) -> str:
        return self.location

    @property
    def what(self) -> str:
        return self.location if self.ignored else f"{self.location} off"


@dataclass(frozen=True, slots=True)
class SetTargetedShare(TypeCommand):
    """Set the part of the mutations, 0 to 1, that are targeted at types."""

    name: ClassVar[str] = "targeted"
    share: float
    instance: str = ""

    @property
    def problem(self) -> str:
        if not 0 <= self.share <= 1:
            return f"targeted is {str(self.share)[:20]}, not a part from 0 to 1"
        return ""

    @property
    def what(self) -> str:
        return percentage(self.share)


class MutantCommand(Command):
    """Base class of commands about mutants, of which each instance has its own states.

    ``select``: a selection (:mod:`fuzztui.wire.selection`): one id, or all mutants of a file,
    function or operator.
    """

    __slots__ = ()
    for_all = any_applies = for_ended = True
    select: str
    instance: str

    @property
    def summary(self) -> str:
        return f"{self.name} {self.select}{self.details}" + _on(self.instance)

    @property
    def details(self) -> str:
        """What follows the selection in :attr:`summary`."""
        return ""


@dataclass(frozen=True, slots=True)
class SkipMutants(MutantCommand):
    """Stop running these mutants; they stay in the denominator of the mutation score."""

    name: ClassVar[str] = "skip-mutants"
    select: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class PromoteMutants(MutantCommand):
    """Run these mutants on every input that reaches them; inputs that infect them get energy."""

    name: ClassVar[str] = "promote-mutants"
    select: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class MoveMutants(MutantCommand):
    """Move these mutants ``to`` "first" or "last" of the mutants that are waiting to run.

    In a worklist also one position "up" or "down".
    """

    name: ClassVar[str] = "move-mutants"
    select: str
    to: str = "first"
    instance: str = ""

    @property
    def details(self) -> str:
        return f" to {self.to}"


def _because(reason: str) -> str:
    """Return a user's reason as the end of a command's text; an empty string without one."""
    return f", because {reason}" if reason else ""


@dataclass(frozen=True, slots=True)
class MarkEquivalent(MutantCommand):
    """Mark these mutants as equivalent: no input can kill them. ``because``: the user's reason."""

    name: ClassVar[str] = "mark-equivalent"
    select: str
    because: str = ""
    instance: str = ""

    @property
    def details(self) -> str:
        return _because(self.because)


@dataclass(frozen=True, slots=True)
class AcceptMutants(MutantCommand):
    """Write into the verdicts file that these mutants survive, and need not be looked at.

    ``because``: the user's reason. They stay survivors, and are listed apart.
    """

    name: ClassVar[str] = "accept-mutants"
    ordered: ClassVar[bool] = True
    select: str
    because: str = ""
    instance: str = ""

    @property
    def details(self) -> str:
        return _because(self.because)


@dataclass(frozen=True, slots=True)
class UnacceptMutants(MutantCommand):
    """Undo :class:`AcceptMutants`."""

    name: ClassVar[str] = "unaccept-mutants"
    ordered: ClassVar[bool] = True
    select: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class RequeueMutants(MutantCommand):
    """Discard all results of these mutants (verdict, position, runs, even a kill); start again."""

    name: ClassVar[str] = "requeue-mutants"
    select: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class RestoreMutants(MutantCommand):
    """Set what users asked for these mutants, and discarded results, back to an earlier state.

    The screens and ``fuzztui ctl RUN undo`` send this command; users never do.
    """

    name: ClassVar[str] = "restore-mutants"
    select: str
    state: str = ""
    """The state to restore: skipped, equivalent, killed, ...; an empty string: the state that
    follows from the mutant's results, without a verdict of a user."""
    because: str = ""
    """The reason of that state."""
    steer: str = ""
    """promoted, first, last, or an empty string: as if it was never moved."""
    kills: dict[str, Any] = field(default_factory=dict)
    """By id, of killed mutants: killer, kill criterion, trial and detail, which were discarded."""
    places: dict[str, Any] = field(default_factory=dict)
    """By id: the position in a worklist."""
    stage: str = ""
    """The progress in a worklist; an empty string: it has not changed."""
    instance: str = ""

    @property
    def summary(self) -> str:
        ids = self.select.count("|") + 1 if self.select.startswith("id=") else 0
        what = f"{ids:,} mutants" if ids > 1 else self.select.removeprefix("id=")
        return f"{self.name} {what}" + _on(self.instance)


Verdict = MarkEquivalent | SkipMutants | RequeueMutants
"""The commands that a user can also give after the end of a mu2 campaign."""

OfVerdictsFile = JudgeFinding | SkipFrames | CountFrames | AcceptMutants | UnacceptMutants
"""The commands that change nothing but the verdicts file, also after the campaign's end."""


@dataclass(frozen=True, slots=True)
class ExactPass(Command):
    """Run every survivor on every entry that infects it, now."""

    name: ClassVar[str] = "exact-pass"
    for_all: ClassVar[bool] = True
    instance: str = ""


def _subclasses(base: type[Command]) -> Iterator[type[Command]]:
    for cls in base.__subclasses__():
        yield cls
        yield from _subclasses(cls)


COMMAND_NAMES: dict[str, type[Command]] = {c.name: c for c in _subclasses(Command) if c.name}
"""Every known command, by its name on the wire."""


def names_of(base: type[Command]) -> tuple[str, ...]:
    """Return the names of all commands of a class."""
    return tuple(name for name, cls in COMMAND_NAMES.items() if issubclass(cls, base))


def command_class(command: Mapping[str, Any]) -> type[Command]:
    """Return the class of an encoded command; :class:`Command` if it is unknown."""
    name = command.get("c")
    return COMMAND_NAMES.get(name, Command) if isinstance(name, str) else Command

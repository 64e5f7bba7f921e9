"""What a user says about types and goals: weights, a pin, what is ignored, the share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Final

from fuzztui.engines.loop.corpus import SteerError
from fuzztui.engines.spoton.distances import Distances
from fuzztui.engines.spoton.feedback import GoalFeedback
from fuzztui.engines.spoton.goals import Goal
from fuzztui.engines.spoton.mutator import TypedMutator
from fuzztui.engines.spoton.relations import TypeRelations
from fuzztui.engines.spoton.types_file import TYPES, Figures
from fuzztui.wire.commands import Command, IgnoreGoal, PinGoal, SetTargetedShare, WeighType

__all__ = ["TargetingCommands"]

_NEAR: Final = 3
"""Names that are proposed for one that is unknown."""

_NAMED: Final = 2
"""Types of a pinned target that the answer names; of more, only the nearest."""

_SHOWN: Final = 80
"""Characters of what a user has written, in the words of a refusal."""


class TargetingCommands:
    """Applied between trials. What was done is in ``.types`` before it is answered, so it outlives
    whatever is killed; what cannot be written there is not done.
    """

    def __init__(
        self, feedback: GoalFeedback, mutator: TypedMutator, kin: TypeRelations, figures: Figures
    ) -> None:
        self._feedback, self._mutator = feedback, mutator
        self._kin, self._figures = kin, figures

    def obey(self, command: Command) -> str:
        """Do it; returns what was done. Raises :class:`SteerError`."""
        match command:
            case WeighType() | SetTargetedShare() if command.problem:
                raise SteerError(command.problem)
            case WeighType():
                return self._weigh(self._named(command.type), float(command.weight))
            case PinGoal(location=""):
                return self._unpin()
            case PinGoal():
                return self._pin(self._left(command.location))
            case IgnoreGoal():
                return self._ignore(command.location, bool(command.ignored))
            case SetTargetedShare():
                return self._share(float(command.share))
            case _:
                raise SteerError(f"this engine does not know how to {command.name}")

    # ----------------------------------------------------------------- carrying out

    def _weigh(self, name: str, weight: float) -> str:
        distances = self._feedback.distances
        before = distances.probability(name)
        with self._kept():
            distances.weigh(name, weight)
        words = f"{name} is banned" if not weight else f"{name} weighs {weight:g}"
        if name not in distances.now:
            return f"{words}; nothing that is aimed at now depends on it"
        words += f": {before:.0%} -> {distances.probability(name):.0%} of picks"
        return words if _any_left(distances) else f"{words}; no type is left: none is aimed at"

    def _pin(self, target: Goal) -> str:
        location = target.location
        words = "pinned, and ignored no more" if location in self._feedback.ignored else "pinned"
        with self._kept():
            self._feedback.pin(location)
        types = [f"{name} {distance}" for name, distance in target.types.items()]
        told = ", ".join(types)
        if len(types) > _NAMED:
            told = f"{types[0]} and {len(types) - 1} more"
        return "; but ".join([f"{location} is {words}: {told}", *self._doubts(target)])

    def _doubts(self, target: Goal) -> Iterator[str]:
        """Why aiming at it may come to nothing."""
        distances = self._feedback.distances
        if not _any_left(distances):
            yield "all its types are banned"
        if not any(distances.standings[t].matches or self._kin.met(t) for t in target.types):
            yield "no entry that was mutated so far has a part of such a type"
        if not self._mutator.targeted:
            yield "no mutation aims: targeted is 0"

    def _unpin(self) -> str:
        pinned = self._feedback.pinned or self._feedback.resting_pin
        with self._kept():
            self._feedback.pin("")
        return f"{pinned} is not pinned any more" if pinned else "nothing was pinned"

    def _ignore(self, location: str, ignored: bool) -> str:
        feedback = self._feedback
        pinned = location == feedback.pinned
        was = location in feedback.ignored | feedback.resting
        if not was:
            self._left(location)
        with self._kept():
            feedback.ignore(location, ignored)
        if not ignored:
            return f"{location} {'is not ignored any more' if was else 'was not ignored'}"
        words = f"{location} is {'pinned no more, and ' * pinned}ignored"
        left = _any_left(feedback.distances)
        return words if left else f"{words}; no type is left: none is aimed at"

    def _share(self, share: float) -> str:
        before = self._mutator.targeted
        with self._kept():
            self._mutator.targeted, self._figures.steered = share, True
        return f"{before:.0%} -> {share:.0%} of the mutations aim at types"

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """What is done within is in ``.types`` after it, or is undone and refused."""
        feedback, distances = self._feedback, self._feedback.distances
        pinned, ignored = feedback.pinned, feedback.ignored
        resting_pin, resting = feedback.resting_pin, feedback.resting
        weights = {n: s.weight for n, s in distances.standings.items()}
        share, steered = self._mutator.targeted, self._figures.steered
        yield
        try:
            self._figures.keep()
        except OSError as e:
            self._mutator.targeted, self._figures.steered = share, steered
            for name in distances.standings:
                distances.weigh(name, weights.get(name, 1.0))
            feedback.ignored = ignored
            feedback.pin(pinned)
            feedback.resting_pin, feedback.resting = resting_pin, resting
            why = e.strerror or e
            raise SteerError(f"not done, as it would be forgotten: {TYPES} ({why})") from None

    # ------------------------------------------------------------------- finding

    def _named(self, name: str) -> str:
        """The type that is called so, or of which that is the end. Raises :class:`SteerError`."""
        known = self._feedback.targets.document.types
        if name in known:
            return name
        ending = sorted(k for k in known if name and k.endswith(f".{name}"))
        if len(ending) == 1:
            return ending[0]
        if ending:
            raise SteerError(f"{_shown(name)} may be {_either(ending)}: say which")
        raise SteerError(f"no type {_shown(name)} decides about any branch{_near(name, known)}")

    def _left(self, location: str) -> Goal:
        """The target there, if mutations can be aimed at it. Raises :class:`SteerError`."""
        targets = self._feedback.targets
        every = {target.location: target for target in targets.document.targets}
        target = every.get(location)
        if target is None:
            file = location.partition(":")[0]
            beside = [known for known in every if known.startswith(f"{file}:")]
            raise SteerError(
                f"there is no goal {_shown(location)}{_near(location, beside or every)}"
            )
        if target.never:
            raise SteerError(f"{location} is never taken, as mypy proves by annotations")
        number = targets.find(location)
        if number is None:
            why = "is not loaded yet" if targets.waits(target) else (
                "is not what it was when its types were analysed"
            )  # fmt: skip
            raise SteerError(f"{location} cannot be aimed at: its module {target.module} {why}")
        if number not in targets.uncovered:
            raise SteerError(f"{location} is covered already")
        if not target.types:
            raise SteerError(
                f"no type is known to decide about it: no mutation can be aimed at {location}"
            )
        return target


def _any_left(distances: Distances) -> bool:
    return any(distances.standings[name].weight for name in distances.now)


def _near(name: str, known: Iterable[str]) -> str:
    """A question whether one of those was meant; "" if none is like it."""
    ends = {re.sub(r".*\.", "", k) if "." not in name and ":" not in name else k: k for k in known}
    found = get_close_matches(name[:_SHOWN], sorted(ends), _NEAR)
    return f": is it {_either([ends[f] for f in found])}?" if found else ""


def _either(names: list[str]) -> str:
    shown = names[:_NEAR]
    rest = [f"{len(names) - len(shown)} more"] if len(names) > len(shown) else []
    return " or ".join([*shown, *rest])


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")

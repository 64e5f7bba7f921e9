"""The commands about types and goals: weights, pin, ignored goals, the targeted share."""

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
from fuzztui.engines.spoton.types_file import TYPES, TypesFile
from fuzztui.kernel.wire.commands import Command, IgnoreGoal, PinGoal, SetTargetedShare, WeighType

_NEAR: Final = 3
"""Names that are suggested for an unknown one."""

_NAMED: Final = 2
"""Types of a pinned goal that the answer names; if there are more, only the nearest is named."""

_SHOWN: Final = 80
"""Characters of the user's text that an error message quotes."""

_ALL_BANNED: Final = "all remaining types are banned, so every mutation is random"


class TargetingCommands:
    """Executes commands between trials.

    Each change is written to ``.types`` before the answer, so it survives a killed process. A
    change that cannot be written is undone and rejected.
    """

    def __init__(
        self,
        feedback: GoalFeedback,
        mutator: TypedMutator,
        relations: TypeRelations,
        types_file: TypesFile,
    ) -> None:
        self._feedback, self._mutator = feedback, mutator
        self._relations, self._types_file = relations, types_file

    def execute(self, command: Command) -> str:
        """Execute a command. Returns the answer. Raises :class:`SteerError` if it is rejected."""
        match command:
            case WeighType() | SetTargetedShare() if command.problem:
                raise SteerError(command.problem)
            case WeighType():
                return self._weigh(self._find_type(command.type), float(command.weight))
            case PinGoal(location=""):
                return self._unpin()
            case PinGoal():
                return self._pin(self._find_goal(command.location))
            case IgnoreGoal():
                return self._ignore(command.location, bool(command.ignored))
            case SetTargetedShare():
                return self._share(None if command.adaptive else float(command.share))
            case _:
                raise SteerError(f"this engine does not support the command {command.name}")

    # ----------------------------------------------------------------- carrying out

    def _weigh(self, name: str, weight: float) -> str:
        distances = self._feedback.distances
        before = distances.probability(name)
        with self._saved_or_undone():
            distances.weigh(name, weight)
        message = f"{name} is banned" if not weight else f"{name} weighs {weight:g}"
        if name not in distances.now:
            return f"{message}; no current goal depends on it"
        message += f": {before:.0%} -> {distances.probability(name):.0%} of picks"
        return message if _any_left(distances) else f"{message}; {_ALL_BANNED}"

    def _pin(self, goal: Goal) -> str:
        location = goal.location
        was_ignored = location in self._feedback.ignored
        message = "pinned, and no longer ignored" if was_ignored else "pinned"
        with self._saved_or_undone():
            self._feedback.pin(location)
        types = [f"{name} {distance}" for name, distance in goal.types.items()]
        types_text = ", ".join(types)
        if len(types) > _NAMED:
            types_text = f"{types[0]} and {len(types) - 1} more"
        return "; but ".join([f"{location} is {message}: {types_text}", *self._obstacles(goal)])

    def _obstacles(self, goal: Goal) -> Iterator[str]:
        """Reasons why mutations directed at the goal may have no effect."""
        distances = self._feedback.distances
        if not _any_left(distances):
            yield "all its types are banned"
        stats = distances.stats_by_type
        if not any(stats[t].matches or self._relations.met(t) for t in goal.types):
            yield "no mutated entry has a part of such a type yet"
        if not self._mutator.targeted:
            yield "no mutation is targeted: targeted is 0"

    def _unpin(self) -> str:
        pinned = self._feedback.pinned or self._feedback.suspended_pin
        with self._saved_or_undone():
            self._feedback.pin("")
        return f"{pinned} is no longer pinned" if pinned else "no goal was pinned"

    def _ignore(self, location: str, ignored: bool) -> str:
        feedback = self._feedback
        pinned = location == feedback.pinned
        was = location in feedback.ignored | feedback.suspended
        if not was:
            self._find_goal(location)
        with self._saved_or_undone():
            feedback.ignore(location, ignored)
        if not ignored:
            return f"{location} {'is no longer ignored' if was else 'was not ignored'}"
        message = f"{location} is {'no longer pinned, and ' * pinned}ignored"
        return message if _any_left(feedback.distances) else f"{message}; {_ALL_BANNED}"

    def _share(self, share: float | None) -> str:
        before = self._mutator.targeted
        with self._saved_or_undone():
            self._mutator.set_share, self._types_file.steered = share, True
        now = f"{self._mutator.targeted:.0%} of the mutations are targeted"
        return f"{before:.0%} -> {now}{', adaptive' * (share is None)}"

    @contextmanager
    def _saved_or_undone(self) -> Iterator[None]:
        """Write the change to ``.types`` on exit. If writing fails, undo the change and reject the
        command.
        """
        feedback, distances = self._feedback, self._feedback.distances
        pinned, ignored = feedback.pinned, feedback.ignored
        suspended_pin, suspended = feedback.suspended_pin, feedback.suspended
        weights = {n: s.weight for n, s in distances.stats_by_type.items()}
        share, steered = self._mutator.set_share, self._types_file.steered
        yield
        try:
            self._types_file.keep()
        except OSError as e:
            self._mutator.set_share, self._types_file.steered = share, steered
            for name in distances.stats_by_type:
                distances.weigh(name, weights.get(name, 1.0))
            feedback.ignored = ignored
            feedback.pin(pinned)
            feedback.suspended_pin, feedback.suspended = suspended_pin, suspended
            why = e.strerror or e
            raise SteerError(
                f"not applied: cannot write {TYPES} ({why}),"
                " so the change would be lost at the next restart"
            ) from None

    # ------------------------------------------------------------------- finding

    def _find_type(self, name: str) -> str:
        """The type with this name, or whose name ends with it. Raises :class:`SteerError`."""
        known = self._feedback.goals.document.types
        if name in known:
            return name
        ending = sorted(k for k in known if name and k.endswith(f".{name}"))
        if len(ending) == 1:
            return ending[0]
        if ending:
            raise SteerError(f"{_shown(name)} is ambiguous: choose {_any_of(ending)}")
        raise SteerError(f"no type {_shown(name)} decides any branch{_suggestion(name, known)}")

    def _find_goal(self, location: str) -> Goal:
        """The goal at this location. Raises :class:`SteerError` if it cannot be targeted."""
        goals = self._feedback.goals
        every = {goal.location: goal for goal in goals.document.goals}
        goal = every.get(location)
        if goal is None:
            file = location.partition(":")[0]
            beside = [known for known in every if known.startswith(f"{file}:")]
            raise SteerError(
                f"there is no goal {_shown(location)}{_suggestion(location, beside or every)}"
            )
        if goal.never:
            raise SteerError(f"{location} is never taken: mypy infers this from annotations")
        number = goals.find(location)
        if number is None:
            why = "is not loaded yet" if goals.is_waiting(goal) else (
                "has changed since the analysis"
            )  # fmt: skip
            raise SteerError(f"{location} cannot be targeted: its module {goal.module} {why}")
        if number not in goals.uncovered:
            raise SteerError(f"{location} is covered already")
        if not goal.types:
            raise SteerError(
                f"{location} cannot be targeted: the analysis found no type that decides the branch"
            )
        return goal


def _any_left(distances: Distances) -> bool:
    return any(distances.stats_by_type[name].weight for name in distances.now)


def _suggestion(name: str, known: Iterable[str]) -> str:
    """A suggestion of similar names; an empty string if none is similar."""
    ends = {re.sub(r".*\.", "", k) if "." not in name and ":" not in name else k: k for k in known}
    found = get_close_matches(name[:_SHOWN], sorted(ends), _NEAR)
    return f"; did you mean {_any_of([ends[f] for f in found])}?" if found else ""


def _any_of(names: list[str]) -> str:
    shown = names[:_NEAR]
    rest = [f"{len(names) - len(shown)} more"] if len(names) > len(shown) else []
    return " or ".join([*shown, *rest])


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")

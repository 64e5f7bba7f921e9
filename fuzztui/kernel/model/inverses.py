"""The commands that set back what a command has changed since an earlier state.

Undoing commands about entries and pauses is here, all else in the ``undo`` of features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fuzztui.kernel.model.feature import features
from fuzztui.kernel.model.passive import is_passive
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import (
    Command,
    DemoteEntry,
    EntryCommand,
    Pause,
    PromoteEntry,
    ResetEntry,
    Resume,
    SkipEntry,
)


class UndoError(Exception):
    """The command cannot be undone; the message says why, for users."""


@dataclass(frozen=True, slots=True)
class Inverse:
    """The commands that undo one command, in this order."""

    commands: tuple[Command, ...] = ()
    note: str = ""
    """What the commands cannot set back, for users; an empty string: nothing."""


Undos = Mapping[type[Command], Callable[[Any, State, State], Inverse]]
"""By class of a command: a function that returns what undoes it. Called with the command, the state
before it and the present state."""


def inverse(command: Command, before: State, now: State) -> Inverse:
    """Return the commands that set back what ``command`` has changed since ``before``.

    What was changed again since then stays. Raises :class:`UndoError`.
    """
    for feature in features():
        if type(command) in feature.undo:
            try:
                return _checked(feature.undo[type(command)](command, before, now))
            except UndoError:
                raise
            except Exception as e:
                text = f"feature {feature.name}: its undo failed: {type(e).__name__}: {e}"
                raise UndoError(text) from e
    match command:
        case EntryCommand():
            return _entry(command, before, now)
        case Pause() | Resume():
            return _pause(command, before, now)
        case _:
            raise UndoError(f"{command.summary} cannot be undone")


def _checked(made: Any) -> Inverse:
    """Return the result of a feature's undo as an Inverse. Raises TypeError if that is wrong."""
    found = made if isinstance(made, Inverse) else Inverse(tuple(made))
    if wrong := [one for one in found.commands if not isinstance(one, Command)]:
        raise TypeError(f"{wrong[0]!r:.100} is no command")
    return found


def _pause(command: Pause | Resume, before: State, now: State) -> Inverse:
    running = [i.id for i in now.instances.values() if i.state not in ENDED and not is_passive(i)]
    if command.instance:
        running = [name for name in running if name == command.instance]
    differ = [name for name in running if _is_paused(before, name) != _is_paused(now, name)]
    back: list[Command] = []
    for kind, paused in ((Resume, False), (Pause, True)):
        names = [name for name in differ if _is_paused(before, name) == paused]
        whole = not command.instance and names == running and bool(names)
        back += [kind()] if whole else [kind(name) for name in names]
    return Inverse(tuple(back))


def _is_paused(state: State, name: str) -> bool:
    instance = state.instances.get(name)
    return state.state == "paused" or (instance is not None and instance.state == "paused")


_STEERS: Mapping[str, type[Command]] = {
    "": ResetEntry,
    "skipped": SkipEntry,
    "promoted": PromoteEntry,
    "demoted": DemoteEntry,
}
"""The command that brings an entry into each state."""


def _entry(command: EntryCommand, before: State, now: State) -> Inverse:
    name = command.instance or next(iter(now.instances), "")
    key = f"{name}/{command.entry}"
    old, new = before.entries.get(key), now.entries.get(key)
    was, is_ = (row.steer if row is not None else "" for row in (old, new))
    if was == is_:
        return Inverse()
    kind: Any = _STEERS.get(was)
    if kind is None:
        raise UndoError(f"{key} was {was}, which no command sets")
    return Inverse((kind(command.entry, command.instance),))


V = TypeVar("V")


def each(
    before: Mapping[str, V], now: Mapping[str, V], make: Callable[[V, str], Command], only: str = ""
) -> Inverse:
    """Return the undo of a command that gives instances a value.

    The undo is one command if all instances had the same value before, else one for each instance
    whose value differs now. ``before``, ``now``: the values by instance. ``make``: makes a command
    of a value and an instance (empty: all). ``only``: the undone command's instance; empty: all.
    """
    old = {name: value for name, value in before.items() if name in now}
    if all(now[name] == value for name, value in old.items()):
        return Inverse()
    values = list(old.values())
    if all(value == values[0] for value in values) and len(old) == len(now):
        return Inverse((make(values[0], only),))
    return Inverse(tuple(make(value, name) for name, value in old.items() if now[name] != value))


def of_weight(
    make: Callable[[str, float, str], Command],
    subject: str,
    weights: Callable[[State, str, str], Mapping[str, float]],
) -> Callable[[Any, State, State], Inverse]:
    """Return the undo of a command that gives something a weight.

    ``make``: makes a command of a name, a weight and an instance. ``subject``: the command's
    attribute with the name. ``weights``: the weights by instance, of a state, a name and an
    instance (empty: all).
    """

    def undo(command: Any, before: State, now: State) -> Inverse:
        name, only = getattr(command, subject), command.instance
        return each(
            weights(before, name, only),
            weights(now, name, only),
            lambda weight, instance: make(name, weight, instance),
            only,
        )

    return undo

"""The commands that set back what a command has changed since an earlier state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.feature import features
from fuzztui.kernel.model.mutators import settings
from fuzztui.kernel.model.passive import is_passive
from fuzztui.kernel.model.progress import AT_WORK, WAITING
from fuzztui.kernel.model.properties import property_weights
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.kernel.model.targeting import weights
from fuzztui.kernel.model.verdicts import given_about
from fuzztui.kernel.wire.commands import (
    AcceptMutants,
    Command,
    CountFrames,
    DemoteEntry,
    EntryCommand,
    IgnoreGoal,
    JudgeFinding,
    MarkEquivalent,
    MoveMutants,
    MutantCommand,
    Pause,
    PinGoal,
    PromoteEntry,
    PromoteMutants,
    RequeueMutants,
    ResetEntry,
    RestoreMutants,
    Resume,
    SetMixture,
    SetTargetedShare,
    SkipEntry,
    SkipFrames,
    SkipMutants,
    TypeCommand,
    UnacceptMutants,
    WeighProperty,
    WeighType,
)
from fuzztui.kernel.wire.selection import Selection, SelectionError, of_ids, parse_selection
from fuzztui.kernel.wire.verdicts import MAX_NOTE, NEW

MAX_MUTANTS = 5000
"""Mutants of one command that are named one by one to undo it; of more if all were alike before."""

MUTANTS_A_COMMAND = 200
"""Mutants that one command restores: requests to the supervisor have at most 64 KB."""


class UndoError(Exception):
    """The command cannot be undone; the message says why, for users."""


@dataclass(frozen=True, slots=True)
class Inverse:
    """The commands that undo one command, in this order."""

    commands: tuple[Command, ...] = ()
    note: str = ""
    """What is not as it was before, for users; an empty string: nothing."""


def inverse(command: Command, before: State, now: State) -> Inverse:
    """Return the commands that set back what ``command`` has changed since ``before``.

    What was changed again since then stays. Raises :class:`UndoError`.
    """
    for feature in features():
        if type(command) in feature.undo:
            try:
                commands = tuple(feature.undo[type(command)](command, before, now))
                if wrong := [one for one in commands if not isinstance(one, Command)]:
                    raise TypeError(f"{wrong[0]!r:.100} is no command")
                return Inverse(commands)
            except UndoError:
                raise
            except Exception as e:
                text = f"feature {feature.name}: its undo failed: {type(e).__name__}: {e}"
                raise UndoError(text) from e
    match command:
        case EntryCommand():
            return _entry(command, before, now)
        case RestoreMutants():
            raise UndoError("an undo is not undone; give the command again")
        case AcceptMutants() | UnacceptMutants():
            return _accepted(command, before, now)
        case MutantCommand():
            return _mutants(command, before, now)
        case WeighType():
            return _each(
                weights(before, command.type, command.instance),
                weights(now, command.type, command.instance),
                lambda weight, name: WeighType(command.type, weight, name),
                command.instance,
            )
        case WeighProperty():
            return _each(
                property_weights(before, command.property, command.instance),
                property_weights(now, command.property, command.instance),
                lambda weight, name: WeighProperty(command.property, weight, name),
                command.instance,
            )
        case TypeCommand():
            return _goal(command, before, now)
        case SetMixture():
            old, new = settings(before, command.instance), settings(now, command.instance)
            return _each(
                {name: (*s.mixture, s.adaptive) for name, s in old.items()},
                {name: (*s.mixture, s.adaptive) for name, s in new.items()},
                lambda s, name: SetMixture(*s, instance=name),
                command.instance,
            )
        case Pause() | Resume():
            return _pause(command, before, now)
        case JudgeFinding():
            return _verdict(command, before, now)
        case SkipFrames():
            was, are = before.skipped_frames, now.skipped_frames
            added = [rule for rule in command.rules if rule not in was and rule in are]
            return Inverse((CountFrames(added),) if added else ())
        case CountFrames():
            was, are = before.skipped_frames, now.skipped_frames
            removed = [rule for rule in command.rules if rule in was and rule not in are]
            return Inverse((SkipFrames(removed),) if removed else ())
        case _:
            raise UndoError(f"{command.summary} cannot be undone")


def _verdict(command: JudgeFinding, before: State, now: State) -> Inverse:
    """Give the group its earlier verdict, if it still has that of the command."""
    key = f"{command.instance}/{command.file}" if command.instance else ""
    finding = now.findings.get(key)
    signature = command.file if finding is None else finding.signature
    old, new = given_about(before, signature), given_about(now, signature)
    verdict, note = (NEW, "") if old is None else (old.verdict, old.note)
    if new is None or (new.verdict, new.note) != (command.verdict, command.note):
        same = new is None and command.verdict == NEW and verdict != NEW
        if not same:
            return Inverse()
    if (verdict, note) == (command.verdict, command.note):
        return Inverse()
    return Inverse((replace(command, verdict=verdict, note=note),))


def _accepted(command: AcceptMutants | UnacceptMutants, before: State, now: State) -> Inverse:
    """Give mutants their earlier verdict, if they still have that of the command."""
    try:
        selection = parse_selection(command.select)
    except SelectionError as e:
        raise UndoError(str(e)) from None
    # As the file has it.
    wanted = brief(command.because, MAX_NOTE) if isinstance(command, AcceptMutants) else None
    restored: dict[str | None, list[str]] = {}
    kept = 0
    for m in selection.of(before.mutants.values()):
        old, new = before.accepted_mutants.get(m.id), now.accepted_mutants.get(m.id)
        was, is_ = (None if row is None else row["because"] for row in (old, new))
        if was == is_:
            continue
        if is_ == wanted:
            restored.setdefault(was, []).append(m.id)
        else:
            kept += 1
    commands: list[Command] = []
    for because, ids in restored.items():
        for at in range(0, len(ids), MUTANTS_A_COMMAND):
            for select in of_ids(ids[at : at + MUTANTS_A_COMMAND]):
                back = UnacceptMutants(select)
                commands.append(back if because is None else AcceptMutants(select, because))
    note = f"{several(kept, 'mutant')} changed since then: left alone" if kept else ""
    return Inverse(tuple(commands), note)


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


def _each(
    before: Mapping[str, V], now: Mapping[str, V], make: Callable[[V, str], Command], only: str = ""
) -> Inverse:
    """Return one command if all instances had the same value, else one for each instance."""
    old = {name: value for name, value in before.items() if name in now}
    if all(now[name] == value for name, value in old.items()):
        return Inverse()
    values = list(old.values())
    if all(value == values[0] for value in values) and len(old) == len(now):
        return Inverse((make(values[0], only),))
    return Inverse(tuple(make(value, name) for name, value in old.items() if now[name] != value))


def _goal(command: TypeCommand, before: State, now: State) -> Inverse:
    """Undo a pin, an ignore or a targeted share."""
    alive = {
        name: (before.types[name], figures)
        for name, figures in now.types.items()
        if name in before.types
        and (not command.instance or name == command.instance)
        and now.instances[name].state not in ENDED
    }
    old = {name: was for name, (was, _) in alive.items()}
    new = {name: is_ for name, (_, is_) in alive.items()}
    if isinstance(command, SetTargetedShare):
        return _each(
            {name: f.targeted for name, f in old.items()},
            {name: f.targeted for name, f in new.items()},
            SetTargetedShare,
            command.instance,
        )
    location = getattr(command, "location", "")
    pins = _each(
        {name: f.pinned for name, f in old.items()},
        {name: f.pinned for name, f in new.items()},
        PinGoal,
        command.instance,
    )
    ignored = _each(
        {name: location in f.ignored for name, f in old.items()},
        {name: location in f.ignored for name, f in new.items()},
        lambda value, name: IgnoreGoal(location, value, name),
        command.instance,
    )
    left = {at for goals in now.uncovered_goals.values() for at in goals}
    note = ""
    # An ignored goal is no pinned one, so that the pins, which end that, come last.
    commands = [*ignored.commands] if location else []
    for pin in pins.commands:
        goal = getattr(pin, "location", "")
        if goal and left and goal not in left:
            note = f"{goal} is covered: it is not pinned again"
            commands.append(PinGoal("", getattr(pin, "instance", "")))
        else:
            commands.append(pin)
    return Inverse(tuple(commands), note)


# ------------------------------------------------------------------- mutants

_VERDICTS = ("skipped", "equivalent")

_Key = tuple[str, str, str, str]
"""What mutants have in common that one command restores: state, reason, position, stage."""


def _setting(m: Mutant) -> tuple[str, str, str]:
    """Return what a user has set: verdict, reason, position."""
    judged = m.state in _VERDICTS
    return m.state if judged else "", m.reason if judged else "", m.steer


def _is_as_set(command: MutantCommand, m: Mutant) -> bool:
    """Whether the mutant still is as the command has set it."""
    match command:
        case SkipMutants():
            return m.state == "skipped"
        case MarkEquivalent():
            return m.state == "equivalent"
        case PromoteMutants():
            return m.steer == "promoted"
        case MoveMutants():
            return bool(m.stage) or m.steer == command.to
        case _:
            return m.state not in _VERDICTS and not m.steer


def _mutants(command: MutantCommand, before: State, now: State) -> Inverse:
    try:
        selection = parse_selection(command.select)
    except SelectionError as e:
        raise UndoError(str(e)) from None
    discards = isinstance(command, RequeueMutants)
    restored: dict[_Key, list[Mutant]] = {}
    over = kept = 0
    for old in selection.of(before.mutants.values()):
        new = now.mutants.get(old.id)
        if new is None or not _changed(old, new, discards=discards):
            continue
        if not _is_as_set(command, new):
            kept += 1
        elif discards and old.stage and new.stage not in WAITING:
            over += 1  # its new turn has begun
        else:
            state, because = old.state, old.reason if discards or old.stage else _setting(old)[1]
            if new.state == "killed" and not discards:
                state, because = new.state, ""
            stage = old.stage if old.stage and discards else ""
            restored.setdefault((state, because, old.steer, stage), []).append(old)
            over += old.stage in AT_WORK and new.stage not in AT_WORK
    if isinstance(command, (MoveMutants, PromoteMutants)):
        for old in _renumbered(selection, before, now):
            new = now.mutants[old.id]
            restored.setdefault((new.state, new.reason, new.steer, ""), []).append(old)
    note = [f"{several(kept, 'mutant')} changed since then: left alone"] * bool(kept)
    note += [f"the turn of {several(over, 'mutant')} is over, or a new one has begun"] * bool(over)
    commands = _restoring(command, selection, restored, now)
    return Inverse(tuple(commands), "; ".join(note))


def _renumbered(selection: Selection, before: State, now: State) -> list[Mutant]:
    """Return the other waiting mutants of a worklist that got another number.

    Positions are numbered again if there was no number left between two of them.
    """
    return [
        old
        for old in before.mutants.values()
        if old.stage in WAITING
        and (new := now.mutants.get(old.id)) is not None
        and new.stage in WAITING
        and new.place != old.place
        and not selection.matches(old)
    ]


def _changed(old: Mutant, new: Mutant, *, discards: bool) -> bool:
    if discards:
        results = (old.state, old.steer, old.stage) != (new.state, new.steer, new.stage)
        return results and new.state != "killed"
    return _setting(old) != _setting(new) or (bool(old.stage) and old.place != new.place)


def _restoring(
    command: MutantCommand,
    selection: Selection,
    restored: Mapping[_Key, list[Mutant]],
    now: State,
) -> list[RestoreMutants]:
    count = sum(map(len, restored.values()))
    if count > MUTANTS_A_COMMAND and (whole := _whole(command, selection, restored, now)):
        return [whole]
    if count > MAX_MUTANTS:
        raise UndoError(
            f"the command changed {count:,} mutants, which were not alike before; at most "
            f"{MAX_MUTANTS:,} can be set back"
        )
    commands = []
    for key, rows in restored.items():
        for at in range(0, len(rows), MUTANTS_A_COMMAND):
            part = rows[at : at + MUTANTS_A_COMMAND]
            kills, places = _own_values(part, key, now)
            try:
                (ids,) = of_ids(m.id for m in part)
            except (SelectionError, ValueError):  # ValueError: ids of hundreds of characters
                raise UndoError("the ids of these mutants cannot be part of a command") from None
            alone = _restore(ids, key, command.instance)
            commands.append(replace(alone, kills=kills, places=places))
    return commands


def _whole(
    command: MutantCommand, selection: Selection, restored: Mapping[_Key, list[Mutant]], now: State
) -> RestoreMutants | None:
    """Return one command for the whole selection; None if not all its mutants were alike."""
    if not set(_KEY.findall(command.select)) <= _CONSTANT:
        return None
    keys = {_by_results(key) if not rows[0].stage else key for key, rows in restored.items()}
    if len(keys) > 1 or any(any(_own_values(rows, key, now)) for key, rows in restored.items()):
        return None
    (key,) = keys
    ids = {m.id for rows in restored.values() for m in rows}
    verdict = key[0] if key[0] in _VERDICTS else ""
    for m in selection.of(now.mutants.values()):
        same = _setting(m) == (verdict, key[1], key[2])
        if m.id not in ids and not (same and (not m.stage or m.state in (key[0], "killed"))):
            return None
    return _restore(command.select, key, command.instance)


_KEY = re.compile(r"(?:^|[,\s])([a-z][a-z-]*)\s*[=<>!]")
_CONSTANT = {"file", "function", "operator", "line"}
"""Keys of conditions whose values no command changes."""


def _by_results(key: _Key) -> _Key:
    """Pending and alive are one: without a verdict, the engine itself knows which."""
    state, because, steer, stage = key
    return ("" if state in ("pending", "alive") else state), because, steer, stage


def _own_values(
    rows: Iterable[Mutant], key: _Key, now: State
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return kills and positions, by id, that differ from those of now."""
    kills = {
        m.id: [m.killer, m.oracle, m.trial, m.detail[:MAX_DETAIL]]
        for m in rows
        if key[0] == "killed" == m.state and now.mutants[m.id].state != "killed"
    }
    places = {
        m.id: m.place for m in rows if m.stage in WAITING and m.place != now.mutants[m.id].place
    }
    return kills, places


MAX_DETAIL = 100
"""Characters of a kill's detail that an undo restores."""


def _restore(select: str, key: _Key, instance: str) -> RestoreMutants:
    state, because, steer, stage = key
    return RestoreMutants(select, state, because, steer, stage=stage, instance=instance)

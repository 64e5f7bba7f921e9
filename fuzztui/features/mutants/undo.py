"""What sets mutants back that a user has skipped, promoted, moved or marked. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fuzztui.features.verdicts.undo import MUTANTS_A_COMMAND
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.inverses import Inverse, UndoError, Undos
from fuzztui.kernel.model.progress import AT_WORK, WAITING
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.kernel.wire.commands import (
    USES,
    MarkEquivalent,
    MoveMutants,
    MutantCommand,
    PromoteMutants,
    RequeueMutants,
    RestoreMutants,
    SkipMutants,
    UseMutants,
)
from fuzztui.kernel.wire.selection import Selection, SelectionError, of_ids, parse_selection

MAX_MUTANTS = 5000
"""Mutants of one command up to which it can be undone if not all of them were alike before."""

MAX_DETAIL = 100
"""Characters of a kill's detail that an undo restores."""

_VERDICTS = ("skipped", "equivalent")

_Key = tuple[str, str, str, str]
"""What must be equal for mutants that one command restores: state, reason, position, stage."""


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
    """Return the waiting mutants outside ``selection`` whose position was renumbered.

    A move renumbers positions if there is no number left between two of them.
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
    """Treat pending and alive as equal: without a verdict, the engine sets the right one."""
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


def _restore(select: str, key: _Key, instance: str) -> RestoreMutants:
    state, because, steer, stage = key
    return RestoreMutants(select, state, because, steer, stage=stage, instance=instance)


def _restored(command: RestoreMutants, before: State, now: State) -> Inverse:
    raise UndoError("an undo is not undone; give the command again")


def _use(command: UseMutants, before: State, now: State) -> Inverse:
    old, new = (bool(state.plan.get("parallel")) for state in (before, now))
    return Inverse((UseMutants(USES[old], command.instance),) if old != new else ())


UNDO: Undos = {
    RestoreMutants: _restored,
    UseMutants: _use,
    **dict.fromkeys(
        (SkipMutants, PromoteMutants, MoveMutants, MarkEquivalent, RequeueMutants), _mutants
    ),
}

"""An instance's ``control.jsonl``: writing a command into it, and what it was given so far."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from fuzztui.base.bounds import loads
from fuzztui.base.files import open_regular, read_regular
from fuzztui.wire.codec import decode_command, encode_command
from fuzztui.wire.commands import (
    TYPE_COMMANDS,
    Command,
    IgnoreGoal,
    PinGoal,
    SetTargetedShare,
    WeighType,
)

__all__ = ["append", "contains", "missed_commands"]

_MAX_CONTROL = 64 << 20
"""Bytes of a file that are looked at."""

_TypeCommand = WeighType | PinGoal | IgnoreGoal | SetTargetedShare
_Subject = tuple[str, str]
_Sent = tuple[int, str, _TypeCommand]


def append(path: Path, command_id: str, command: Command) -> None:
    """One line of ``control.jsonl``, whole or not at all. Raises OSError."""
    message = {"id": command_id, "command": encode_command(command)}
    line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
    fd = open_regular(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            line = b"\n" + line  # someone else's torn line must not swallow ours
        if os.write(fd, line) != len(line):
            os.ftruncate(fd, size)
            raise OSError("no space left")
    finally:
        os.close(fd)


def contains(path: Path, command_id: str) -> bool:
    """Has it that command?"""
    try:
        return f'"id":"{command_id}"'.encode() in read_regular(path, _MAX_CONTROL)
    except OSError:
        return False


def missed_commands(
    name: str, controls: Mapping[str, Path], rejected: Callable[[str], bool] = lambda id_: False
) -> list[tuple[str, Command]]:
    """What all were asked about types while instance ``name`` was not there, for it alone.

    The other instances' files tell: what they were given as a command for all, and this one was
    not; of commands about the same thing the last. Gives the ids of those, too, oldest first.
    ``controls``: the file of each instance, by name. What was ``rejected`` (by id) by all who were
    there has set nothing, so what was before it counts.
    """
    files = [file for other, file in controls.items() if other != name]
    given = [one for file in files for one in _sent(file)]
    theirs = {one[0]: one for one in given if not one[2].instance and not rejected(one[1])}
    every = [theirs[number] for number in sorted(theirs)]
    last = {_subject_of(command): number for number, _, command in every}
    own = list(_sent(controls[name]))
    had: dict[_Subject, int] = {}
    for number, _, command in own:
        had[_subject_of(command)] = max(number, had.get(_subject_of(command), 0))
    told = [*every, *own]
    both = _targets(told, PinGoal) & _targets(told, IgnoreGoal)
    return [
        (id_, replace(command, instance=name))
        for number, id_, command in every
        if number > had.get(_subject_of(command), 0)
        # Pinning a target ends that it is ignored, and the other way round: what has become of
        # it only all of them tell.
        and (number == last[_subject_of(command)] or getattr(command, "location", "") in both)
    ]


def _subject_of(command: _TypeCommand) -> _Subject:
    match command:
        case WeighType():
            return command.name, command.type
        case IgnoreGoal():
            return command.name, command.location
        case _:
            return command.name, ""


def _targets(given: list[_Sent], kind: type[PinGoal | IgnoreGoal]) -> set[str]:
    """Those that a command of that kind is about."""
    return {command.location for _, _, command in given if isinstance(command, kind)}


def _sent(file: Path) -> Iterator[_Sent]:
    """The number of each command about types, its id, and itself; what else there is is left."""
    try:
        lines = read_regular(file, _MAX_CONTROL).split(b"\n")
    except OSError:
        return
    for line in lines:
        try:
            data = loads(line)
            id_, command = data["id"], decode_command(data["command"])
            number = int(id_[1:])  # the supervisor's ids: c, and a number that grows
        except (ValueError, LookupError, TypeError, RecursionError):  # CodecError is a ValueError
            continue
        if isinstance(command, TYPE_COMMANDS):
            yield number, id_, command

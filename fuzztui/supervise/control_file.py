"""An instance's ``control.jsonl``: append a command, and read the commands that were sent."""

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

_MAX_CONTROL = 64 << 20
"""Bytes of a file that are read."""

_TypeCommand = WeighType | PinGoal | IgnoreGoal | SetTargetedShare
_Subject = tuple[str, str]
_Sent = tuple[int, str, _TypeCommand]


def append(path: Path, command_id: str, command: Command) -> None:
    """Append one line to ``control.jsonl``, completely or not at all. Raises OSError."""
    message = {"id": command_id, "command": encode_command(command)}
    line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
    fd = open_regular(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            line = b"\n" + line  # so that a torn line does not swallow this one
        if os.write(fd, line) != len(line):
            os.ftruncate(fd, size)
            raise OSError("no space left")
    finally:
        os.close(fd)


def contains(path: Path, command_id: str) -> bool:
    """Whether the command was written to this file."""
    try:
        return f'"id":"{command_id}"'.encode() in read_regular(path, _MAX_CONTROL)
    except OSError:
        return False


def missed_commands(
    name: str, controls: Mapping[str, Path], rejected: Callable[[str], bool] = lambda id_: False
) -> list[tuple[str, Command]]:
    """Return the commands about types that all other instances got while ``name`` did not run.

    A command for all instances counts if it is in the file of another instance and not in the file
    of ``name``; of several commands about the same subject the last one counts. Returns pairs of id
    and a command for ``name`` alone, oldest first. ``controls``: the file of each instance, by
    name. ``rejected``: whether all instances rejected the command with this id; such a command has
    set nothing, so the one before it counts.
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
    sent = [*every, *own]
    both = _goals(sent, PinGoal) & _goals(sent, IgnoreGoal)
    return [
        (id_, replace(command, instance=name))
        for number, id_, command in every
        if number > had.get(_subject_of(command), 0)
        # Pinning a goal ends its being ignored, and the other way round: the state of such a goal
        # follows from all these commands only.
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


def _goals(sent: list[_Sent], kind: type[PinGoal | IgnoreGoal]) -> set[str]:
    """The goals of the commands of this class."""
    return {command.location for _, _, command in sent if isinstance(command, kind)}


def _sent(file: Path) -> Iterator[_Sent]:
    """Yield number, id and command of each command about types in a file; skip all other lines."""
    try:
        lines = read_regular(file, _MAX_CONTROL).split(b"\n")
    except OSError:
        return
    for line in lines:
        try:
            data = loads(line)
            id_, command = data["id"], decode_command(data["command"])
            number = int(id_[1:])  # the supervisor's ids: c and an increasing number
        except (ValueError, LookupError, TypeError, RecursionError):  # CodecError is a ValueError
            continue
        if isinstance(command, TYPE_COMMANDS):
            yield number, id_, command

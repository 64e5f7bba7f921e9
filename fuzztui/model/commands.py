"""The meaning of logged commands: which are unanswered, and which hold for later instances.

A command for all instances may also hold for instances that start later
(:attr:`~fuzztui.wire.commands.Command.lasting`). ``State.lasting`` contains those that any instance
has applied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import TypeVar

from fuzztui.model.state import CommandStatus, State
from fuzztui.wire.codec import CodecError, decode_command
from fuzztui.wire.commands import Command

MAX_LASTING = 5000
"""Number of commands in force that are kept; the oldest ones are removed first."""

_ID = re.compile(r"(?:[0-9a-z]{1,20}\.)?c([0-9]{1,18})")

C = TypeVar("C", bound=Command)


def command_of(status: CommandStatus) -> Command | None:
    """Return the command; None if it is malformed or no instance could execute it."""
    try:
        command = decode_command(status.command)
    except CodecError:
        return None
    return None if command.problem else command


def unanswered(state: State, kind: type[C]) -> list[tuple[CommandStatus, C]]:
    """Return the commands of a class that wait for an answer, oldest first."""
    waiting = [c for c in list(state.commands.values()) if c.state == "pending"]
    return [(c, command) for c in waiting if isinstance(command := command_of(c), kind)]


def sender_of(state: State, command: Command) -> str:
    """Return who sent an unanswered command; an empty string if the state does not contain it."""
    return next((s.by for s, c in unanswered(state, type(command)) if c == command), "")


def applied(state: State, status: CommandStatus) -> Command | None:
    """Fold that an instance applied a command. Returns the command; None as of :func:`command_of`.

    An answer to a command that a later one has replaced changes nothing.
    """
    command = command_of(status)
    if command is not None and _is_lasting(command):
        key = status.id if command.affects else f"{command.name} {command.subject}"
        before = state.lasting.get(key)
        if before is None or _number(before.id) <= _number(status.id):
            state.lasting.pop(key, None)  # the newest are at the end
            state.lasting[key] = CommandStatus(
                status.id, status.t, status.command, status.by, "applied"
            )
            if len(state.lasting) > MAX_LASTING:
                del state.lasting[next(iter(state.lasting))]
    return command


def missed_commands(state: State, received: Mapping[str, Command]) -> list[Command]:
    """Return the commands for all instances that an instance still needs, oldest first.

    ``received``: what the instance was sent, by id. Of several commands with the same subject the
    last one counts. A command that all instances rejected has set nothing.
    """
    waiting = [status for status, command in unanswered(state, Command) if _is_lasting(command)]
    by_id = {status.id: status for status in (*state.lasting.values(), *waiting)}
    rows = ((_number(id_), command_of(status)) for id_, status in by_id.items())
    every = sorted(((n, c) for n, c in rows if c is not None), key=itemgetter(0))
    last = {(c.name, c.subject): n for n, c in every}
    had: dict[tuple[str, str], int] = {}
    for id_, c in received.items():
        had[c.name, c.subject] = max(_number(id_), had.get((c.name, c.subject), 0))
    names: dict[str, set[str]] = {}
    for c in (*(c for _, c in every), *received.values()):
        names.setdefault(c.affects, set()).add(c.name)
    return [
        c
        for n, c in every
        if n > had.get((c.name, c.subject), -1)
        # Pinning a goal ends its being ignored, and the other way round: the state of such a goal
        # follows from all these commands only.
        and (n == last[c.name, c.subject] or (c.affects and len(names[c.affects]) > 1))
    ]


def _is_lasting(command: Command) -> bool:
    return command.lasting and not getattr(command, "instance", "")


def _number(command_id: str) -> int:
    """Return the number in an id of the supervisor or of a hub, in order of issue; else 0."""
    match = _ID.fullmatch(command_id)
    return int(match[1]) if match else 0

"""The meaning of logged commands: which are unanswered, and which hold for later instances.

A command for all instances may also hold for instances that start later
(:attr:`~fuzztui.kernel.wire.commands.Command.lasting`). ``State.lasting`` contains those that any
instance has applied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import TypeVar

from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.folding import EventFold, never
from fuzztui.kernel.model.representable import representable
from fuzztui.kernel.model.state import RECENT_COMMANDS, CommandStatus, State
from fuzztui.kernel.model.stats import finite, series
from fuzztui.kernel.wire.codec import CodecError, decode_command
from fuzztui.kernel.wire.commands import Command, command_class
from fuzztui.kernel.wire.events import (
    CommandApplied,
    CommandIssued,
    CommandProgress,
    CommandRejected,
    Record,
)

MAX_LASTING = 5000
"""Number of commands in force that are kept; the oldest ones are removed first."""

_ID = re.compile(r"(?:[0-9a-z]{1,20}\.)?c([0-9]{1,18})")

C = TypeVar("C", bound=Command)


def command_of(status: CommandStatus) -> Command | None:
    """Return the command; None if it is malformed or no instance could execute it."""
    try:
        command = decode_command(status.command).as_logged
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


def applied(state: State, event: CommandApplied) -> Command | None:
    """Return the command that an instance has applied; None if unknown, malformed or invalid."""
    status = state.commands.get(event.id)
    return None if status is None else command_of(status)


def _keep_lasting(state: State, status: CommandStatus) -> None:
    """Note an applied command, unless a later one with the same subject was applied before."""
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


def missed_commands(state: State, received: Mapping[str, Command]) -> list[Command]:
    """Return the commands for all instances that an instance still needs, oldest first.

    ``received``: the commands that the instance was sent, by id. Of several commands with the same
    name and subject only the last one is returned, unless commands of other names affect the same
    thing. Commands that all instances rejected are not returned, because they hold for none.
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
        # follows only from all of these commands in their order.
        and (n == last[c.name, c.subject] or (c.affects and len(names[c.affects]) > 1))
    ]


def _is_lasting(command: Command) -> bool:
    return command.lasting and not getattr(command, "instance", "")


def _number(command_id: str) -> int:
    """Return the number in a command's id, which grows in order of issue; 0 for any other id."""
    match = _ID.fullmatch(command_id)
    return int(match[1]) if match else 0


# ------------------------------------------------------------------ the fold


def _command_issued(state: State, e: CommandIssued, touched: ChangesBuilder) -> None:
    given = series(state, "commands")  # of the commands themselves only the newest are kept
    given.add(state.t, given.last + 1)
    legible = representable(Record(1, 0.0, e), 0.0).event is e
    state.commands[e.id] = CommandStatus(
        e.id, state.t, e.command if legible else {}, e.by,
        seq=state.seq, undoes=e.undoes, step=e.step,
    )  # fmt: skip
    touched.commands.add(e.id)
    _forget_commands(state)


def _forget_commands(state: State) -> None:
    if len(state.commands) > RECENT_COMMANDS:
        finished = (k for k, c in state.commands.items() if c.state != "pending")
        del state.commands[next(finished, next(iter(state.commands)))]


def _answer(state: State, key: str, touched: ChangesBuilder) -> CommandStatus:
    command = state.commands.get(key)
    if command is None:
        # The answer to a command that was removed from the table, or never logged.
        command = state.commands[key] = CommandStatus(key, state.t, {})
        _forget_commands(state)
    touched.commands.add(key)
    command.done_t = state.t
    return command


def _command_applied(state: State, e: CommandApplied, touched: ChangesBuilder) -> None:
    command = _answer(state, e.id, touched)
    command.state, command.text = "applied", e.detail
    command.instance, command.trial = e.instance, e.trial
    _keep_lasting(state, command)


def _command_progress(state: State, e: CommandProgress, touched: ChangesBuilder) -> None:
    command = state.commands.get(e.id)
    if command is not None and command.state == "pending":
        command.text, command.part = e.text, finite(e.part, -1.0)
        touched.commands.add(e.id)


def _command_rejected(state: State, e: CommandRejected, touched: ChangesBuilder) -> None:
    command = _answer(state, e.id, touched)
    if command.state == "applied" and command_class(command.command).any_applies:
        return  # another instance executed the command
    command.state, command.text, command.instance = "rejected", e.reason, e.instance


FOLDS = (
    EventFold(CommandIssued, _command_issued),
    EventFold(CommandApplied, _command_applied),
    EventFold(CommandRejected, _command_rejected),
    EventFold(CommandProgress, _command_progress, never),
)

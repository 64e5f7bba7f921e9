"""Undo of a user's last steering: which commands are undone, and the commands that undo them.

The log gives the values before a command: fold the records up to that of the command
(:func:`fold_before`). So an undo works after a screen was closed, and from the shell. A screen and
``fuzztui ctl RUN undo`` give the same user's commands back, the last one first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from fuzztui.kernel.model.commands import command_of
from fuzztui.kernel.model.feature import features
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.inverses import UndoError, inverse
from fuzztui.kernel.model.state import CommandStatus, State
from fuzztui.kernel.wire.commands import (
    AddSeed,
    CancelMinimise,
    Command,
    ExactPass,
    Minimise,
    RestoreMutants,
    SkipCurrent,
    Stop,
)
from fuzztui.kernel.wire.events import CommandApplied, CommandRejected, Record

_PERMANENT: Mapping[type[Command], str] = {
    Stop: "what was stopped does not start again",
    AddSeed: "the input stays in the corpus",
    Minimise: "the smaller input stays",
    CancelMinimise: "give minimise again",
    SkipCurrent: "the instance fuzzes another entry now",
    ExactPass: "a pass goes on until it is complete",
}
"""Commands that cannot be undone, and why not."""


def permanent(command: Command | None) -> str:
    """Return why a command cannot be undone; an empty string if it can be, or there is none."""
    if command is None:
        return ""
    if type(command).__module__.startswith("fuzztui."):
        return _PERMANENT.get(type(command), "")
    known = any(type(command) in feature.undo for feature in features())
    return "" if known else "its package has no undo for it"


# ------------------------------------------------------------------ which one


def last_step(
    state: State, by: str, wanted: str = "", besides: Collection[str] = ()
) -> list[CommandStatus]:
    """Return the commands of the last key press of ``by`` that are not undone, the latest first.

    Empty if there is none. Rejected commands are passed over, because they have changed nothing;
    so are commands with the ids ``besides``, and commands that cannot be undone, if there is an
    earlier one that can. ``wanted``: the id of a command; empty: the last one.
    """
    own = [c for c in list(state.commands.values()) if c.by == by and c.seq and c.command]
    own = [c for c in own if c.state != "rejected"]
    own = [c for c in own if not _has_ended_all(c)]  # the campaign was resumed after that stop
    passed = {*besides, *(id_ for c in own for id_ in c.undoes)}
    steps = [c for c in own if not c.undoes and c.id not in passed and wanted in ("", c.id)]
    if not steps:
        return []
    last = next((c for c in reversed(steps) if not permanent(command_of(c))), steps[-1])
    return [c for c in reversed(steps) if c is last or (last.step and c.step == last.step)]


def _passed_over(state: State, by: str, step: Iterable[CommandStatus]) -> str:
    """Return a note about the user's latest command after ``step`` that cannot be undone; or ""."""
    since = max((c.seq for c in step), default=0)
    later = [
        c
        for c in list(state.commands.values())
        if c.by == by and c.seq > since and c.state != "rejected" and permanent(command_of(c))
    ]
    command = command_of(later[-1]) if later else None
    if command is None:
        return ""
    return f"{command.summary} cannot be undone: {permanent(command)}"


def _has_ended_all(status: CommandStatus) -> bool:
    command = status.command
    return command.get("c") == Stop.name and not command.get("instance")


def why_not(step: Iterable[CommandStatus]) -> str:
    """Return why a step cannot be undone, for users; an empty string if it can be."""
    empty = True
    for status in step:
        empty = False
        command = command_of(status)
        if command is None:
            return "the last command is of another version"
        if reason := permanent(command):
            return f"{command.summary} cannot be undone: {reason}"
        if status.state == "pending":
            return f"{command.summary} has no answer yet"
    return "you have not steered this campaign, or all of it is undone" if empty else ""


def is_undoable(command: Command) -> bool:
    """Return whether commands of this kind can be undone."""
    return not permanent(command) and not isinstance(command, RestoreMutants)


@dataclass(frozen=True, slots=True)
class Undo:
    """The commands that undo one step (the commands of one key press)."""

    step: tuple[CommandStatus, ...]
    """The undone commands, the latest first."""
    commands: tuple[tuple[Command, tuple[str, ...]], ...]
    """The commands to send, in this order, each with the ids of the commands that it undoes: the
    first is the one whose change is taken back, the later ones have changed nothing."""
    note: str = ""
    """What the commands cannot set back, for users; an empty string: nothing."""

    @property
    def what(self) -> str:
        """The undone commands as text."""
        first = command_of(self.step[-1])
        text = first.summary if first is not None else self.step[-1].id
        return text + (f" and {len(self.step) - 1:,} more" if len(self.step) > 1 else "")


def undo(now: State, by: str, before: Callable[[CommandStatus], State], wanted: str = "") -> Undo:
    """Return what undoes the last step of ``by``, or the command with the id ``wanted``.

    ``before`` returns the state before a command (:func:`fold_before`). Steps that have changed
    nothing, or whose changes were set back since, are passed over. Raises :class:`UndoError` if
    nothing can be undone.
    """
    nothing: list[str] = []
    notes: dict[str, None] = {}
    while True:
        step = last_step(now, by, wanted, nothing)
        if wanted and not step:
            raise UndoError(f"you have given no command {wanted} that could be undone")
        if reason := why_not(step):
            raise UndoError("; ".join((*notes, reason)))
        if not wanted and (passed := _passed_over(now, by, step)):
            notes[passed] = None
        earlier = before(step[-1])
        commands: list[tuple[Command, str]] = []
        for status in step:
            command = command_of(status)
            assert command is not None  # as why_not has checked
            found = inverse(command, earlier, now)
            known = [one for one, _ in commands]
            new = [(one, status.id) for one in found.commands if one not in known]
            commands += new
            if not new:
                nothing.append(status.id)
            notes |= dict.fromkeys([found.note] if found.note else [])
        whole = tuple((one, (id_, *nothing)) for one, id_ in commands)
        done = Undo(tuple(step), whole, "; ".join(notes))
        if commands:
            return done
        if wanted:
            raise UndoError(f"{done.what}: {done.note or 'nothing is different from before'}")


def fold_before(state: State, records: Iterable[Record], status: CommandStatus) -> State:
    """Fold ``records`` up to the change by the command ``status`` into ``state``; return ``state``.

    An engine carries out commands in order. So what comes until the answers to earlier commands
    belongs to the state before this command, even if they were pending when it was issued. If this
    command is answered first, by another process, its changes may come before those answers, too.
    """
    waiting: set[str] | None = None
    held: list[Record] = []
    for record in records:
        if waiting is None and record.seq >= status.seq:
            waiting = {c.id for c in state.commands.values() if c.state == "pending"}
        if waiting is None:
            apply(state, [record])
            continue
        answered = ""
        if isinstance(record.event, (CommandApplied, CommandRejected)):
            answered = record.event.id
        if not waiting or answered == status.id:
            break
        held.append(record)
        if answered in waiting:
            waiting.discard(answered)
            apply(state, held)
            held.clear()
    return state

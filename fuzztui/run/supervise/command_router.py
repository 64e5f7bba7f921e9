"""Carry out commands: send each one to its instances or handler, and return the answer.

A command is logged before it is carried out, and its result is logged, too. Engines carry out
commands such as skip and promote: they read a line in ``control.jsonl`` and answer in
``events.jsonl``; also pause and resume, if the engine can. Only the supervisor stops engines: a
line that outlives its engine would stop the next one.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import closing_fd, open_regular, read_regular
from fuzztui.kernel.model.commands import missed_commands
from fuzztui.kernel.remote.protocol import APPLIED, REJECTED, CommandAnswer, CommandRequest
from fuzztui.kernel.remote.server import Ticket
from fuzztui.kernel.wire.codec import CodecError, decode_command, encode_command
from fuzztui.kernel.wire.commands import Command, Pause, Resume, SkipCurrent, Stop
from fuzztui.kernel.wire.events import CommandApplied, CommandRejected
from fuzztui.run.instances.life import EndReason, InstanceLife
from fuzztui.run.supervise.handling import HandlerTasks, LogContext, OpenCommand, combined

_MAX_CONTROL = 64 << 20
"""Bytes of an instance's ``control.jsonl`` that are read."""

SUPERVISOR = "fuzztui"
"""The user (``by``) that the log names for commands of the supervisor itself."""


class CommandContext(LogContext, Protocol):
    """The part of the supervisor that the command router uses."""

    @property
    def lives(self) -> Mapping[str, InstanceLife]:
        """The instances by name."""

    def end(self, end_reason: EndReason) -> None:
        """End the campaign."""

    def end_one(self, life: InstanceLife, end_reason: EndReason) -> None:
        """End one instance."""

    def pending_work(self) -> str:
        """Return what is left to do after the last instance has ended; empty if nothing."""

    def refusal(self, command: Command, by: str) -> str:
        """Return why a command of ``by`` is refused; an empty string: it is not."""

    def pauses_changed(self) -> None:
        """Update the campaign's state after an instance was paused or resumed."""

    def apply_without_instances(self, command: Command, by: str) -> str:
        """Apply a command for all instances while none runs.

        Returns the answer; an empty string if that is impossible.
        """


class CommandRouter:
    """Carries out all commands of a campaign. Runs in the event loop."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._open: dict[str, OpenCommand] = {}
        self._held: list[tuple[str, str]] = []
        """Commands (id, instance) that wait for the instance's first hello."""
        self._handling = HandlerTasks(context.record, context.record)
        self._at_end: list[tuple[OpenCommand, CommandAnswer]] = []
        """Answers that are given when the end of the campaign is in the log."""

    def submit(self, request: CommandRequest) -> Ticket:
        """Log a command and carry it out. Every ticket gets an answer.

        A command with an ``id`` that the log has already is not carried out again: a hub repeats a
        command after it has lost the connection.
        """
        context = self._context
        if request.id and (ticket := self._sent_before(request.id)):
            return ticket
        # Unique, like the sequence numbers of the log.
        command_id = request.id or f"c{context.state.seq + 1}"
        entry = self._open[command_id] = OpenCommand(request)
        context.record(request.issued(command_id))
        if not context.flush():
            self._reject(command_id, "", "the campaign log cannot be written (disk full?)")
        else:
            self._execute(command_id, entry)
        return Ticket(command_id, entry.done)

    def _sent_before(self, command_id: str) -> Ticket | None:
        """The ticket of a command that is in the log already; None if it is new."""
        if entry := self._open.get(command_id):
            return Ticket(command_id, entry.done)
        status = self._context.state.commands.get(command_id)
        if status is None:
            return None
        ticket = Ticket(command_id)
        result = APPLIED if status.state == "applied" else REJECTED
        ticket.answer.set_result(CommandAnswer(result, status.text, status.instance, status.trial))
        return ticket

    def resume(self) -> None:
        """Continue with the commands that an earlier supervisor left without a result."""
        for command_id, status in list(self._context.state.commands.items()):
            if status.state != "pending":
                continue
            try:
                command = decode_command(status.command)
            except CodecError as e:
                self._context.record(CommandRejected(command_id, "", str(e)))
                continue
            request = CommandRequest(command, status.by)
            entry = self._open[command_id] = OpenCommand(request)
            if isinstance(command, Stop):
                self._reject(command_id, "", "the supervisor died; the campaign was started again")
            else:
                self._execute(command_id, entry, again=True)

    def engine_ready(self, life: InstanceLife) -> None:
        """Send the commands that waited for this engine's hello."""
        held, self._held = self._held, []
        for command_id, name in held:
            entry = self._open.get(command_id)
            if entry and name == life.name:
                self._send(life, command_id, entry.command)
            elif entry:
                self._held.append((command_id, name))
        if life.paused:  # the engine was restarted during a pause
            self.submit(CommandRequest(Pause(life.name), SUPERVISOR))

    def instance_started(self, life: InstanceLife) -> None:
        """Send what was set for all instances while this engine did not run."""
        state = self._context.state
        for command in missed_commands(state, sent_commands(self._control(life))):
            if command.name in state.instances[life.name].capabilities:
                alone: Any = command  # all lasting commands can name an instance
                self.submit(CommandRequest(replace(alone, instance=life.name), SUPERVISOR))

    def answered(self, event: CommandApplied | CommandRejected) -> None:
        """Process a logged result of a command, from an engine or from this class."""
        entry = self._open.get(event.id)
        life = self._context.lives.get(event.instance)
        applied = isinstance(event, CommandApplied)
        command = entry.command if entry else self._logged_command(event.id)
        if applied and life is not None and isinstance(command, (Pause, Resume)):
            life.set_paused(isinstance(command, Pause))
            self._context.pauses_changed()
        if entry is None:
            return
        if isinstance(event, CommandApplied):
            answer = CommandAnswer(APPLIED, event.detail, event.instance, event.trial)
        else:
            answer = CommandAnswer(REJECTED, event.reason, event.instance)
        entry.answers[event.instance] = answer
        entry.waiting.discard(event.instance)
        if not entry.waiting:
            del self._open[event.id]
            self._context.flush()  # the sender can then find the result in the log
            self._answer(entry, combined([*entry.answers.values()], entry.command, _summary))

    def _answer(self, entry: OpenCommand, answer: CommandAnswer) -> None:
        """Answer the sender; "stopped" only when the end of the campaign is in the log."""
        if _stops_all(entry.command) and answer.result == APPLIED:
            work = self._context.pending_work()
            if not work:
                self._at_end.append((entry, answer))
                return
            # The pending work takes longer than users wait.
            answer = replace(answer, detail=f"{answer.detail}; {work} before the end")
        if not entry.done.done():
            entry.done.set_result(answer)

    def campaign_ended(self) -> None:
        """Give the answers that wait for the campaign's end, which is in the log now."""
        for entry, answer in self._at_end:
            if not entry.done.done():
                entry.done.set_result(answer)

    def instance_ended(self, life: InstanceLife) -> None:
        """Answer all commands that wait for this instance, which has ended."""
        for command_id, entry in list(self._open.items()):
            if life.name not in entry.waiting:
                continue
            if isinstance(entry.command, Stop):
                event = CommandApplied(command_id, life.name, life.execs, life.state)
                self._context.record(event)
            else:
                self._reject(command_id, life.name, f"{life.name} has ended ({life.state})")

    def close(self) -> None:
        """Cancel the handlers and reject all commands without a result: the campaign ends."""
        self._handling.close()
        for command_id, entry in list(self._open.items()):
            for name in sorted(entry.waiting):
                self._reject(command_id, name, "the campaign ended before the command was applied")

    def _execute(self, command_id: str, entry: OpenCommand, *, again: bool = False) -> None:
        by = entry.request.by
        if self._handling.start(self._context.handlers, command_id, entry.command):
            entry.waiting = {""}
            return
        if problem := entry.command.problem or self._context.refusal(entry.command, by):
            self._reject(command_id, "", problem)
            return
        targets = self._targets(entry.command)
        if isinstance(targets, str):
            answer = self._context.apply_without_instances(entry.command, by)
            if not answer:
                self._reject(command_id, "", targets)
                return
            entry.waiting = {""}
            self._context.record(CommandApplied(command_id, detail=answer))
            return
        entry.waiting = {life.name for life in targets}
        if isinstance(entry.command, Stop):
            end_reason = EndReason("stopped", f"stopped by {by}" if by else "stopped")
            if entry.command.instance:
                self._context.end_one(targets[0], end_reason)
            else:
                self._context.end(end_reason)
            return
        for life in targets:
            if not (again and is_sent(self._control(life), command_id)):
                self._send(life, command_id, entry.command)
        if entry.command.for_ended and not getattr(entry.command, "instance", ""):
            self._leave_for_ended(command_id, entry.command)

    def _leave_for_ended(self, command_id: str, command: Command) -> None:
        """Leave the command for instances that have ended: they apply it when they are resumed."""
        for life in self._context.lives.values():
            instance = self._context.state.instances.get(life.name)
            if not life.over or instance is None or command.name not in instance.capabilities:
                continue
            control = self._control(life)
            if not is_sent(control, command_id):
                with contextlib.suppress(OSError):
                    append(control, command_id, command)

    def _targets(self, command: Command) -> list[InstanceLife] | str:
        """Return the instances that a command is for, or why there is none."""
        lives = self._context.lives
        name: str = getattr(command, "instance", "")
        if not name and command.for_all:
            return [life for life in lives.values() if not life.over] or "no instance is running"
        if not name and len(lives) != 1:
            return f"name an instance, one of: {', '.join(lives)}"
        life = lives.get(name or next(iter(lives)))
        if life is None:
            return f"there is no instance {name!r}; the instances are {', '.join(lives)}"
        return [life] if not life.over else f"{life.name} has ended ({life.state})"

    def _send(self, life: InstanceLife, command_id: str, command: Command) -> None:
        """Send a command to one instance: as a signal, or in its file if it has the capability."""
        instance = self._context.state.instances.get(life.name)
        capabilities = instance.capabilities if instance else []
        number = life.launcher.signals.get(command.name)
        if isinstance(command, Resume):
            life.signal(signal.SIGCONT)  # a process stopped by a signal reads no command
        if isinstance(command, SkipCurrent) and number is not None and life.state != "running":
            # An afl-fuzz that is still starting has no handler for the signal: it would die.
            self._reject(command_id, life.name, f"{life.name} is not fuzzing ({life.state})")
        elif life.launcher.says_hello and not life.greeted:
            self._held.append((command_id, life.name))
        elif number is not None:
            life.order(command.name)
            self._context.record(CommandApplied(command_id, life.name, detail="sent as a signal"))
        elif command.name in capabilities:
            try:
                append(self._control(life), command_id, command)
            except OSError as e:
                reason = f"control.jsonl cannot be written: {e.strerror or e}"
                self._reject(command_id, life.name, reason)
        elif isinstance(command, (Pause, Resume)):
            life.signal(signal.SIGSTOP if isinstance(command, Pause) else signal.SIGCONT)
            done = "paused" if isinstance(command, Pause) else "resumed"
            self._context.record(CommandApplied(command_id, life.name, detail=done))
        else:
            engine = (instance.engine if instance else "") or "its engine"
            why = instance.unable.get(command.name, "") if instance else ""
            reason = f"{engine} cannot {command.name}" + (f": {why}" if why else "")
            if not type(command).__module__.startswith("fuzztui."):
                reason += "; its package had no service for it when the campaign started"
            self._reject(command_id, life.name, reason)

    def _control(self, life: InstanceLife) -> Path:
        return life.directory / "control.jsonl"

    def _reject(self, command_id: str, name: str, reason: str) -> None:
        self._context.record(CommandRejected(command_id, name, reason))

    def _logged_command(self, command_id: str) -> Command | None:
        """Return a command from the log that is not in ``_open``; None if there is none."""
        status = self._context.state.commands.get(command_id)
        try:
            return decode_command(status.command) if status else None
        except CodecError:
            return None


def _stops_all(command: Command) -> bool:
    return isinstance(command, Stop) and not command.instance


def _summary(answers: Sequence[CommandAnswer]) -> str:
    """The details of all answers, each with its instances; equal details once."""
    by_detail: dict[str, list[str]] = {}
    for answer in answers:
        by_detail.setdefault(answer.detail, []).append(answer.instance)
    if len(by_detail) == 1 and len(answers) > 1:
        (detail,) = by_detail
        return f"{detail} ({len(answers)} instances)" if detail else f"{len(answers)} instances"
    return "; ".join(f"{_names(names)}: {detail or 'done'}" for detail, names in by_detail.items())


def _names(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} instances"


def append(path: Path, command_id: str, command: Command) -> None:
    """Append one line to ``control.jsonl``, completely or not at all. Raises OSError."""
    message = {"id": command_id, "command": encode_command(command)}
    append_lines(path, json.dumps(message, separators=(",", ":")).encode() + b"\n")


def append_lines(path: Path, lines: bytes) -> None:
    """Append complete lines to a file, all or none. Raises OSError."""
    with closing_fd(open_regular(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)) as fd:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            lines = b"\n" + lines  # so that a torn line does not swallow the first one
        if os.write(fd, lines) != len(lines):
            os.ftruncate(fd, size)
            raise OSError("no space left")


def is_sent(path: Path, command_id: str) -> bool:
    """Whether a command is in this ``control.jsonl``; decodes no line, as it may have thousands."""
    try:
        return f'"id":"{command_id}"'.encode() in read_regular(path, _MAX_CONTROL)
    except OSError:
        return False


def sent_commands(path: Path) -> dict[str, Command]:
    """Return the commands in a ``control.jsonl`` by id, oldest first; skip all other lines."""
    try:
        lines = read_regular(path, _MAX_CONTROL).split(b"\n")
    except OSError:
        return {}
    sent: dict[str, Command] = {}
    for line in lines:
        try:
            data = loads(line)
            sent[str(data["id"])] = decode_command(data["command"])
        except (ValueError, LookupError, TypeError, RecursionError):  # CodecError is a ValueError
            continue
    return sent

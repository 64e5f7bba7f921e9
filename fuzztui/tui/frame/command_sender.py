"""Sends commands to the supervisor and selects pending ones from the state. No widgets here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fuzztui.kernel.model.state import CommandStatus, State
from fuzztui.kernel.remote.client import ControlClient, RemoteError, sender
from fuzztui.kernel.remote.protocol import CommandAnswer
from fuzztui.kernel.wire.commands import Command, Minimise
from fuzztui.kernel.wire.selection import selection_of
from fuzztui.tui.base.background import in_thread

STEER, REMEMBER = "steer", "remember"
"""Groups of workers for which leaving waits: sending commands, and storing a user's choices."""


class Client(Protocol):
    """The used part of :class:`~fuzztui.kernel.remote.client.ControlClient`."""

    def send(
        self, command: Command, timeout: float = 10.0, *, undoes: Sequence[str] = (), step: str = ""
    ) -> CommandAnswer:
        """Send ``command`` and wait for the answer, ``timeout`` seconds at most. Blocking."""

    def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """The result of a command: ``kind`` is applied, rejected, pending or failed."""

    kind: str
    detail: str = ""
    trial: int = -1


Answered = Callable[[CommandOutcome], bool]
"""Called with the outcome of a command; returns whether it has shown that to the user."""


def _connect(run: Path) -> Client:
    return ControlClient(run, "tui")


class CommandSender:
    """Sends each command by a new connection, so that a supervisor can be replaced."""

    def __init__(
        self, run: Path, connect: Callable[[Path], Client] = _connect, by: str = ""
    ) -> None:
        """``by``: the user that the supervisor records with commands; "": this process's."""
        self._run = run
        self._connect = connect
        self.by = by or sender()

    async def send(
        self, command: Command, *, undoes: Sequence[str] = (), step: str = ""
    ) -> CommandOutcome:
        """Send ``command`` and wait in a thread for the result. Never raises.

        ``undoes`` and ``step``: see :class:`~fuzztui.kernel.wire.events.CommandIssued`.
        """
        try:
            result = await in_thread(lambda: self._send(command, undoes, step))
        except (RemoteError, OSError) as e:
            return CommandOutcome("failed", str(e))
        if result.ok:
            return CommandOutcome("applied", result.detail, result.trial)
        return CommandOutcome("pending" if result.pending else "rejected", result.detail)

    def _send(self, command: Command, undoes: Sequence[str], step: str) -> CommandAnswer:
        client = self._connect(self._run)
        try:
            return client.send(command, undoes=undoes, step=step)
        finally:
            client.close()


def pending_mutants(state: State) -> dict[str, list[str]]:
    """Return the names of the pending commands of each mutant, by the mutant's id."""
    out: dict[str, list[str]] = {}
    for status in list(state.commands.values()):
        selection = selection_of(status.command) if status.state == "pending" else None
        if selection is not None:
            name = str(status.command.get("c", "?"))
            named = selection.named
            ids = (
                [m.id for m in selection.of([*state.mutants.values()])] if named is None else named
            )
            for mutant_id in ids:
                out.setdefault(mutant_id, []).append(name)
    return out


def pending_for(state: State) -> dict[str, list[str]]:
    """Return the names of pending commands by key of the entry or finding, or by instance id."""
    out: dict[str, list[str]] = {}
    for status in list(state.commands.values()):
        if status.state != "pending":
            continue
        command = status.command
        target = str(command.get("instance", ""))
        if "entry" in command:
            if not target and len(state.instances) == 1:
                target = next(iter(state.instances))
            target = f"{target}/{command['entry']}"
        elif "file" in command:
            target = f"{target}/{command['file']}"
        out.setdefault(target, []).append(str(command.get("c", "?")))
    return out


def minimisings(state: State) -> dict[str, CommandStatus]:
    """Return the latest minimise command of each finding, answered or not, by finding key."""
    return {
        f"{status.command.get('instance', '')}/{status.command.get('file', '')}": status
        for status in list(state.commands.values())
        if status.command.get("c") == Minimise.name
    }

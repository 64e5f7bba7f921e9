"""From a keypress to the supervisor and back. No widgets in here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fuzztui.model.state import CommandStatus, State
from fuzztui.remote.client import ControlClient, RemoteError, Result
from fuzztui.tui.base.background import in_thread
from fuzztui.wire.commands import Command, Minimise
from fuzztui.wire.selection import Selection, SelectionError, parse_selection


class Client(Protocol):
    """The part of :class:`~fuzztui.remote.client.ControlClient` that is used."""

    def send(self, command: Command, timeout: float = 10.0) -> Result:
        """Blocking."""

    def close(self) -> None:
        """Done with it."""


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """How a command ended: ``kind`` is applied, rejected, pending or failed."""

    kind: str
    detail: str = ""
    trial: int = -1


def _connect(run: Path) -> Client:
    return ControlClient(run, "tui")


class CommandSender:
    """Sends commands, one connection each: nothing to lose when a supervisor is replaced."""

    def __init__(self, run: Path, connect: Callable[[Path], Client] = _connect) -> None:
        self._run = run
        self._connect = connect

    async def send(self, command: Command) -> CommandOutcome:
        """Send ``command`` and wait, in a thread, for what became of it. Never raises."""
        try:
            result = await in_thread(lambda: self._send(command))
        except (RemoteError, OSError) as e:
            return CommandOutcome("failed", str(e))
        if result.ok:
            return CommandOutcome("applied", result.detail, result.trial)
        return CommandOutcome("pending" if result.pending else "rejected", result.detail)

    def _send(self, command: Command) -> Result:
        client = self._connect(self._run)
        try:
            return client.send(command)
        finally:
            client.close()


def pending_mutants(state: State) -> dict[str, list[str]]:
    """Names of the unanswered commands by the id of each mutant that they mean."""
    out: dict[str, list[str]] = {}
    for status in list(state.commands.values()):
        selection = selection_of(status.command) if status.state == "pending" else None
        if selection is not None:
            name = str(status.command.get("c", "?"))
            rows = list(state.mutants.values())
            ids = [selection.id] if selection.id else [m.id for m in selection.of(rows)]
            for mutant_id in ids:
                out.setdefault(mutant_id, []).append(name)
    return out


def selection_of(command: dict[str, Any]) -> Selection | None:
    """The mutants that an encoded command is about, if it is about mutants."""
    try:
        return parse_selection(str(command["select"]))
    except (KeyError, SelectionError):
        return None


def pending_for(state: State) -> dict[str, list[str]]:
    """Names of the unanswered commands, by entry or finding key, or by instance id."""
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
    """By the key of a finding: the latest command to minimise it, answered or not."""
    return {
        f"{status.command.get('instance', '')}/{status.command.get('file', '')}": status
        for status in list(state.commands.values())
        if status.command.get("c") == Minimise.name
    }

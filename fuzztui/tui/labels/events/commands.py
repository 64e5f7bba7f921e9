"""Commands of users, and events about them, as text."""

from __future__ import annotations

from typing import Any

from fuzztui.kernel.wire.codec import CodecError, decode_command
from fuzztui.kernel.wire.events import (
    CommandApplied,
    CommandIssued,
    CommandProgress,
    CommandRejected,
)
from fuzztui.tui.base import format
from fuzztui.tui.labels.events.base import COMMANDS, Described, describe


def command_text(command: dict[str, Any]) -> str:
    """Return an encoded command as text: ``promote main/12``; of an invalid one the name."""
    try:
        decoded = decode_command(command)
    except CodecError:
        return str(command.get("c", "?"))
    return decoded.name if decoded.problem else decoded.summary


@describe.register
def _issued(event: CommandIssued) -> Described:
    by = f"  by {event.by}" if event.by else ""
    text = f"undo of {event.undoes[0]}" if event.undoes else command_text(event.command)
    return Described("command", f"{text}{by}", "pending", "", COMMANDS)


@describe.register
def _applied(event: CommandApplied) -> Described:
    at = f"  at trial {event.trial:,}" if event.trial >= 0 else ""
    text = f"{event.id}  {event.detail}{at}"
    return Described("done", text, "running", event.instance, COMMANDS)


@describe.register
def _rejected(event: CommandRejected) -> Described:
    text = f"{event.id}  {event.reason}"
    return Described("rejected", text, "failed", event.instance, COMMANDS)


@describe.register
def _progress(event: CommandProgress) -> Described:
    part = f"  {format.percent(event.part, 1.0)}" if event.part >= 0 else ""
    return Described("progress", f"{event.id}  {event.text}{part}", "pending", "", COMMANDS)

"""The commands about one row, with who gave them, and what came since. Pure."""

from __future__ import annotations

from collections.abc import Callable

from fuzztui.kernel.model.receipts import in_force, receipt_of
from fuzztui.kernel.model.state import CommandStatus, State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.details import pair, title
from fuzztui.tui.labels.events import command_text

COMMANDS = 8
"""Maximal number of listed commands, the latest ones."""


def command_lines(
    state: State, concerns: Callable[[CommandStatus], bool], subject: str = ""
) -> list[Line]:
    """Return the commands for which ``concerns`` is true, the latest first.

    ``subject``: the key of the row, if :func:`since_lines` shows the effect that is in force.
    """
    about = [c for c in list(state.commands.values()) if concerns(c)]
    if not about:
        return []
    lines: list[Line] = [[], title("commands")]
    for command in reversed(about[-COMMANDS:]):
        answer = f"{command.state} {command.text}".strip()
        style = {"applied": "running", "rejected": "failed"}.get(command.state, "pending")
        lines.append(
            [
                TextSpan(f"{format.clock(command.t):>8}  ", "muted"),
                TextSpan(plain(command_text(command.command))),
                TextSpan(f"  by {plain(command.by)}" if command.by else "", "muted"),
                TextSpan(f"  {plain(answer)}", style),
            ]
        )
        effect = state.effects.get(command.id)
        if effect is None or subject in effect.then:
            continue
        if (receipt := receipt_of(state, command.id)) is not None:
            lines.append([TextSpan(f"{'since':>8}  ", "muted"), TextSpan(plain(receipt.text))])
    return lines


def since_lines(state: State, subject: str) -> list[Line]:
    """Return what came since the latest command with an effect on the row; empty if none has."""
    receipt = in_force(state, subject)
    if receipt is None:
        return []
    return [pair("since", f"{format.clock(receipt.effect.t)}  {receipt.text}")]


def brief_since(state: State, subject: str) -> str:
    """Return in a few cells what came since that command: ``+2,943 runs``, ``saved 6s``."""
    receipt = in_force(state, subject)
    for figure in () if receipt is None else receipt.figures:
        if figure.name == "saved":
            return f"saved {format.brief(figure.now)}" if figure.now >= 1 else ""
        if figure.then is not None and figure.now > figure.then:
            return f"+{format.whole(figure.now - figure.then)} {figure.name}"
    return ""


def commands_naming(state: State, field: str, name: str) -> list[Line]:
    """Return the commands whose ``field`` is ``name``, the latest first."""
    return command_lines(state, lambda status: status.command.get(field) == name)

"""Commands that a screen has sent and the log does not show yet.

Key presses in quick succession become one command, which is shown as pending from the first key
press on; the next key press continues from the pending value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual.timer import Timer

from fuzztui.kernel.model.commands import command_of
from fuzztui.kernel.model.state import CommandStatus
from fuzztui.kernel.wire.commands import Command
from fuzztui.tui.frame.screen import CampaignScreen

SETTLE_S = 0.4
"""Seconds to wait for a further key press before a command is sent."""

ECHO_S = 10.0
"""Seconds for which a sent command is shown as pending while the log does not mention it."""

Key = tuple[str, str, str]
"""What a command changes: a later command with the same key replaces an earlier one."""


def _key(command: Command) -> Key:
    return command.name, command.subject, getattr(command, "instance", "")


class PendingCommands:
    """The pending commands of one screen."""

    def __init__(
        self, screen: CampaignScreen, label: Callable[[Command], str], changed: Callable[[], None]
    ) -> None:
        """``label``: of a command, for notifications; ``changed``: called to draw the screen."""
        self._screen, self._label, self._changed = screen, label, changed
        self._wanted: dict[Key, Command] = {}
        self._sent: dict[Key, frozenset[str]] = {}
        """Ids of the commands in the log when each was sent; unsent ones are missing."""
        self._settling: Timer | None = None
        self._echo: Timer | None = None

    @property
    def commands(self) -> list[Command]:
        """The pending commands, oldest first."""
        return list(self._wanted.values())

    def status_text(self, waiting: Sequence[tuple[CommandStatus, Command]]) -> str:
        """Return a text on the pending commands and those of ``waiting``; "" if there are none."""
        if self._wanted:
            return "not sent yet" if len(self._sent) < len(self._wanted) else "sent…"
        if not waiting:
            return ""
        status, command = waiting[-1]
        instance = getattr(command, "instance", "") or "the engines"
        return f"sent by {status.by or 'another user'}, {status.text or f'waiting for {instance}'}…"

    def add(self, commands: Iterable[Command], after: float = SETTLE_S) -> None:
        """Send ``commands`` after ``after`` seconds; each replaces a pending one with its key."""
        for command in commands:
            key = _key(command)
            self._wanted.pop(key, None)
            self._sent.pop(key, None)
            self._wanted[key] = command
        if self._settling is not None:
            self._settling.stop()
        self._settling = self._screen.set_timer(after, self._send)
        self._changed()

    def flush(self) -> None:
        """Send all unsent commands now."""
        if self._settling is not None:
            self._settling.stop()
            self._send()

    def forget(self) -> None:
        """Remove all pending commands."""
        for timer in (self._settling, self._echo):
            if timer is not None:
                timer.stop()
        self._wanted.clear()
        self._sent.clear()

    def drop_recorded(self) -> None:
        """Remove sent commands that the log contains now: it has their state from here on."""
        logged = list(self._screen.campaign.commands.values()) if self._sent else []
        recorded = [(s.id, _key(c)) for s in logged if (c := command_of(s)) is not None]
        for key, known in list(self._sent.items()):
            if any(id not in known and other == key for id, other in recorded):
                del self._wanted[key], self._sent[key]

    def _send(self) -> None:
        now = frozenset(list(self._screen.campaign.commands))
        unsent = {s: command for s, command in self._wanted.items() if s not in self._sent}
        if not unsent:
            return
        if self._echo is not None:
            self._echo.stop()
        self._echo = self._screen.set_timer(ECHO_S, self._expire)
        for key, command in unsent.items():
            self._sent[key] = now
            self._screen.host.steer(command, self._label(command))
        self._changed()

    def _expire(self) -> None:
        for key in self._sent:
            del self._wanted[key]
        self._sent.clear()
        self._changed()

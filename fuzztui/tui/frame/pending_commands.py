"""What somebody asks for on a screen, until the log tells what becomes of it.

Steps that follow each other fast become one command; what is asked for is shown as such from
the first key on, and its next step continues from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from textual.timer import Timer

from fuzztui.model.state import CommandStatus
from fuzztui.tui.frame.screen import CampaignScreen
from fuzztui.wire.codec import encode_command
from fuzztui.wire.commands import Command, IgnoreGoal

__all__ = ["ECHO_S", "PendingCommands"]

SETTLE_S = 0.4
"""Steps that follow each other as fast are one command."""

ECHO_S = 10.0
"""So long what was sent is shown as asked for, if the log does not say it is."""

Subject = tuple[str, str, str]
"""What a command is about: two about the same are steps of one."""


def _subject(command: dict[str, Any]) -> Subject:
    kind = str(command.get("c"))
    thing = command.get("location" if kind == IgnoreGoal.name else "type", "")
    return kind, str(thing), str(command.get("instance", ""))


class PendingCommands:
    """Of one screen."""

    def __init__(
        self, screen: CampaignScreen, words: Callable[[Command], str], changed: Callable[[], None]
    ) -> None:
        """``words``: a command for the notice of what becomes of it; ``changed``: show it."""
        self._screen, self._words, self._changed = screen, words, changed
        self._wanted: dict[Subject, Command] = {}
        self._known: dict[Subject, frozenset[str]] = {}
        """The commands that there were when a wish was sent; none before it is."""
        self._settling: Timer | None = None
        self._echo: Timer | None = None

    @property
    def commands(self) -> list[Command]:
        """What was asked for here and the log does not say, oldest first."""
        return list(self._wanted.values())

    def story(self, waiting: Sequence[tuple[CommandStatus, Command]]) -> str:
        """What becomes of what is asked for here or ``waiting``; "" if nothing is."""
        if self._wanted:
            return "to be sent" if len(self._known) < len(self._wanted) else "sent…"
        if not waiting:
            return ""
        status, command = waiting[-1]
        whom = getattr(command, "instance", "") or "the engines"
        return f"asked by {status.by or 'somebody'}, {whom} will answer…"

    def ask(self, wishes: Iterable[Command], after: float = SETTLE_S) -> None:
        """Send them soon, each instead of an earlier one about the same."""
        for wish in wishes:
            subject = _subject(encode_command(wish))
            self._wanted.pop(subject, None)
            self._known.pop(subject, None)
            self._wanted[subject] = wish
        if self._settling is not None:
            self._settling.stop()
        self._settling = self._screen.set_timer(after, self._send)
        self._changed()

    def settle(self) -> None:
        """Send at once what waits for another step."""
        if self._settling is not None:
            self._settling.stop()
            self._send()

    def forget(self) -> None:
        """Nothing is asked for any more."""
        for timer in (self._settling, self._echo):
            if timer is not None:
                timer.stop()
        self._wanted.clear()
        self._known.clear()

    def heard(self) -> None:
        """The log may have what was sent: from there on it says what becomes of it."""
        told = list(self._screen.campaign.commands.items()) if self._known else []
        for subject, known in list(self._known.items()):
            if any(id not in known and _subject(s.command) == subject for id, s in told):
                del self._wanted[subject], self._known[subject]

    def _send(self) -> None:
        now = frozenset(list(self._screen.campaign.commands))
        unsent = {s: wish for s, wish in self._wanted.items() if s not in self._known}
        if not unsent:
            return
        if self._echo is not None:
            self._echo.stop()
        self._echo = self._screen.set_timer(ECHO_S, self._not_heard)
        for subject, wish in unsent.items():
            self._known[subject] = now
            self._screen.host.steer(wish, self._words(wish))
        self._changed()

    def _not_heard(self) -> None:
        for subject in self._known:
            del self._wanted[subject]
        self._known.clear()
        self._changed()

"""Pending commands: given by a user, not in the log yet; and listings that show them.

Key presses in quick succession become one command, which is shown as pending from the first key
press on; the next key press continues from the pending value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import TypeVar

from textual.timer import Timer

from fuzztui.kernel.model.commands import command_of
from fuzztui.kernel.model.state import Changes, CommandStatus
from fuzztui.kernel.wire.commands import Command
from fuzztui.tui.frame.listing import ListingScreen
from fuzztui.tui.frame.screen import CampaignScreen
from fuzztui.tui.labels.latest_saved import LatestSaved
from fuzztui.tui.labels.status import Status

T = TypeVar("T")
P = TypeVar("P")

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
        """``label`` returns a command as text; ``changed`` is called to draw the screen."""
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


def unchanged(before: Sequence[object], now: Sequence[object]) -> bool:
    """Whether both hold the same objects; the fold replaces an object that changes."""
    return len(before) == len(now) and all(map(is_, before, now))


class SteeredScreen(ListingScreen[T, P]):
    """A listing whose rows are rebuilt from statistics as a whole, with pending commands.

    Subclasses define the sources of the rows, the rows, and how pending commands are shown.
    """

    def __init__(
        self, named_by: Callable[[str], Iterable[str]], label: Callable[[Command], str]
    ) -> None:
        """``named_by`` returns the names that an ``op`` credits; ``label`` a command as text."""
        super().__init__()
        self._latest_saved = LatestSaved(named_by)
        self._pending = PendingCommands(self, label, self._redraw_pending)
        self._sources: Sequence[object] = ()
        """The statistics from which the current rows were made."""

    def sources(self) -> Sequence[object]:
        """Return the objects from which rows are made; rows are rebuilt if one was replaced."""
        raise NotImplementedError

    def rebuild(self, *, reset: bool) -> None:
        """Rebuild the rows; ``reset``: the state has jumped to another moment."""
        raise NotImplementedError

    def _show_pending(self) -> None:
        raise NotImplementedError

    def _update_empty(self) -> None:
        raise NotImplementedError

    def show(self, changes: Changes) -> None:
        """Show new statistics, saved inputs, and commands that came or went."""
        self._latest_saved.note(self.campaign, changes)
        if changes.reset or changes.commands:
            self._pending.drop_recorded()
            self._show_pending()
        sources = self.sources()
        if changes.reset or not unchanged(self._sources, sources):
            self._sources = sources
            self.rebuild(reset=changes.reset)
        self._update_empty()
        self._count()
        self.show_detail()
        self.host.refresh_footer()

    def tick(self, status: Status) -> None:
        """Update the pending commands, which may have been answered or timed out."""
        super().tick(status)
        self._show_pending()

    def leave(self) -> None:
        """Send commands that still wait for a further key press."""
        self._pending.flush()

    def _redraw_pending(self) -> None:
        self._show_pending()
        self.show_detail()
        self.host.refresh_footer()

"""A listing whose rows are rebuilt from statistics as a whole, with pending commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import TypeVar

from fuzztui.kernel.model.state import Changes
from fuzztui.kernel.wire.commands import Command
from fuzztui.tui.frame.listing import ListingScreen
from fuzztui.tui.frame.pending_commands import PendingCommands
from fuzztui.tui.labels.latest_saved import LatestSaved
from fuzztui.tui.labels.status import Status

T = TypeVar("T")
P = TypeVar("P")


def unchanged(before: Sequence[object], now: Sequence[object]) -> bool:
    """Whether both hold the same objects; the fold replaces an object that changes."""
    return len(before) == len(now) and all(map(is_, before, now))


class SteeredScreen(ListingScreen[T, P]):
    """Subclasses define the sources of the rows, the rows, and how pending commands are shown."""

    def __init__(
        self, named_by: Callable[[str], Iterable[str]], label: Callable[[Command], str]
    ) -> None:
        """``named_by``: names credited by an entry's ``op``; ``label``: of a command, for users."""
        super().__init__()
        self._latest_saved = LatestSaved(named_by)
        self._pending = PendingCommands(self, label, self._redraw_pending)
        self._sources: Sequence[object] = ()
        """The statistics from which the current rows were made."""

    def sources(self) -> Sequence[object]:
        """Return the sources of the rows; rows are rebuilt if one is another object."""
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

"""A listing whose rows are rebuilt from statistics as a whole, with pending commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import TypeVar

from fuzztui.model.state import Changes
from fuzztui.tui.frame.listing import ListingScreen
from fuzztui.tui.frame.pending_commands import PendingCommands
from fuzztui.tui.labels.latest_saved import LatestSaved
from fuzztui.tui.labels.status import Status
from fuzztui.wire.commands import Command

__all__ = ["SteeredScreen", "unchanged"]

T = TypeVar("T")
P = TypeVar("P")


def unchanged(before: Sequence[object], now: Sequence[object]) -> bool:
    """Whether both hold the same objects; the fold replaces an object that changes."""
    return len(before) == len(now) and all(map(is_, before, now))


class SteeredScreen(ListingScreen[T, P]):
    """Subclasses define the sources of the rows, the rows, and how pending commands are shown."""

    def __init__(
        self, named_by: Callable[[str], Iterable[str]], words: Callable[[Command], str]
    ) -> None:
        """``named_by``: names credited by an entry's ``op``; ``label``: of a command, for users."""
        super().__init__()
        self._finds = LatestSaved(named_by)
        self._wishes = PendingCommands(self, words, self._show_wishes)
        self._told: Sequence[object] = ()
        """The statistics from which the current rows were made."""

    def figures(self) -> Sequence[object]:
        """Return the sources of the rows; rows are rebuilt if one is another object."""
        raise NotImplementedError

    def take(self, *, anew: bool) -> None:
        """Rebuild the rows; ``reset``: the state has jumped to another moment."""
        raise NotImplementedError

    def _show_asked(self) -> None:
        raise NotImplementedError

    def _say_what_is_missing(self) -> None:
        raise NotImplementedError

    def show(self, changes: Changes) -> None:
        """Show new statistics, saved inputs, and commands that came or went."""
        self._finds.note(self.campaign, changes)
        if changes.reset or changes.commands:
            self._wishes.heard()
            self._show_asked()
        told = self.figures()
        if changes.reset or not unchanged(self._told, told):
            self._told = told
            self.take(anew=changes.reset)
        self._say_what_is_missing()
        self._count()
        self.show_detail()
        self.host.refresh_footer()

    def tick(self, status: Status) -> None:
        """Update the pending commands, which may have been answered or timed out."""
        super().tick(status)
        self._show_asked()

    def leave(self) -> None:
        """Send commands that still wait for a further key press."""
        self._wishes.settle()

    def _show_wishes(self) -> None:
        self._show_asked()
        self.show_detail()
        self.host.refresh_footer()

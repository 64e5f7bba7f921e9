"""A listing whose figures come all at once, and whose keys ask engines for things step by step."""

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
    """Are these the very same things? The fold puts another one in the place of what is new."""
    return len(before) == len(now) and all(map(is_, before, now))


class SteeredScreen(ListingScreen[T, P]):
    """Subclasses say what the rows are made of, how, and what is asked for."""

    def __init__(
        self, named_by: Callable[[str], Iterable[str]], words: Callable[[Command], str]
    ) -> None:
        """``named_by``: what an entry's ``op`` is thanks to; ``words``: of what is asked for."""
        super().__init__()
        self._finds = LatestSaved(named_by)
        self._wishes = PendingCommands(self, words, self._show_wishes)
        self._told: Sequence[object] = ()
        """Which figures the rows are of."""

    def figures(self) -> Sequence[object]:
        """What the rows are made of: while these are the very same things, so are the rows."""
        raise NotImplementedError

    def take(self, *, anew: bool) -> None:
        """Make the rows of the figures; ``anew``: they are of another moment."""
        raise NotImplementedError

    def _show_asked(self) -> None:
        raise NotImplementedError

    def _say_what_is_missing(self) -> None:
        raise NotImplementedError

    def show(self, changes: Changes) -> None:
        """Take in new figures, finds, and commands that came or went."""
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
        """What was asked for may have been answered, or nobody has heard of it."""
        super().tick(status)
        self._show_asked()

    def leave(self) -> None:
        """What was asked for a moment ago is sent before somebody looks at something else."""
        self._wishes.settle()

    def _show_wishes(self) -> None:
        self._show_asked()
        self.show_detail()
        self.host.refresh_footer()

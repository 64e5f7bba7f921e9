"""The interface of the application for widgets and screens.

Widgets work in any application with this interface: tests and benchmarks have small ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from textual.dom import DOMNode
from textual.screen import Screen

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.state import Changes, State
from fuzztui.kernel.model.story import Moment
from fuzztui.kernel.wire.commands import Command
from fuzztui.tui.base.canvas import Painter
from fuzztui.tui.base.user_state import ViewOptions
from fuzztui.tui.frame.action_context import ActionContext
from fuzztui.tui.frame.command_sender import Answered
from fuzztui.tui.frame.ghost import Ghost
from fuzztui.tui.labels.lineage import Lineage
from fuzztui.tui.labels.status import Status


class Tracker(Protocol):
    """A cache that a feature computes from all rows of the state, and updates when rows change."""

    def take(self, changes: Changes) -> None:
        """Update the cache by changes of the campaign."""


T = TypeVar("T", bound=Tracker)


class AppInterface(Painter, Protocol):
    """The interface that a screen needs in addition."""

    run_dir: Path | None
    mode: str
    reconnections: int
    """How often the run's machine has been reached again: what could not be copied may be now."""
    lineage: Lineage
    choices: ViewOptions
    """What the user has opened or switched on; change it with :meth:`choose`."""

    @property
    def campaign(self) -> State:
        """The state. Iterate over its tables only in a callback of :meth:`when_free`."""

    @property
    def status(self) -> Status:
        """The totals as of the last tick."""

    @property
    def story(self) -> Sequence[Moment]:
        """The moments of the campaign, in a replay of all of it. Call it while it is not folded."""

    def seek(self, t: float) -> None:
        """In a replay: show the campaign as it was at ``t`` seconds."""

    @property
    def ghost(self) -> Ghost | None:
        """The run whose curves are drawn for comparison; None: there is none, or it is hidden."""

    def compare_with(self, run: str | None) -> None:
        """Draw the curves of the run with that path, too; None: keep those that are drawn."""

    def tracked(self, kind: Callable[[Callable[[], State]], T]) -> T:
        """Return the application's object of a class, which takes all changes from now on.

        The object is made at the first call, of a function that returns the state.
        """

    def is_styled(self, screen: Screen[Any]) -> bool:
        """Whether a screen that is shown again has its styles."""

    def scopes(self) -> Sequence[str]:
        """Return the scopes of the actions that the screen has now."""

    def action_context(self) -> ActionContext:
        """Return which actions are possible now."""

    def when_free(self, look: Callable[[], None]) -> None:
        """Call ``look`` as soon as no other thread changes the state."""

    def steer(self, command: Command, label: str) -> None:
        """Send a command to the supervisor; ``label`` names it in notifications."""

    def steer_all(
        self, commands: Sequence[Command], label: str, answered: Answered | None = None
    ) -> bool:
        """Send commands about several rows, with one notification for all.

        Returns False, and notifies the user, if there are too many. ``answered`` is called with the
        worst outcome, and returns whether it has shown that in place of the notification.
        """

    def choose(self, name: str, on: bool) -> None:
        """Switch one of :attr:`choices` on or off, also for the next use of the screens."""

    def copy(self, text: str, what: str) -> None:
        """Put ``text`` on the terminal's clipboard and notify the user; ``what`` names the text."""

    def edit_file(self, path: Path, line: int = 0) -> None:
        """Open a file in the user's editor, at ``line`` if it is not 0."""

    def edit_copy(self, name: str, data: bytes) -> None:
        """Open a copy of an input in the user's editor."""

    def open_run(self, run: Path) -> None:
        """Show another run on this terminal. The screen continues when the user leaves it."""

    def run_offers(self) -> Iterable[tuple[Callable[[], object], str]]:
        """Return the palette's commands about the open run: what starts each, and its text."""

    def save_picture(self, suffix: str) -> None:
        """Save the screen as ``.svg`` or ``.png``."""

    def refresh_footer(self) -> None:
        """Draw the footer again, because the row under the cursor changed."""

    def draw_frame(self) -> None:
        """Draw banner, footer and timeline again."""

    def columns_of(self, tab: str) -> Sequence[str]:
        """Return the ids of the columns that the user has chosen for the screen ``tab``."""

    def take_changes(self, tab: str) -> Changes:
        """Return and clear the changes since the screen ``tab`` was last shown."""

    def go_to_row(self, tab: str, key: str) -> None:
        """Go to the screen ``tab``, to the row with ``key``."""

    def take_requested_row(self, tab: str) -> str:
        """Return and clear the row that :meth:`go_to_row` requested; "" if there is none."""

    def open_reader(self) -> LogReader:
        """Return a new reader of the campaign's log. Blocking."""


def host(node: DOMNode) -> AppInterface:
    """Return the application of ``node``."""
    return cast(AppInterface, node.app)

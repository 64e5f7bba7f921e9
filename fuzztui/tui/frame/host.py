"""What widgets and screens may ask of the application, as an interface.

Widgets stay usable in any application that offers this: the tests and benchmarks
have small ones of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, cast

from textual.dom import DOMNode

from fuzztui.log.reader import LogReader
from fuzztui.model.state import Changes, State
from fuzztui.tui.base.painter import Painter
from fuzztui.tui.frame.actions import ActionContext
from fuzztui.tui.labels.lineage import Lineage
from fuzztui.tui.labels.status import Status
from fuzztui.tui.labels.worklist import Worklist
from fuzztui.wire.commands import Command


class AppInterface(Painter, Protocol):
    """What a screen needs on top."""

    run_dir: Path | None
    mode: str
    kin: Lineage
    turns: Worklist

    @property
    def campaign(self) -> State:
        """The state; walk through its tables only when it is not lent (``when_free``)."""

    @property
    def status(self) -> Status:
        """The totals as of the last tick."""

    def situation(self) -> ActionContext:
        """What can be done, as of now."""

    def when_free(self, look: Callable[[], None]) -> None:
        """Call ``look`` as soon as the state is not being changed."""

    def steer(self, command: Command, words: str) -> None:
        """Send a command to the supervisor."""

    def copy(self, text: str, what: str) -> None:
        """Put ``text`` on the clipboard of the terminal and say so."""

    def refresh_footer(self) -> None:
        """The row under the cursor changed."""

    def draw_frame(self) -> None:
        """Troubles, keys and timeline around the screen's body may have changed."""

    def missed(self, tab: str) -> Changes:
        """What changed since the screen of ``tab`` was last shown; forgotten by asking."""

    def look_at(self, tab: str, key: str) -> None:
        """Go to the screen ``tab``, to the row with ``key``."""

    def sought(self, tab: str) -> str:
        """The row that :meth:`look_at` wants on ``tab``, "" for none; forgotten by asking."""

    def open_reader(self) -> LogReader:
        """Another reader on the campaign's log. Blocking."""


def host(node: DOMNode) -> AppInterface:
    """The application of ``node``."""
    return cast(AppInterface, node.app)

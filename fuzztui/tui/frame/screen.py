"""The base of all campaign screens: header, banner, body, footer, and updates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import ScreenResume
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from fuzztui.kernel.model.state import Changes, State
from fuzztui.kernel.wire.commands import SkipCurrent
from fuzztui.tui.frame.action_context import ActionContext
from fuzztui.tui.frame.actions import bindings
from fuzztui.tui.frame.banner import Banner
from fuzztui.tui.frame.footer import Footer
from fuzztui.tui.frame.header import Header
from fuzztui.tui.frame.host import AppInterface, host
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.frame.timeline import Timeline
from fuzztui.tui.labels.features import whole_legend
from fuzztui.tui.labels.status import Status


class CampaignScreen(Screen[None]):
    """One screen of the app. Subclasses implement :meth:`body` and :meth:`show`.

    ``TAB`` is the screen's name and the scope of its actions in the registry.
    """

    # In a low terminal the body is cut; header and footer stay.
    DEFAULT_CSS = """
    CampaignScreen { overflow: hidden; }
    CampaignScreen > #body { height: 1fr; overflow: hidden; }
    CampaignScreen.-tiny Timeline { height: 1; }
    """
    TAB: ClassVar[str] = ""
    ABSENT: ClassVar[str] = ""
    """Why a campaign has no such screen, for one that not every campaign has."""
    SCOPES: ClassVar[tuple[str, ...]] = ()
    """Further scopes with actions for this screen."""
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        cls.BINDINGS = [b for scope in (cls.TAB, *cls.SCOPES, "sorting") for b in bindings(scope)]
        super().__init_subclass__(**kwargs)

    @classmethod
    def scopes(cls) -> tuple[str, ...]:
        """Return all scopes whose keys work on this screen."""
        return (cls.TAB, *cls.SCOPES, "table", "sorting", "app", "always")

    @classmethod
    def is_present(cls, state: State) -> bool:
        """Whether the campaign has this screen."""
        return True

    @property
    def host(self) -> AppInterface:
        """The application."""
        return host(self)

    @property
    def campaign(self) -> State:
        """The state of the campaign."""
        return self.host.campaign

    def compose(self) -> ComposeResult:
        """Yield header, banner, body, timeline (in a replay) and footer."""
        yield Header(self.TAB)
        yield Banner()
        yield Container(*self.body(), id="body")
        if self.host.mode == "replay":
            yield Timeline()
        yield Footer(self.scopes())

    def on_mount(self) -> None:
        """Set the classes for the terminal's size; Textual would set them after the first paint.

        Also set the columns that the user has chosen.
        """
        width, height = self.app.size
        wanted: list[str] = []
        for size, breakpoints in (
            (width, self.app.HORIZONTAL_BREAKPOINTS or []),
            (height, self.app.VERTICAL_BREAKPOINTS or []),
        ):
            reached = [name for least, name in sorted(breakpoints) if size >= least]
            wanted += reached[-1:]
        self.add_class(*wanted)  # at once: each change restyles all widgets
        for table in self.query(BigTable):
            table.meanings = whole_legend().columns.get(table.topic or self.TAB, {})
            table.choose_columns(self.host.columns_of(table.topic or self.TAB))

    @property
    def may_take_focus(self) -> bool:
        """Whether an action that finishes late may still move the focus.

        False if the user types into an input, or if another screen is shown: the next keys are
        meant for these. For the same reason the focus is moved by :meth:`set_focus`, at once, and
        never by ``Widget.focus``, which waits until the keys typed meanwhile were handled.
        """
        return self.app.screen is self and not isinstance(self.focused, Input)

    def body(self) -> Iterable[Widget]:
        """Return the widgets between header and footer."""
        raise NotImplementedError

    def show(self, changes: Changes) -> None:
        """Update the body; called while no other thread changes the state."""
        raise NotImplementedError

    def tick(self, status: Status) -> None:
        """Update clocks and ages; called once per second."""
        self.query_one(Header).show(status)
        for table in self.query(BigTable):
            table.show_loading(loading=status.caught_up < 1)

    def column_meanings(self) -> list[tuple[str, str]]:
        """Return titles and meanings of this screen's columns, and of the words above them."""
        tables = [table for table in self.query(BigTable) if table.display]
        above = whole_legend().above.get(self.topic)
        titles = [
            (c.title, table.meanings.get(c.id, ""))
            for table in tables
            for c in table.columns
            if c.title
        ]
        return [*titles, *(above or {}).items()]

    @property
    def topic(self) -> str:
        """The key in :attr:`Legend.above` of the words above this screen's tables, for the help."""
        return self.TAB

    @property
    def marked(self) -> int:
        """Number of marked rows."""
        return 0

    def describe_row(self) -> ActionContext:
        """Return the part of the action context that depends on the row under the cursor."""
        return ActionContext()

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Show all changes since this screen was last shown."""
        if self.host.is_styled(self):
            event.refresh_styles = False
        self.host.when_free(self._catch_up)

    def on_screen_suspend(self) -> None:
        """Another screen, or a dialog, covers this one."""
        self.leave()

    def leave(self) -> None:
        """Called when the user leaves this screen or the app."""

    def _catch_up(self) -> None:
        self.show(self.host.take_changes(self.TAB))
        self.tick(self.host.status)
        self.host.draw_frame()
        if key := self.host.take_requested_row(self.TAB):
            self.reveal(key)

    def do_instance_skip_current(self) -> None:
        """Make the instance of the row under the cursor continue with another entry."""
        if name := self.describe_row().instance:
            self.host.steer(SkipCurrent(name), f"next entry of {name}")

    def reveal(self, key: str) -> None:
        """Move the cursor to the row with ``key``."""

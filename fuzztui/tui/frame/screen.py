"""What all campaign screens share: header, troubles, body, keys, and taking in changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from fuzztui.model.state import Changes, State
from fuzztui.tui.frame.actions import ActionContext, bindings
from fuzztui.tui.frame.banner import Banner
from fuzztui.tui.frame.footer import Footer
from fuzztui.tui.frame.header import Header
from fuzztui.tui.frame.host import AppInterface, host
from fuzztui.tui.frame.timeline import Timeline
from fuzztui.tui.labels.status import Status
from fuzztui.wire.commands import SkipCurrent


class CampaignScreen(Screen[None]):
    """One of the modes. Subclasses fill :meth:`body` and :meth:`show`.

    ``TAB`` is the mode's name and the scope of its actions in the registry.
    """

    # In a low terminal the body is cut; header and keys stay.
    DEFAULT_CSS = """
    CampaignScreen { overflow: hidden; }
    CampaignScreen > #body { height: 1fr; overflow: hidden; }
    """
    TAB: ClassVar[str] = ""
    SCOPES: ClassVar[tuple[str, ...]] = ()
    """Further scopes whose actions the screen offers."""
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        cls.BINDINGS = [b for scope in (cls.TAB, *cls.SCOPES, "sorting") for b in bindings(scope)]
        super().__init_subclass__(**kwargs)

    @classmethod
    def scopes(cls) -> tuple[str, ...]:
        """All scopes whose keys work on this screen."""
        return (cls.TAB, *cls.SCOPES, "table", "sorting", "app")

    @property
    def host(self) -> AppInterface:
        """The application."""
        return host(self)

    @property
    def campaign(self) -> State:
        """The state of the campaign."""
        return self.host.campaign

    def compose(self) -> ComposeResult:
        """Top, body, bottom."""
        yield Header(self.TAB)
        yield Banner()
        yield Container(*self.body(), id="body")
        if self.host.mode == "replay":
            yield Timeline()
        yield Footer(self.scopes())

    def on_mount(self) -> None:
        """Lay out for the terminal's size at once: Textual would do it after the first paint."""
        width, height = self.app.size
        wanted: list[str] = []
        for size, breakpoints in (
            (width, self.app.HORIZONTAL_BREAKPOINTS or []),
            (height, self.app.VERTICAL_BREAKPOINTS or []),
        ):
            reached = [name for least, name in sorted(breakpoints) if size >= least]
            wanted += reached[-1:]
        self.add_class(*wanted)  # at once: each change of classes has all widgets styled again

    @property
    def at_hand(self) -> bool:
        """Whether what comes a moment after its key may still take the keys.

        Not once somebody types into an input or looks at something else: the keys are meant for
        that. For the same reason the focus is given by :meth:`set_focus`, at once, and never by
        ``Widget.focus``, which puts it off until after the keys that were typed meanwhile.
        """
        return self.app.screen is self and not isinstance(self.focused, Input)

    def body(self) -> Iterable[Widget]:
        """The widgets between header and footer."""
        raise NotImplementedError

    def show(self, changes: Changes) -> None:
        """Bring the body up to date; called when nothing else changes the state."""
        raise NotImplementedError

    def tick(self, status: Status) -> None:
        """A second went by: ages and clocks."""
        self.query_one(Header).show(status)

    def describe_row(self) -> ActionContext:
        """The part of the situation that the row under the cursor decides."""
        return ActionContext()

    def on_screen_resume(self) -> None:
        """Back from another mode (or here for the first time): catch up."""
        self.host.when_free(self._catch_up)

    def on_screen_suspend(self) -> None:
        """Another mode, or a dialog, is looked at."""
        self.leave()

    def leave(self) -> None:
        """Nobody looks at it any more, for now or permanently."""

    def _catch_up(self) -> None:
        self.show(self.host.missed(self.TAB))
        self.tick(self.host.status)
        self.host.draw_frame()
        if key := self.host.sought(self.TAB):
            self.reveal(key)

    def do_instance_skip_current(self) -> None:
        """The instance that the row under the cursor belongs to continues with another entry."""
        if name := self.describe_row().instance:
            self.host.steer(SkipCurrent(name), f"next entry of {name}")

    def reveal(self, key: str) -> None:
        """Show the row with ``key``."""

"""An application whose keys come from the registry of actions, with a user's configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.screen import Screen
from textual.theme import Theme
from textual.widgets import OptionList
from textual.worker import WorkerError

from fuzztui.tui.app.config import Config
from fuzztui.tui.app.help import HelpScreen
from fuzztui.tui.app.palette_commands import ActionPalette, ActionProvider
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.dialogs import ListScreen
from fuzztui.tui.base.pictures import NoPicture, png, portable, save_new
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.themed import ThemedApp
from fuzztui.tui.base.themes import ThemeFile
from fuzztui.tui.frame.action_context import ActionContext
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.box import BoxScreen
from fuzztui.tui.frame.command_sender import REMEMBER, STEER
from fuzztui.tui.frame.keymap import textual_keymap
from fuzztui.tui.frame.table import BigTable

MAX_PROBLEM = 500
"""Maximal characters of the notification about the configuration."""


LEAVE_S = 2.0
"""Maximal seconds for which leaving the app waits until commands are sent."""


class ThemeScreen(ListScreen):
    """The list of themes. Returns the name of the chosen one; None: restore the former theme."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("T", "move(1)", show=False)]
    DEFAULT_CSS = """
    ThemeScreen {
        align: right middle;
        background: transparent;
        & > Vertical { width: 46; max-width: 60%; }
    }
    """

    def __init__(
        self, titles: Mapping[str, str], current: str, preview: Callable[[str], None]
    ) -> None:
        """``titles``: by name. ``preview`` is called with the name under the cursor."""
        super().__init__("Theme", "⏎ keeps, esc restores", titles, current)
        self._preview = preview

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if self.is_current and event.option_id is not None:
            self._preview(event.option_id)


class ActionApp(ThemedApp):
    """Carries out actions; has help, command palette, and the choice of a theme."""

    CSS_PATH = "fuzztui.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar = {ActionProvider}  # not Textual's: the order of two providers is random
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it
        (0, "-narrow"),
        (76, "-medium"),
        (110, "-wide"),
        (170, "-vast"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-tiny"),
        (20, "-short"),
        (34, "-tall"),
    ]

    def __init__(
        self,
        themes: Mapping[str, ThemeFile],
        theme: str,
        config: Config,
        remember: Callable[[str], None],
        problems: Iterable[str] = (),
    ) -> None:
        """``remember`` stores the name of a theme. ``problems``: of the user's files."""
        super().__init__(themes.values(), theme)
        self._theme_titles = {name: f"{name:<12} {t.title}" for name, t in themes.items()}
        self._config = config
        self.set_keymap(textual_keymap(config.keys))
        self._remember_theme = remember
        self._remembering = asyncio.Lock()
        self._kept_theme = self.theme
        self._problems = list(problems)
        self._leaving = False

    def report_problems(self) -> None:
        """Notify the user of what is wrong with the configuration, and follow the theme."""
        self.theme_changed_signal.subscribe(self, self._theme_chosen)
        if self._problems:
            more = len(self._problems) - 1
            text = plain(self._problems[0], MAX_PROBLEM)
            self.notify(
                text + (f"\n(and {more} more: fuzztui config)" if more else ""),
                title="A part of your configuration is not used",
                severity="warning",
                timeout=20,
            )

    # -------------------------------------------------------- the interface

    def scopes(self) -> Sequence[str]:
        """Return the scopes of the actions that the screen has now."""
        raise NotImplementedError

    def action_context(self) -> ActionContext:
        """Return which actions are possible now."""
        raise NotImplementedError

    def column_meanings(self) -> Sequence[tuple[str, str]]:
        """Return titles and meanings of the columns on the screen, for the help."""
        raise NotImplementedError

    def columns_of(self, tab: str) -> Sequence[str]:
        """Return the ids of the columns that the user has chosen for the screen ``tab``."""
        return self._config.file.columns.get(tab, ())

    @property
    def bottom_screen(self) -> Screen[Any] | None:
        """The screen below all dialogs; None while the app ends."""
        if not self.is_running:
            return None  # a late poll would find screens without widgets
        stack: Sequence[Screen[Any]] = self.screen_stack
        return next(iter(stack), None)

    # -------------------------------------------------------------- actions

    def action_perform(self, action_id: str) -> None:
        """Called by Textual for a key of the registry's bindings."""
        self.perform(action_id)

    def perform(self, action_id: str) -> None:
        """Carry out an action of the registry, or notify the user why it is impossible."""
        action = BY_ID[action_id]
        now = self.action_context()
        reason = action.why_not(now)
        if reason:
            self.notify(plain(f"{action.title(now)}: {reason}"), severity="warning", timeout=4)
            return
        name, args = action.method
        for node in self._handlers():
            method = getattr(node, name, None)
            if method is not None:
                method(*args)
                return

    def _handlers(self) -> Iterator[DOMNode]:
        if self.focused is not None:
            yield from self.focused.ancestors_with_self
        # With the command palette open, neither screen nor table has the focus.
        screen = self.bottom_screen
        if screen is not None:
            yield screen
            yield from screen.query(BigTable)
        yield self

    def action_help_quit(self) -> None:
        """Leave the app on Ctrl+C, too: this is safe, because the campaign goes on without it."""
        self.perform("app.quit")

    def do_app_quit(self) -> None:
        """Leave when all commands are sent; pressed again: at once."""
        if self._leaving or self.bottom_screen is None:
            self.exit()
            return
        self._leaving = True
        self.leave()
        self.run_worker(self._leave(), group="leave")

    async def _leave(self) -> None:
        """Leave once commands are sent and choices are stored, or after :data:`LEAVE_S`."""
        ours = [w for w in self.workers if w.group in (STEER, REMEMBER) and not w.is_finished]
        if ours:
            with suppress(TimeoutError, WorkerError):
                await asyncio.wait_for(self.workers.wait_for_complete(ours), LEAVE_S)
        self.exit()

    def leave(self) -> None:
        """Called when the user leaves, while the widgets are there."""

    def do_app_help(self) -> None:  # noqa: D102
        columns = self.column_meanings()
        self.push_screen(HelpScreen(self.action_context(), self.scopes(), columns))

    def do_app_palette(self) -> None:  # noqa: D102
        self.action_command_palette()

    def do_app_history(self) -> None:
        """Show the notifications until now, the newest one first."""
        lines = [
            [TextSpan(f"{when:%H:%M:%S}  ", "muted"), TextSpan(text, style)]
            for when, text, style in reversed(self.notified)
        ]
        nothing: list[Line] = [[TextSpan("there was none yet", "muted")]]
        self.push_screen(BoxScreen("Notifications", lambda: lines or nothing, classes="-low"))

    def action_command_palette(self) -> None:
        """Open the command palette; Textual's own key for it calls this."""
        if not isinstance(self.screen, ActionPalette):
            self.push_screen(ActionPalette())

    def run_offers(self) -> Iterable[tuple[Callable[[], object], str]]:
        """Return the palette's commands about the open run: none without one."""
        return ()

    # -------------------------------------------------------------- pictures

    def save_picture(self, suffix: str) -> None:
        """Save the screen as ``.svg`` or ``.png``; in a browser, download the picture."""
        svg = portable(self.export_screenshot())
        screen = getattr(self.bottom_screen, "TAB", "home")
        make = partial(png, svg) if suffix == ".png" else svg.encode
        self.run_worker(self.save_file("picture", suffix, make, screen), group="picture")

    async def save_file(
        self, what: str, suffix: str, make: Callable[[], bytes], about: str = ""
    ) -> None:
        """Save what ``make`` returns, and notify the user where; in a browser, download it."""
        name = f"fuzztui-{about or what.replace(' ', '-')}-{datetime.now():%Y%m%d-%H%M%S}"

        def save() -> tuple[bytes, Path | None]:
            data = make()
            return data, None if self.is_web else save_new(name, suffix, data)

        try:
            data, path = await in_thread(save)
        except NoPicture as e:
            self.notify(plain(str(e)), title=f"No {what}", severity="warning", timeout=8)
            return
        if path is None:
            self.deliver_binary(BytesIO(data), save_filename=name + suffix)
        else:
            self.notify(plain(str(path)), title=f"Saved the {what}", timeout=8)

    # ---------------------------------------------------------------- theme

    def do_app_theme(self) -> None:
        """Choose among all themes; the screen shows the one under the cursor."""
        before = self.theme

        def chosen(name: str | None) -> None:
            self.theme = name or before
            self._keep_theme()

        def preview(name: str) -> None:
            self.theme = name

        others = sorted(self.available_themes.keys() - self._theme_titles.keys())
        titles = {**self._theme_titles, **{name: name for name in others}}
        self.push_screen(ThemeScreen(titles, before, preview), chosen)

    def fit_theme(self, name: str) -> None:
        """Change to the theme that fits the terminal. It is not remembered."""
        if self._kept_theme == self.theme:  # else another one is chosen, and this is a preview
            self._kept_theme = self.theme = name

    def _theme_chosen(self, _theme: Theme) -> None:
        """Store another theme as the default."""
        if not isinstance(self.screen, ThemeScreen):  # which previews themes
            self._keep_theme()

    def _keep_theme(self) -> None:
        if self.theme != self._kept_theme:  # not the first theme, which --theme may have set
            self._kept_theme = self.theme
            self.run_worker(self._remember(), group=REMEMBER)

    async def _remember(self) -> None:
        async with self._remembering:  # in the order of the choices
            await in_thread(partial(self._remember_theme, self.theme))

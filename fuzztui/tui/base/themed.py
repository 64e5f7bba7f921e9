"""An application with fuzztui's themes and terminal driver; without campaigns.

The widgets work in any such application: tests and benchmarks have small ones.

Textual 8.2 sends a line's update from the left edge of the widget on, and sets and resets the style
around every segment. Over a slow line that is most of the traffic (benchmarks/tui_cost.py measures
it). :class:`LeanUpdate` sends only changed cells, and of styles only what changes (:class:`Pen`).
It works on the compositor's own result; the tests compare it with Textual's output in a terminal
emulation. Unknown kinds of updates are left to Textual.

What Textual has no public name for is used here only, and of drivers in :class:`TerminalDriver`:
each method says why. ``textual>=8.2,<9`` in pyproject.toml is the reason that it stays there.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from rich.console import COLOR_SYSTEMS, Console
from rich.segment import Segment
from textual import events
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.css.query import NoMatches
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import LineFilter, Monochrome, NoColor
from textual.notifications import SeverityLevel
from textual.screen import ModalScreen, Screen
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.widget import AwaitMount
from textual.widgets import Input
from textual.worker import WorkerFailed

from fuzztui.kernel.base.terminals import wants_ascii
from fuzztui.tui.base.ascii import AsciiFilter, WholeCells
from fuzztui.tui.base.background_query import BackgroundQuery
from fuzztui.tui.base.palette import Palette, fallbacks, to_textual
from fuzztui.tui.base.pen import Pen
from fuzztui.tui.base.terminal import TerminalDriver
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.themes import ThemeFile

SEEN_S = 1.0
"""Seconds after which a notification counts as seen."""


MAX_NOTIFIED = 200
"""Notifications that are kept."""
_SEVERITIES = {"warning": "hang", "error": "failed"}
"""The style of a kept notification by its severity."""


class LeanUpdate(CompositorUpdate):
    """An update of the compositor that writes the same content with fewer escape sequences."""

    def __init__(self, update: ChopsUpdate | LayoutUpdate) -> None:
        self._update = update

    def render_segments(self, console: Console) -> str:
        """Return the escape sequences of the update."""
        update = self._update
        pieces = _of_chops(update) if isinstance(update, ChopsUpdate) else _of_layout(update)
        pen = Pen(COLOR_SYSTEMS[console.color_system or "truecolor"])
        for x, y, segments in pieces:
            pen.move(x, y)
            pen.write(segments)
        return pen.end()


def lean(renderable: Any) -> Any:
    """Return the lean form of ``renderable``; unchanged if there is none."""
    if type(renderable) in (ChopsUpdate, LayoutUpdate):
        return LeanUpdate(renderable)
    return renderable


Piece = tuple[int, int, Iterable[Segment]]


def _of_chops(update: ChopsUpdate) -> Iterable[Piece]:
    for y, x1, x2 in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is None or x >= x2 or end <= x1:
                continue
            yield max(x, x1), y, strip.crop(max(0, x1 - x), min(end, x2) - x)


def _of_layout(update: LayoutUpdate) -> Iterable[Piece]:
    for y, line in enumerate(update.strips, update.region.y):
        yield update.region.x, y, [segment for strip in line for segment in strip]


class ThemedApp(App[None]):
    """Has fuzztui's themes in addition to Textual's, with semantic colours for both."""

    def __init__(self, themes: Iterable[ThemeFile] = (), theme: str = "") -> None:
        self._palette: Palette | None = None
        super().__init__()
        # no-color.org: an empty value counts as not set; Textual counts it as set.
        self.no_color = bool(os.environ.get("NO_COLOR"))
        self._parsed = -1
        """The number of the styles that were parsed last: Textual counts their changes."""
        self.notified: deque[tuple[datetime, str, str]] = deque(maxlen=MAX_NOTIFIED)
        """The latest notifications: time of day, text that is safe to draw, and style."""
        self._switching = False
        """Whether another mode is being shown."""
        self._undelayed = False
        """Whether the screen of that mode exists, so that it can be drawn at once."""
        self.background_query: BackgroundQuery | None = None
        """The question for the terminal's background; None if it was not asked."""
        self._ascii = [AsciiFilter()] if wants_ascii(os.environ) else []
        ScrollBar.renderer = WholeCells if self._ascii else ScrollBarRender
        self.animation_level = "none"  # every frame would be sent over SSH
        for ours in themes:
            self.register_theme(to_textual(ours))
        if theme in self.available_themes:
            self.theme = theme

    def alert(self, sequence: str) -> None:
        """Send an escape sequence that alerts the user."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def restore_terminal(self) -> None:
        """Restore the terminal at once: see :meth:`TerminalDriver.restore`."""
        if isinstance(self._driver, TerminalDriver):
            self._driver.restore()

    def is_styled(self, screen: Screen[Any]) -> bool:
        """Whether a screen has the present size and styles: restyling it (20 ms) is not needed."""
        return screen.size == self.size and screen._css_update_count == self._css_update_count

    def follow_background(self, query: BackgroundQuery, fitting: Callable[[bool], str]) -> None:
        """Change to the theme for a light or dark terminal if its answer comes late.

        Not if the user has chosen another theme meanwhile. ``fitting`` returns the theme for
        whether the background is light.
        """
        self.background_query = query
        first = self.theme

        def late(light: bool) -> None:
            if self.theme == first:
                self.fit_theme(fitting(light))

        def on_late(light: bool) -> None:
            self.call_later(late, light)

        query.on_late = on_late

    def fit_theme(self, name: str) -> None:
        """Change to the theme that fits the terminal."""
        self.theme = name

    def get_driver_class(self) -> type[Driver]:
        """Return :class:`TerminalDriver` on a terminal; TEXTUAL_DRIVER may name another."""
        driver = super().get_driver_class()
        return TerminalDriver if driver is LinuxDriver else driver

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters; with NO_COLOR the filter depends on the current theme.

        In a terminal without UTF-8 everything is drawn in ASCII.
        Textual chooses it by its initial theme. For a theme of the terminal's own colours that
        filter is wrong: it turns colours into greys, and the terminal's default colours into black
        on black.
        """
        bare = (NoColor, Monochrome)
        filters = [f for f in super().get_line_filters() if not isinstance(f, bare)]
        if self.no_color:
            filters.append(NoColor() if self.native_ansi_color else Monochrome())
        return [*filters, *self._ascii]

    @property
    def failure(self) -> Exception | None:
        """The unexpected error that ended the application; None if there was none."""
        return self._exception

    def _handle_exception(self, error: Exception) -> None:
        """End the application; the caller of :meth:`run` reports the error.

        Textual would print a traceback with all local variables over the user's shell. It removes
        the widgets before it cancels the workers: what those miss while it ends is no error.
        """
        cause = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(cause, NoMatches) and not self.is_running:
            return
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return semantic colours for Textual's own themes."""
        return fallbacks(self.current_theme)

    def get_css_variables(self) -> dict[str, str]:
        """Return the CSS variables; called when the theme may have changed."""
        self._palette = None
        return super().get_css_variables()

    def switch_mode(self, mode: str) -> AwaitMount:
        """Show the screen of a mode, without notifications that were seen on another one."""
        for old in list(self._notifications) if mode != self.current_mode else ():
            if time.time() - old.raised_at >= SEEN_S:
                self._unnotify(old, refresh=False)
        self._switching = True
        self._undelayed = mode in self._screen_stacks
        try:
            return super().switch_mode(mode)
        finally:
            self._switching = self._undelayed = False

    def delay_update(self, delay: float = 0.05) -> None:
        """Draw nothing for ``delay`` seconds, while the widgets of a new screen are mounted.

        Textual waits at each switch, also to a screen that needs no time.
        """
        if not self._undelayed:
            super().delay_update(delay)

    def refresh_css(self, animate: bool = True) -> None:
        """Parse the styles again because the theme changed.

        Textual does it for each new screen, too, twice, and restyles the one that the user leaves:
        0.2 s. A new screen gets the present styles anyway when its widgets are mounted.
        """
        now = self._css_update_count
        if self._switching and self._parsed == now:
            shown = self._screen_stacks.get(self._current_mode, [])[-1:]
            if all(screen._css_update_count in (-1, now) for screen in shown):
                for screen in shown:
                    screen._css_update_count = now
                return
        self._parsed = now
        super().refresh_css(animate)

    @property
    def palette(self) -> Palette:
        """The colours of the theme."""
        if self._palette is None:
            self._palette = Palette(self.theme_variables)
        return self._palette

    async def on_event(self, event: events.Event) -> None:
        """Handle keys one by one; other events are left to Textual."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            await self._press(event)
        else:
            await super().on_event(event)

    async def _press(self, event: events.Key) -> None:
        """Carry out a key's action before the next key is handled.

        Textual sends a key through the queues of the focused widget and its ancestors, and looks up
        its binding when it arrives here again. Keys that follow quickly are in the same queues
        then: text meant for an input that the first key opens would be taken as commands.
        """
        if self._exit or not self.screen_stack:
            return  # the app is ending
        self.app_focus = True  # a key was typed, even if the terminal reports no focus
        mounted: asyncio.Event = self.screen._mounted_event
        await mounted.wait()  # the screen may have been opened just now
        box = self.focused
        if isinstance(box, Input) and event.is_printable and event.character:
            box.replace(event.character, *box.selection)
        elif not await self._check_bindings(event.key, priority=True):
            await self._check_bindings(event.key)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a notification; an identical older one is replaced.

        Texts come from targets and files: none is ever parsed as markup, whatever ``markup`` says.
        """
        text = plain(f"{title}: {message}" if title else message)
        self.notified.append((datetime.now().astimezone(), text, _SEVERITIES.get(severity, "")))
        for old in list(self._notifications):
            if (old.message, old.title, old.severity) == (message, title, severity):
                self._unnotify(old, refresh=False)
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=False)

    def _refresh_notifications(self) -> None:
        """Show notifications, but not over a dialog: the screen behind shows them later."""
        stack = self._screen_stacks.get(self._current_mode, [])
        if not (stack and isinstance(stack[-1], ModalScreen)):
            super()._refresh_notifications()

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        """Send Textual's updates in their lean form."""
        super()._display(screen, lean(renderable))

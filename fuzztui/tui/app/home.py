"""The home screen: the runs of this machine, several live ones side by side, new campaigns.

An application of its own: it ends with what the user has chosen, and is started again after that.
Logs are read by one thread at a time, never in the event loop.
"""

from __future__ import annotations

import asyncio
import shlex
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.notifications import SeverityLevel
from textual.widgets import ContentSwitcher

from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.wire.commands import Stop
from fuzztui.run.home.listing import RunList
from fuzztui.tui.app.action_app import ActionApp
from fuzztui.tui.app.config import Config
from fuzztui.tui.app.feed import BACK_OFF_S
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.columns import column_keys
from fuzztui.tui.base.dialogs import ConfirmScreen, ListScreen
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.themes import ThemeFile
from fuzztui.tui.base.user_state import NO_LOOK, Look
from fuzztui.tui.frame import filtering
from fuzztui.tui.frame.action_context import ActionContext, HomeContext, with_keys
from fuzztui.tui.frame.actions import BY_ID, HOME_SCREENS, bindings
from fuzztui.tui.frame.command_sender import STEER, CommandSender
from fuzztui.tui.frame.footer import Footer
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels.legend import LEGEND
from fuzztui.tui.labels.runs import RunRow, columns
from fuzztui.tui.screens.home.lines import OWN, HomeDetail, HomeHeader, SampleRow, startable
from fuzztui.tui.screens.home.looks import HomeLooks, Seen
from fuzztui.tui.screens.home.panes import RunPanes, room_for
from fuzztui.tui.screens.home.preview import RunPreview

LOOK_S: Final = 1.0
"""Seconds between two looks at the running campaigns."""
NAMED: Final = 5
"""Runs whose names a question lists."""
INIT: Final = ("init",)
"""The choice of a new campaign."""

_TABLE, _BESIDE = HOME_SCREENS


@dataclass(frozen=True, slots=True)
class HomeView:
    """The state of the home screen that is restored when it is shown again."""

    at: Path | None = None
    """The run under the cursor."""
    filter: str = ""
    sort: str = ""
    """The id of the column by which the table is sorted; an empty string: its own order."""
    reverse: bool = False
    beside: Sequence[Path] = ()
    """The runs side by side; none: the table is shown."""


@dataclass(frozen=True, slots=True)
class HomeOpening:
    """What the home screen works with. All callables may block: they are called in threads."""

    runs: RunList
    start: Callable[[Sequence[str]], str]
    """Starts a campaign file in the background; returns an error, or an empty string."""
    samples: Callable[[], Sequence[SampleRow]] = tuple
    last_look: Callable[[Path], Look] = lambda _: NO_LOOK
    remember: Callable[[str], None] = lambda _: None
    """Stores the name of the theme that the user has chosen."""
    sender: Callable[[Path], CommandSender] = CommandSender
    wall: Callable[[], float] = time.time
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by the thread that uses ``runs``, also when the screen has ended meanwhile."""
    config: Config = field(default_factory=Config)
    """The user's configuration."""
    view: HomeView = field(default_factory=HomeView)


class HomeApp(ActionApp):
    """The home screen."""

    TITLE = "fuzztui"
    CSS = "ContentSwitcher { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for scope in ("home", "runs", "beside", "sorting", "marking", "listing", "always")
        for binding in bindings(scope)
    ]

    def __init__(
        self,
        opening: HomeOpening,
        themes: Mapping[str, ThemeFile],
        theme: str = "",
        problems: Iterable[str] = (),
    ) -> None:
        super().__init__(themes, theme, opening.config, opening.remember, problems)
        self._opening = opening
        self._looks = HomeLooks(opening.runs, opening.lock, opening.last_look, opening.wall)
        self._seen = Seen()
        self._rows: dict[str, RunRow] = {}
        """The rows of the table, which shares this object."""
        self._beside: list[Path] = [*opening.view.beside]
        """The runs side by side; none: the table is shown."""
        self._restored = bool(self._beside)
        """Whether ``_beside`` is from the previous home screen, and no look has checked it yet."""
        self._wake = asyncio.Event()
        self._asked: Path | None = None
        """The run whose preview was asked for at once, not with the next look."""
        self.choice: Path | tuple[str, ...] | None = None
        """What the user has chosen: a run, or :data:`INIT`; None: to leave."""
        self.choice_ended = False
        """Whether the chosen run has ended."""
        self.last_view = opening.view
        """What the user has done, for the next home screen; complete when the app has ended."""

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        table: BigTable[RunRow] = BigTable(columns(), empty="", id="runs")
        table.meanings = LEGEND["home"]
        table.own_order = "newest first"
        yield HomeHeader()
        with ContentSwitcher(initial="panes" if self._beside else "runs"):
            yield table
            yield RunPanes(id="panes")
        yield RunPreview()
        yield FilterBar(
            "words, or conditions: state=running engine=mu2 groups>0",
            self._to_table,
            lambda: [*column_keys(self.table.columns)],
            lambda key: filtering.values_of(self.table, column_keys(self.table.columns), key),
        )
        yield HomeDetail()
        yield Footer(self.scopes())

    @property
    def _preview(self) -> RunPreview:
        return self.query_one(RunPreview)

    def on_resize(self) -> None:
        """Give the preview the rows that the table leaves now."""
        self._show_current()

    @property
    def table(self) -> BigTable[RunRow]:
        """The table of runs."""
        return self.query_one("#runs", BigTable)

    def on_mount(self) -> None:
        """Show what the user has done before, and start looking."""
        self.report_problems()
        view, table = self._opening.view, self.table
        table.choose_columns(self.columns_of("home"))
        sort = next((c for c in table.columns if c.id == view.sort), None)
        table.sort_by(sort, view.reverse)
        table.load({})
        self.query_one(FilterBar).set(view.filter)
        self._show_view()
        self.run_worker(self._follow(), group="follow")

    # --------------------------------------------------------------- looking

    async def _follow(self) -> None:
        while True:
            self._wake.clear()
            try:
                at = self._current.path if self._current and self._preview.display else None
                seen = await in_thread(partial(self._looks.look, tuple(self._beside), at))
                self._show(seen)
            except Exception as e:  # any error is shown, and tried again
                for header in self.query(HomeHeader):  # none while the application closes
                    header.show(self._seen, str(e) or type(e).__name__)
                await asyncio.sleep(BACK_OFF_S / 4)
                continue
            wait = 0.05 if seen.left else LOOK_S
            try:
                await asyncio.wait_for(self._wake.wait(), wait)
            except TimeoutError:
                continue

    def _show(self, seen: Seen) -> None:
        before, self._seen = self._seen, seen
        table = self.table
        if [*before.rows] != [*seen.rows]:
            cursor = table.cursor
            self._rows = dict(seen.rows)
            table.load(self._rows)
            if cursor is None:
                at = self._opening.view.at
                if at is None or not table.go_to(str(at)):
                    table.move_to(0)
        else:
            self._rows.update(seen.rows)
            table.touch(k for k, row in seen.rows.items() if before.rows.get(k) != row)
        nothing = "no runs here: press {home.new:n} to start a sample, or a campaign of your own"
        table.show_empty(
            "no run passes the filter" if seen.rows else with_keys(nothing, self.action_context())
        )
        filtering.count(self.query_one(FilterBar), table)
        self.query_one(HomeHeader).show(seen)
        self._show_current()
        if self._beside:
            self._show_panes(seen)

    def _show_panes(self, seen: Seen) -> None:
        rows = (seen.rows.get(str(path)) for path in self._beside)
        there = [row for row in rows if row is not None]
        looked = self._restored and not seen.left
        if looked:
            self._restored = False
            there = [row for row in there if row.supervised]  # meanwhile others may have ended
        self._beside = [row.path for row in there]
        if looked or not there:
            self._show_view()
        self.query_one(RunPanes).show(seen.panes)

    @property
    def _current(self) -> RunRow | None:
        key = self.table.cursor
        return None if key is None else self._seen.rows.get(key)

    @on(BigTable.Highlighted)
    @on(BigTable.Marked)
    def _show_current(self) -> None:
        if self.is_running:
            row, preview = self._current, self._seen.preview
            self.query_one(HomeDetail).show(row)
            self._preview.fit(len(self.table.source), wanted=not self._beside)
            if row is not None and self._preview.display:
                made = preview if preview is not None and preview.run == row.path else None
                self._preview.show(made)
                if made is None and row.path != self._asked:
                    self._asked = row.path
                    self._wake.set()
            self.query_one(Footer).show(self.action_context(), self.scopes())

    # --------------------------------------------------------------- actions

    def scopes(self) -> Sequence[str]:
        """Return the scopes of the table, or of the runs side by side."""
        return _BESIDE if self._beside else _TABLE

    def column_meanings(self) -> Sequence[tuple[str, str]]:
        """Return titles and meanings of the table's columns."""
        meanings = self.table.meanings
        return [(c.title, meanings.get(c.id, "")) for c in self.table.columns if c.title]

    def action_context(self) -> ActionContext:
        """Return which actions are possible now."""
        table = self.table
        rows, chosen = [*self._seen.rows.values()], self._chosen()
        return ActionContext(
            row=self._current is not None,
            marked=len(table.marks),
            keys=self._config.keys,
            about=HomeContext(
                len(chosen),
                unread=sum(not r.summary.state for r in chosen),
                running=sum(r.supervised for r in chosen),
                resumable=sum(r.resumable for r in chosen),
                finished=sum(r.summary.state == "finished" for r in chosen),
                live=sum(r.supervised for r in (chosen if table.marks else rows)),
                marked=bool(table.marks),
                panes=len(self._shown_beside) if self._beside else None,
            ),
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave a key to the actions of what is shown: the table, or the runs side by side."""
        if action != "perform":
            return super().check_action(action, parameters)
        return BY_ID[str(parameters[0])].scope in self.scopes()

    def _chosen(self) -> list[RunRow]:
        """The runs that an action is for: the marked ones, else the one at the cursor."""
        if not self.table.marks:
            return [] if self._current is None else [self._current]
        rows = map(self._seen.rows.get, self.table.marks)
        return [row for row in rows if row is not None]

    def leave(self) -> None:
        """Keep what the user has done."""
        rows, row = self.table.rows, self._current
        self.last_view = HomeView(
            self._opening.view.at if row is None else row.path,
            self.query_one(FilterBar).text,
            rows.sort_column.id if rows.sort_column is not None else "",
            rows.reverse,
            tuple(self._beside),
        )

    # ---------------------------------------------------------------- filter

    def do_table_filter(self) -> None:
        """Open the filter's input."""
        bar = self.query_one(FilterBar)
        bar.open()
        filtering.count(bar, self.table)

    def do_table_unfilter(self) -> None:
        """Unmark all rows, else remove the filter."""
        if not self.table.clear_marks():
            self.query_one(FilterBar).close()

    @on(FilterBar.Changed)
    def _filtered(self, event: FilterBar.Changed) -> None:
        keys = column_keys(self.table.columns)
        filtering.narrow(self.query_one(FilterBar), self.table, event.text, keys)

    def _to_table(self) -> None:
        self.screen.set_focus(self.table)

    # --------------------------------------------------------------- opening

    @on(BigTable.Selected)
    def _selected(self) -> None:
        if row := self._current:
            self._open(row)

    def _open(self, row: RunRow) -> None:
        if not row.summary.state:
            self._say(f"{row.shown}: the log is being read")
            return
        self.choice = row.path
        self.choice_ended = not row.supervised and row.summary.state in (*ENDED, "interrupted")
        self.do_app_quit()

    @property
    def _shown_beside(self) -> Sequence[Path]:
        """The runs side by side that have room."""
        return self._beside[: room_for(*self.size)]

    def do_home_run(self, number: int) -> None:
        """Open one of the runs side by side."""
        if number <= len(self._shown_beside):
            row = self._seen.rows.get(str(self._shown_beside[number - 1]))
            if row is not None:
                self._open(row)

    def do_home_beside(self) -> None:
        """Show several running campaigns side by side, or the table again."""
        if self._beside:
            self._beside = []
        else:
            rows = self._chosen() if self.table.marks else [*self._seen.rows.values()]
            live = [row.path for row in rows if row.supervised]
            self._beside = live[: room_for(*self.size)]
            self._wake.set()
        self._show_view()

    def _show_view(self) -> None:
        """Show the table, or the runs side by side."""
        beside = bool(self._beside)
        self.query_one(ContentSwitcher).current = "panes" if beside else "runs"
        self.query_one(HomeDetail).display = not beside
        bar = self.query_one(FilterBar)
        bar.display = bool(bar.text) and not beside
        self.screen.set_focus(None if beside else self.table)
        self._show_current()

    # -------------------------------------------------------------- steering

    def do_home_stop(self) -> None:
        """Stop the campaign under the cursor, or the marked ones."""
        rows = [row for row in self._chosen() if row.supervised]
        key = BY_ID["home.resume"].key_label(self.action_context())
        later = f"; {key} resumes later" if key else ""

        def answered(yes: bool | None) -> None:
            if yes:
                self.table.clear_marks()
                self.run_worker(self._stop([row.path for row in rows]), group=STEER)

        question = f"End {_named(rows)}? Everything is saved{later}."
        self.push_screen(ConfirmScreen("Stop the campaign", question, "Stop", "Cancel"), answered)

    async def _stop(self, runs: Sequence[Path]) -> None:
        sent = (self._opening.sender(run).send(Stop()) for run in runs)
        outcomes = await asyncio.gather(*sent)
        for run, outcome in zip(runs, outcomes, strict=True):
            kind = {"applied": "done", "pending": "sent", "failed": "not sent"}.get(outcome.kind)
            text = f"Stop {run.name}: {kind or outcome.kind}"
            wrong = outcome.kind not in ("applied", "pending")
            self._say(text + (f": {outcome.detail}" if outcome.detail else ""), wrong=wrong)
        self._wake.set()

    def do_home_resume(self) -> None:
        """Resume the run under the cursor, or the marked ones."""
        rows = [row for row in self._chosen() if row.resumable]
        starts = [[str(row.path / "campaign.toml")] for row in rows]
        self._confirm("Resume the campaign", f"Resume {_named(rows)}?", "Resume", starts)

    def _confirm(
        self, title: str, question: str, yes: str, starts: Sequence[Sequence[str]]
    ) -> None:
        def answered(agreed: bool | None) -> None:
            if agreed:
                self.table.clear_marks()
                self.run_worker(self._start(starts), group=STEER)

        self.push_screen(ConfirmScreen(title, question, yes, "Cancel"), answered)

    async def _start(self, starts: Sequence[Sequence[str]]) -> None:
        for argv in starts:
            self._say(f"starting: {shlex.join(['fuzztui', *argv])}")
            problem = await in_thread(partial(self._opening.start, argv))
            if problem:
                text = plain(problem.replace("\n", "; "), 1000)
                self.notify(text, title="Not started", severity="error", timeout=20)
            self._looks.find_soon()
            self._wake.set()

    def do_home_new(self) -> None:
        """Let the user choose a sample to start, or a new campaign of a project."""
        self.run_worker(self._offer(), group="offer", exclusive=True)

    async def _offer(self) -> None:
        samples = await in_thread(self._opening.samples)

        def answered(answer: str | None) -> None:
            if answer == OWN:
                self.choice = INIT
                self.do_app_quit()
            elif answer is not None:
                where = f"in {Path.cwd() / 'runs'}"
                question = f"Start {answer} {where}?"
                self._confirm("Start a sample", question, "Start", [[answer, "--new"]])

        first = "Describe a campaign of your own: fuzztui init"
        rows = startable(samples, first)
        keys = "⏎ starts, esc cancels"
        self.push_screen(ListScreen("New campaign", keys, rows, classes="-wide-list"), answered)

    def _say(self, text: str, *, wrong: bool = False) -> None:
        severity: SeverityLevel = "warning" if wrong else "information"
        self.notify(plain(text, 400), severity=severity, timeout=8 if wrong else 5)


def _named(rows: Sequence[RunRow]) -> str:
    """The names of some runs, bounded."""
    names = ", ".join(brief(row.shown, 80) for row in rows[:NAMED])
    more = f" and {len(rows) - NAMED:,} more" if len(rows) > NAMED else ""
    return names if len(rows) == 1 else f"{several(len(rows), 'campaign')}: {names}{more}"

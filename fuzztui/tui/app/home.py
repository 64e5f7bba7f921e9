"""The home screen: the runs of this machine, several live ones side by side, new campaigns.

An application of its own: it ends with what the user has chosen, and is started again after that.
Logs are read by one thread at a time, never in the event loop.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import ContentSwitcher, Static

from fuzztui.base.text import several
from fuzztui.home.listing import RunList
from fuzztui.home.look import RunLook
from fuzztui.model.selectors import ENDED
from fuzztui.tui.app.feed import BACK_OFF_S
from fuzztui.tui.base import format
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, spread
from fuzztui.tui.base.dialogs import ConfirmScreen, Dialog
from fuzztui.tui.base.last_looks import Look
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.themed import ThemedApp
from fuzztui.tui.base.themes import ThemeFile
from fuzztui.tui.frame.actions import BY_ID, bindings
from fuzztui.tui.frame.command_sender import CommandSender
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels.runs import MEANINGS, RunRow, columns, detail
from fuzztui.tui.screens.home.new_dialog import OWN, NewScreen, SampleRow
from fuzztui.tui.screens.home.panes import PaneContent, RunPanes, pane_content, room_for
from fuzztui.wire.commands import Stop

LOOK_S: Final = 1.0
"""Seconds between two looks at the running campaigns."""
FIND_S: Final = 15.0
"""Seconds between two searches for runs."""
LIVE_S: Final = 0.1
"""Seconds of reading the log of one running campaign in a look."""
READ_S: Final = 0.5
"""Seconds of reading logs that were not read yet, in a look."""

INIT: Final = ("init",)
"""The choice of a new campaign."""


@dataclass(frozen=True, slots=True)
class HomeOpening:
    """What the home screen works with. All callables may block: they are called in threads."""

    runs: RunList
    start: Callable[[Sequence[str]], str]
    """Starts a campaign file in the background; returns an error, or an empty string."""
    samples: Callable[[], Sequence[SampleRow]] = tuple
    own: str = ""
    """How a user's own campaign is made, where the program cannot ask for it; "": it can."""
    last_look: Callable[[Path], Look] = lambda _: (0.0, 0)
    remember: Callable[[str], None] = lambda _: None
    sender: Callable[[Path], CommandSender] = CommandSender
    wall: Callable[[], float] = time.time
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by the thread that uses ``runs``, also when the screen has ended meanwhile."""
    at: Path | None = None
    """The run that the cursor is on at first."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look has brought."""

    rows: dict[str, RunRow] = field(default_factory=dict)
    panes: Sequence[PaneContent] = ()
    left: int = 0
    """Runs that are not read to their ends yet."""


class HomeHeader(Canvas):
    """How many runs there are."""

    DEFAULT_CSS = "HomeHeader { height: 1; background: $panel; }"

    def __init__(self) -> None:
        super().__init__()
        self._seen: tuple[int, int, int, int] | None = None
        self._problem = ""

    def show(self, seen: Seen, problem: str = "") -> None:
        """Count the rows."""
        rows = seen.rows.values()
        counts = (len(rows), sum(r.supervised for r in rows), sum(r.new for r in rows), seen.left)
        if (counts, problem) != (self._seen, self._problem):
            self._seen, self._problem = counts, problem
            self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the line."""
        left = [TextSpan("fuzztui", "bold primary"), TextSpan(" home  ", "bold")]
        if self._problem:
            return [[*left, TextSpan(plain(self._problem, 200), "pending")]]
        if self._seen is None:
            return [[*left, TextSpan("searching for runs…", "muted")]]
        runs, live, new, unread = self._seen
        left.append(TextSpan(several(runs, "run")))
        left.append(TextSpan(f"  {live} under way", "running" if live else "muted"))
        if new:
            left.append(TextSpan(f"  {several(new, 'new group')}", "bold crash"))
        reading = f"reading {several(unread, 'log')}…" if unread else ""
        return [spread(left, [TextSpan(reading, "muted")], width)]


class HomeDetail(Canvas):
    """The run under the cursor."""

    DEFAULT_CSS = "HomeDetail { height: 2; padding: 0 1; }"

    def __init__(self) -> None:
        super().__init__()
        self._row: RunRow | None = None

    def show(self, row: RunRow | None) -> None:
        """Show a row."""
        if row != self._row:
            self._row = row
            self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw two lines."""
        return [] if self._row is None else detail(self._row)


KEYS: Final = (
    ("enter", "⏎", "Open", "Open the live screen, or the replay of an ended run; q comes back"),
    ("v", "v", "Side by side", "Show up to four running campaigns (or the marked ones)"),
    ("n", "n", "New", "Start a sample, or make a campaign of your own"),
    ("x", "x", "Stop", "Stop the campaign under the cursor; everything is saved first"),
    ("r", "r", "Resume", "Resume the run under the cursor"),
    ("space", "space", "Mark", "Mark the run for side by side"),
    ("s", "s", "Sort", "Choose the column to sort by; S reverses"),
    ("T", "T", "Theme", "Show the next theme"),
)  # fmt: skip
PANE_KEYS: Final = (
    ("", "1-4", "Open", ""), ("v", "v", "Table", ""), ("T", "T", "Theme", ""),
)  # fmt: skip
"""The keys: as Textual calls them, as they are shown, label, and help."""


class HomeKeys(Canvas):
    """The keys."""

    DEFAULT_CSS = "HomeKeys { height: 1; background: $panel; }"

    def __init__(self) -> None:
        super().__init__()
        self._side_by_side = False

    def show(self, *, side_by_side: bool) -> None:
        """Show the keys of the table, or of the runs side by side."""
        self._side_by_side = side_by_side
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the line; keys without room are in the help."""
        tail = [TextSpan("?", "bold primary"), TextSpan(" Help  "),
                TextSpan("q", "bold primary"), TextSpan(" Leave")]  # fmt: skip
        left: list[TextSpan] = [TextSpan(" ")]
        room = width - 17
        for name, key, label, _ in PANE_KEYS if self._side_by_side else KEYS:
            wide = len(key) + len(label) + 3
            if wide > room:
                break
            room -= wide
            left += [TextSpan(key, "bold primary", name), TextSpan(f" {label}  ", "", name)]
        return [spread(left, tail, width)]

    def clicked(self, click: str, at: int) -> None:
        """Carry out the clicked action."""
        self.app.simulate_key(click)


class HomeHelp(Dialog[None]):
    """Keys, and what the columns mean."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "dismiss", show=False)
    ]
    DEFAULT_CSS = "HomeHelp { & > VerticalScroll { width: 84; } }"

    def compose(self) -> ComposeResult:
        """Yield the text."""
        lines = [f"{key:<7}{text}" for _, key, _, text in KEYS]
        lines += ["1-4    Side by side: open that run", "", "Columns"]
        titles = {c.id: c.title for c in columns()}
        lines += [f"{titles[name]:<7}{text}" for name, text in MEANINGS.items()]
        with VerticalScroll() as box:
            box.border_title = "Home"
            yield Static("\n".join(lines), markup=False)


class HomeApp(ThemedApp):
    """The home screen."""

    TITLE = "fuzztui"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    HomeApp { background: $background; }
    HomeApp Screen { layout: vertical; background: $background; }
    ContentSwitcher { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+q", "quit", "Leave", priority=False),
        Binding("escape", "to_table", show=False),
        Binding("v", "side_by_side", show=False),
        Binding("n", "new", show=False),
        Binding("x", "stop", show=False),
        Binding("r", "resume", show=False),
        Binding("T", "next_theme", show=False),
        Binding("question_mark,f1", "help", show=False),
        *(Binding(str(n), f"open_pane({n})", show=False) for n in range(1, 5)),
        *bindings("marking"),
    ]

    def __init__(
        self, opening: HomeOpening, themes: Iterable[ThemeFile] = (), theme: str = ""
    ) -> None:
        themes = [*themes]
        super().__init__(themes, theme)
        self._names = [t.name for t in themes]
        self._opening = opening
        self._seen = Seen()
        self._rows: dict[str, RunRow] = {}
        """The rows of the table, which shares this object."""
        self._found_at = -FIND_S
        self._side_by_side = False
        self._paths: list[Path] = []
        """The runs side by side."""
        self._wake = asyncio.Event()
        self.choice: Path | tuple[str, ...] | None = None
        """What the user has chosen: a run, or :data:`INIT`; None: to leave."""
        self.choice_ended = False
        """Whether the chosen run has ended."""

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        table: BigTable[RunRow] = BigTable(columns(), empty="", id="runs")
        table.meanings = MEANINGS
        yield HomeHeader()
        with ContentSwitcher(initial="runs"):
            yield table
            yield RunPanes(id="panes")
        yield HomeDetail()
        yield HomeKeys()

    @property
    def table(self) -> BigTable[RunRow]:
        """The table of runs."""
        return self.query_one("#runs", BigTable)

    def on_mount(self) -> None:
        """Start looking."""
        self.table.load({})
        self.table.focus()
        self.run_worker(self._follow(), group="follow")

    # --------------------------------------------------------------- looking

    async def _follow(self) -> None:
        while True:
            self._wake.clear()
            try:
                seen = await in_thread(partial(self._look, tuple(self._paths)))
                self._show(seen)
            except Exception as e:  # any error is shown, and tried again
                self._problem(str(e) or type(e).__name__)
                await asyncio.sleep(BACK_OFF_S / 4)
                continue
            wait = 0.05 if seen.left else LOOK_S
            try:
                await asyncio.wait_for(self._wake.wait(), wait)
            except TimeoutError:
                continue

    def _problem(self, text: str) -> None:
        self.query_one(HomeHeader).show(self._seen, text)

    def _look(self, beside: Sequence[Path]) -> Seen:
        """Look at what may have changed. Called in a thread."""
        with self._opening.lock:
            return self._locked_look(beside)

    def _locked_look(self, beside: Sequence[Path]) -> Seen:
        runs, now = self._opening.runs, time.monotonic()
        if now - self._found_at >= FIND_S:
            self._found_at = now
            runs.find()
            due = runs.looks  # a run may have been resumed
        else:
            due = [look for look in runs.looks if look.pid is not None]
        for _ in runs.refresh([look for look in due if look.done], LIVE_S):
            pass
        end = time.monotonic() + READ_S
        for look in sorted(runs.unread, key=lambda look: look.summary.state != ""):
            if time.monotonic() >= end:
                break
            for _ in runs.refresh([look], LIVE_S):
                pass
        looks = runs.looks
        rows = {str(look.run): self._row(look) for look in looks}
        states = {look.run: look.state for look in looks}
        panes = [
            pane_content(rows[str(path)], state)
            for path in beside
            if (state := states.get(path)) is not None
        ]
        return Seen(rows, panes, len(runs.unread))

    def _row(self, look: RunLook) -> RunRow:
        of = look.summary
        age = max(0.0, self._opening.wall() - of.started)
        new = of.new_groups(self._opening.last_look(look.run)) if of.group_count else 0
        return RunRow(
            look.run,
            _short(look.run),
            of,
            look.pid is not None,
            look.trouble,
            new,
            format.brief(age) if of.started else format.NONE,
        )

    def _show(self, seen: Seen) -> None:
        before, self._seen = self._seen, seen
        table = self.table
        if [*before.rows] != [*seen.rows]:
            cursor = table.cursor
            self._rows = dict(seen.rows)
            table.load(self._rows)
            if cursor is None:
                at = self._opening.at
                if at is None or not table.go_to(str(at)):
                    table.move_to(0)
        else:
            self._rows.update(seen.rows)
            table.touch(k for k, row in seen.rows.items() if before.rows.get(k) != row)
        nothing = "no runs here: press n to start a sample, or a campaign of your own"
        table.show_empty("" if seen.left else nothing)
        self.query_one(HomeHeader).show(seen)
        self.query_one(HomeDetail).show(self._current)
        if self._side_by_side:
            self.query_one(RunPanes).show(seen.panes)

    @property
    def _current(self) -> RunRow | None:
        key = self.table.cursor
        return None if key is None else self._seen.rows.get(key)

    @on(BigTable.Highlighted)
    def _highlighted(self) -> None:
        self.query_one(HomeDetail).show(self._current)

    # ---------------------------------------------------------------- actions

    def action_perform(self, action_id: str) -> None:
        """Called by Textual for a key of the table."""
        self.perform(action_id)

    def perform(self, action_id: str) -> None:
        """Carry out an action of the table."""
        name, args = BY_ID[action_id].method
        method = getattr(self.table, name, None)
        if method is not None and not self._side_by_side:
            method(*args)

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
        self.exit()

    def action_open_pane(self, number: int) -> None:
        """Open one of the runs side by side."""
        panes = self._seen.panes
        if self._side_by_side and number <= min(len(panes), room_for(*self.size)):
            self._open(panes[number - 1].row)

    def action_to_table(self) -> None:
        """Return to the table, or unmark all rows."""
        if self._side_by_side:
            self.action_side_by_side()
        else:
            self.table.clear_marks()

    def action_side_by_side(self) -> None:
        """Show several running campaigns side by side, or the table again."""
        if not self._side_by_side:
            marked = self.table.marked_rows()
            live = [row for row in marked or self._seen.rows.values() if row.supervised]
            if not live:
                what = "no marked run is under way" if marked else "no campaign is under way"
                self._say(f"Side by side: {what}; r resumes one")
                return
            self._paths = [row.path for row in live[: room_for(*self.size)]]
            self._wake.set()
        self._side_by_side = not self._side_by_side
        if not self._side_by_side:
            self._paths = []
        switcher = self.query_one(ContentSwitcher)
        switcher.current = "panes" if self._side_by_side else "runs"
        self.query_one(HomeDetail).display = not self._side_by_side
        self.query_one(HomeKeys).show(side_by_side=self._side_by_side)
        if not self._side_by_side:
            self.table.focus()

    def action_stop(self) -> None:
        """Stop the campaign under the cursor."""
        row = self._chosen("Stop")
        if row is None:
            return
        if not row.supervised:
            self._say(f"Stop: {row.shown} is not under way")
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.run_worker(self._stop(row.path), group="steer")

        question = f"End {row.shown}? Everything is saved; r resumes it later."
        self.push_screen(ConfirmScreen("Stop the campaign", question, "Stop", "Cancel"), answered)

    async def _stop(self, run: Path) -> None:
        outcome = await self._opening.sender(run).send(Stop())
        self._say(f"Stop: {outcome.kind}" + (f": {outcome.detail}" if outcome.detail else ""))
        self._wake.set()

    def action_resume(self) -> None:
        """Resume the run under the cursor."""
        row = self._chosen("Resume")
        if row is None:
            return
        file = row.path / "campaign.toml"
        if row.supervised:
            self._say(f"Resume: {row.shown} is under way already")
        elif not row.summary.state or not file.is_file():
            self._say(f"Resume: {row.shown} has no campaign.toml")
        else:
            self._confirm("Resume the campaign", f"Resume {row.shown}?", "Resume", [str(file)])

    def _chosen(self, what: str) -> RunRow | None:
        if self._side_by_side:
            self._say(f"{what}: go back to the table with v first")
            return None
        return self._current

    def _confirm(self, title: str, question: str, yes: str, argv: Sequence[str]) -> None:
        def answered(agreed: bool | None) -> None:
            if agreed:
                self.run_worker(self._start(argv), group="steer")

        self.push_screen(ConfirmScreen(title, question, yes, "Cancel"), answered)

    async def _start(self, argv: Sequence[str]) -> None:
        command = shlex.join(["fuzztui", *argv])
        self._say(f"starting: {command}")
        problem = await in_thread(partial(self._opening.start, argv))
        if problem:
            self.notify(
                plain(problem, 1000), title="Not started", severity="error", markup=False,
                timeout=20,
            )  # fmt: skip
        self._found_at = -FIND_S
        self._wake.set()

    async def action_new(self) -> None:
        """Offer the samples, and a campaign of the user's own."""
        samples = await in_thread(self._opening.samples)
        own = self._opening.own
        first = own or "Describe a campaign of your own: fuzztui init"

        def answered(answer: str | None) -> None:
            if answer == OWN and own:
                self.notify(own, markup=False, timeout=20)
            elif answer == OWN:
                self.choice = INIT
                self.exit()
            elif answer is not None:
                where = f"in {Path.cwd() / 'runs'}"
                self._confirm(
                    "Start a sample", f"Start {answer} {where}?", "Start", [answer, "--new"]
                )

        self.push_screen(NewScreen(samples, first), answered)

    def action_next_theme(self) -> None:
        """Show the next theme, and remember it."""
        if self._names:
            at = self._names.index(self.theme) if self.theme in self._names else -1
            self.theme = self._names[(at + 1) % len(self._names)]
            self.run_worker(self._remember(self.theme), group="remember")

    async def _remember(self, name: str) -> None:
        await in_thread(partial(self._opening.remember, name))

    def action_help(self) -> None:
        """Show keys and columns."""
        self.push_screen(HomeHelp())

    def action_help_quit(self) -> None:
        """Ctrl+C leaves too."""
        self.exit()

    def _say(self, text: str) -> None:
        self.notify(plain(text, 400), markup=False, timeout=5)


def _short(path: Path) -> str:
    """The path as short as it can be named from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return os.fspath(path)

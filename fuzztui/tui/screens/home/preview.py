"""The run under the cursor, before it is opened: how it ended or stands, its story, its edges."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from textual.app import ComposeResult
from textual.containers import Horizontal

from fuzztui.kernel.base.text import several
from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.story import story
from fuzztui.kernel.session import LiveClock, Session
from fuzztui.run.home.look import Files, RunLook, fingerprint, reason_of
from fuzztui.run.home.summary import UNREADABLE, RunSummary
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan
from fuzztui.tui.base.chart import Chart, ChartContent, View
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.wrap import wrap
from fuzztui.tui.labels.closing import NAME_CELLS, closing_rows
from fuzztui.tui.labels.status import status_of
from fuzztui.tui.screens.home.panes import GROWING, growth_of

READ_S: Final = 1.0
"""Seconds of reading one log for its preview: more than enough for what is not called long."""
MAX_ROWS: Final = 10_000
"""Entries and findings up to which the story is told: it takes time for each."""
LEAST, MOST = 8, 20
"""Rows of the preview below a long list of runs, and a short one."""
LOW: Final = 20
"""Rows of a terminal below which there is no preview."""
LOG: Final = "log"
"""The name of rows that say what is wrong with the log."""

Row = tuple[str, str, str]
"""Name, text and style of a line. Texts are untrusted."""


@dataclass(frozen=True, slots=True)
class HomePreview:
    """What is shown of a run, copied from its state by the thread that reads the log."""

    run: Path
    rows: Sequence[Row]
    now: float = 0.0
    """Campaign time."""
    over: bool = False
    """Whether the campaign has ended."""
    growth: ChartContent = field(default_factory=ChartContent)
    files: Files | None = None
    """The log's files that it shows; None: they may grow."""


def read_preview(look: RunLook, last: HomePreview | None) -> HomePreview:
    """Return the preview of a run; ``last`` if nothing has changed since. Blocking, but bounded."""
    files = fingerprint(look.run)
    if last is not None and (last.run, last.files) == (look.run, files):
        return last
    reason = look.summary.reason if look.summary.state == UNREADABLE else ""
    try:
        if not reason:
            return _preview(look, files)
    except (LogError, OSError) as e:
        reason = reason_of(e, look.run)
    return HomePreview(look.run, [(LOG, f"cannot be read: {reason}", "failed")], files=files)


def _preview(look: RunLook, files: Files) -> HomePreview:
    state, left = look.state, look.summary.unread
    whole = state is None
    if state is None:  # the campaign has ended, and its log was closed
        session = Session(look.run, LiveClock())
        end = time.monotonic() + READ_S
        session.poll()
        while session.behind and not session.is_long and time.monotonic() < end:
            session.poll()
        state, left = session.state, session.end_seq - session.state.seq
    rows = [*_damage(look.summary)]
    edges = ChartContent()
    if left > 0:  # the state is of an earlier time
        rows += _figures(look.summary, left)
    else:
        rows += _rows(state, look.summary.state)
        edges = growth_of(state, sorted(GROWING, key=lambda kind: kind[0] != "edges"))
    over = state.state in ENDED
    return HomePreview(look.run, rows, state.t, over, edges, files if whole else None)


def _damage(of: RunSummary) -> Iterator[Row]:
    if of.damage:
        yield LOG, f"is damaged, so that numbers are lower bounds: {of.damage}", "pending"


def _figures(of: RunSummary, left: int) -> Iterator[Row]:
    yield LOG, f"is long: {several(left, 'record')} are not read for this preview", "muted"
    execs = format.count(of.execs)
    yield "state", f"{of.state} at {format.clock(of.elapsed_s)}: {execs} execs", ""


def _rows(state: State, name: str) -> Iterator[Row]:
    status = status_of(state, state.t)
    if state.state not in ENDED:  # running, or interrupted
        execs, kept = format.count(status.stats.execs), format.count(status.stats.corpus)
        text = f"{name} at {format.clock(state.t)}: {execs} execs, {kept} entries"
        yield "now", text, "running" if name == "running" else "pending"
    for row in closing_rows(state, status, None):
        yield row.name, row.text, row.style
    if len(state.entries) + len(state.findings) <= MAX_ROWS:
        for moment in story(state):
            yield format.clock(moment.t), moment.text, ""


class _PreviewText(Canvas):
    """The rows of a preview."""

    rows: Sequence[Row] = ()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the rows; the last line says how many have no room."""
        lines: list[Line] = []
        for name, text, style in self.rows:
            label = TextSpan(f" {plain(name):<{NAME_CELLS}} ", "muted")
            lines += wrap([label, TextSpan(plain(text), style)], width)
        if len(lines) > height > 0:
            lines[height - 1 :] = [[TextSpan(f" … {len(lines) - height + 1} more", "muted")]]
        return lines


class RunPreview(Horizontal):
    """The preview in the lower part of Home: text, and beside it a chart."""

    DEFAULT_CSS = """
    RunPreview {
        border-top: solid $rule; display: none;
        & _PreviewText { width: 1fr; height: 1fr; }
        & Chart { width: 40%; height: 1fr; margin: 0 1; }
    }
    .-medium RunPreview Chart { width: 26; }
    .-narrow RunPreview Chart { width: 0; margin: 0; }
    """

    def compose(self) -> ComposeResult:
        """Yield text and chart."""
        yield _PreviewText()
        yield Chart()

    def fit(self, runs: int, *, wanted: bool) -> None:
        """Take the rows that a table of ``runs`` leaves, or none if it is not ``wanted``."""
        height = self.app.size.height
        self.display = wanted and runs > 0 and height >= LOW
        self.styles.height = max(LEAST, min(MOST, height - runs - 6))

    def show(self, preview: HomePreview | None) -> None:
        """Show a preview; None: it is being made."""
        text, chart = self.query_one(_PreviewText), self.query_one(Chart)
        preview = preview or HomePreview(Path(), [("", "reading the log…", "muted")])
        text.rows = preview.rows
        text.repaint()
        chart.display = any(curve.times for curve in preview.growth.curves)
        chart.show(preview.growth, View(preview.now, still=preview.over, calm=True))

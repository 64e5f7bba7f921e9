"""The rows of runs on the home screen. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.cells import cell_len

from fuzztui.kernel.base.text import several
from fuzztui.run.home.summary import UNREADABLE, RunSummary
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import bars
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.columns import Cell, Column
from fuzztui.tui.base.text import fit, plain

_STYLES: Final = {
    "running": "running", "paused": "paused", "stalled": "stalled", "finished": "finished",
    "failed": "failed", "starting": "running", "stopping": "paused", "interrupted": "pending",
    UNREADABLE: "failed",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run as the table shows it. Texts are untrusted."""

    path: Path
    shown: str
    """The path as short as it can be named from here."""
    summary: RunSummary
    supervised: bool
    trouble: str
    """Why the supervisor cannot write its log; an empty string if it can."""
    new: int
    """Groups of findings since the user's last look."""
    age: str
    resumable: bool = False
    """Whether the run can be resumed: unfinished, without supervisor, its campaign file exists."""


def columns() -> Sequence[Column[RunRow]]:
    """Return the columns of the table of runs."""
    return (
        Column("state", "state", _state, lambda r: r.summary.state, min=9, max=11),
        Column("run", "run", lambda r: (r.shown, ""), lambda r: r.shown, min=12, max=70,
               flex=True, cut=_end_of),
        Column("engine", "engine", lambda r: (r.summary.engine, "muted"),
               lambda r: r.summary.engine, max=9, needs=76),
        Column("age", "age", lambda r: (r.age, ""), lambda r: -r.summary.started, "right"),
        Column("execs", "execs", lambda r: (format.count(r.summary.execs), ""),
               lambda r: r.summary.execs, "right", min=6, descending=True),
        Column("rate", "exec/s", lambda r: (format.rate(r.summary.execs_per_sec), "rate"),
               lambda r: r.summary.execs_per_sec, "right", min=6, descending=True),
        Column("score", "score", _score, lambda r: r.summary.score, "right", min=6, spare=True,
               descending=True),
        Column("edges", "edges", lambda r: (format.count(r.summary.edges), "edge"),
               lambda r: r.summary.edges, "right", min=6, needs=100, descending=True),
        Column("groups", "groups", _groups, lambda r: (r.new, r.summary.group_count), "right",
               min=6, descending=True, number=lambda r: r.summary.group_count),
        Column("course", "course", lambda r: (course(r.summary), "edge"), min=24, max=24,
               needs=110),
    )  # fmt: skip


def _end_of(text: str, width: int) -> str:
    """The end of a text in at most ``width`` cells, after an ellipsis if it is cut."""
    shown = plain(text)
    left, start = width, len(shown)
    while start and (left := left - cell_len(shown[start - 1])) >= (start > 1):
        start -= 1
    return shown if not start else f"…{shown[start:]}"


def _state(row: RunRow) -> Cell:
    return row.summary.state or "reading", _STYLES.get(row.summary.state, "muted")


def _score(row: RunRow) -> Cell:
    score = row.summary.score
    return (format.score(score) if score >= 0 else "", "killed")


def _groups(row: RunRow) -> Cell:
    known = row.summary.group_count
    return (f"{known:,} +{row.new:,}", "crash") if row.new else (f"{known:,}", "")


def course(summary: RunSummary) -> str:
    """Return the sparkline of a run."""
    return bars([None if value < 0 else value for value in summary.spark])


def detail(row: RunRow, width: int) -> list[Line]:
    """Return two lines about one run: what it fuzzes, and what is wrong with it."""
    of = row.summary
    what = plain(f"{of.name}: {of.target}" if of.target else of.name, 300)
    path = _end_of(row.shown, max(width // 2, width - cell_len(what) - 2))
    what = fit(what, min(cell_len(what), width - cell_len(path) - 2))
    first = [TextSpan(what, "bold"), TextSpan(f"  {path}" if what else path, "muted")]
    interrupted = "no supervisor is running: it ended before the campaign, which can be resumed"
    wrong = [
        of.reason,
        of.state == "interrupted" and interrupted,
        row.trouble,
        of.damage and f'each number means "at least": {of.damage}',
        of.unread and f"{of.unread:,} records of the log are not read yet",
        row.supervised and of.lost and f"not connected: {', '.join(of.lost)}",
    ]
    problems = [TextSpan(plain(str(text), 300), "pending") for text in wrong if text]
    hosts = f"on {several(len(of.hosts), 'host')}" if of.hosts else ""
    second = [span for text in problems for span in (text, TextSpan("  "))]
    return [first, second or [TextSpan(hosts, "muted")]]

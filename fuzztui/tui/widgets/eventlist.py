"""The latest events, newest on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fuzztui.model.state import Finding, State
from fuzztui.tui import figures
from fuzztui.tui.describe import Described, describe
from fuzztui.tui.text import fit, plain
from fuzztui.tui.widgets.canvas import Canvas, Line, Span
from fuzztui.wire import events as ev
from fuzztui.wire.events import Record

MOST = 100
"""Events that are kept drawn: more than any screen shows."""


class EventList(Canvas):
    """Campaign time, a word for the kind, the instance, what happened."""

    DEFAULT_CSS = "EventList { height: 1fr; min-height: 3; }"

    def __init__(self) -> None:
        super().__init__()
        self._events: Sequence[tuple[float, Described]] = ()

    def show(self, state: State) -> None:
        """Draw the end of ``state.recent``."""
        self._events = latest(state)
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """One event a line under a title."""
        title = "Events"
        lines: list[Line] = [
            [Span(f" {title} ", "bold"), Span("─" * (width - len(title) - 3), "rule")]
        ]
        if not self._events:
            return [*lines, [Span(" waiting for the first event…", "muted")]]
        for t, event in self._events[: height - 1]:
            fixed = [
                Span(f" {figures.clock(t):>8}  ", "muted"),
                Span(fit(plain(event.label), 9), event.style),
                Span(fit(plain(event.instance), 8) + "  ", "muted"),
            ]
            lines.append([*fixed, Span(fit(plain(event.text), max(0, width - 32)))])
        return lines


def latest(state: State, most: int = MOST) -> list[tuple[float, Described]]:
    """The last events that a person wants to hear of, newest first.

    New queue entries in a row are one line. Findings are there however many other
    events came since, and are called by their titles as soon as those are known.
    What only adds detail to an event that is shown anyway is left out.
    """
    out: list[tuple[int, float, Described]] = []
    entries: list[Record] = []
    for record in reversed(list(state.recent)):
        event = record.event
        if isinstance(event, ev.EntrySaved):
            entries.append(record)
            continue
        if isinstance(event, ev.FindingSaved | ev.FindingDescribed):
            continue
        if isinstance(event, ev.EntryDescribed) and not event.steer:
            continue
        out += _run(entries)
        entries = []
        out.append((record.seq, record.t, describe(event)))
    out += _run(entries)
    out += [(f.seq, f.t, _finding(f)) for f in list(state.findings.values())[-most:]]
    out.sort(key=lambda item: item[0], reverse=True)
    return [(t, described) for _, t, described in out[:most]]


def _run(entries: Sequence[Record]) -> list[tuple[int, float, Described]]:
    """Entries in a row, newest first, as one event."""
    if not entries:
        return []
    newest = entries[0]
    described = describe(newest.event)
    if len(entries) > 1:
        described = replace(described, text=f"{described.text}  and {len(entries) - 1:,} before it")
    return [(newest.seq, newest.t, described)]


def _finding(finding: Finding) -> Described:
    place = f"  at {finding.place}" if finding.place else ""
    again = "" if finding.first else "  (seen before)"
    style = finding.category if finding.first else "muted"
    text = f"{finding.title or finding.file}{place}{again}"
    return Described(finding.category, text, style, finding.instance)

"""The event list: the latest events, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.cells import cell_len

from fuzztui.model.state import Finding, State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.labels.details import finding_title
from fuzztui.tui.labels.events import Described, describe, progress_text
from fuzztui.tui.labels.instances import TROUBLE
from fuzztui.tui.labels.mutants import brief_change, place
from fuzztui.wire import events as ev
from fuzztui.wire.events import Record

TOLD = ("fuzzing", "done", "refused", "failed", "dropped")
"""Progress of a mutant that is shown."""

OFTEN = ("failed", "dropped")
"""Progress that many mutants have: shown as one line with a count."""

MOST = 100
"""Maximal number of drawn events: more than any screen shows."""


class EventList(Canvas):
    """Campaign time, kind, instance and text of the latest events."""

    DEFAULT_CSS = "EventList { height: 1fr; min-height: 3; }"

    def __init__(self) -> None:
        super().__init__()
        self._events: Sequence[tuple[float, Described]] = ()

    def show(self, state: State) -> None:
        """Draw the end of ``state.recent``."""
        self._events = latest(state)
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw a title and one event per line."""
        title = "Events"
        lines: list[Line] = [
            [TextSpan(f" {title} ", "bold"), TextSpan("─" * (width - len(title) - 3), "rule")]
        ]
        if not self._events:
            return [*lines, [TextSpan(" waiting for the first event…", "muted")]]
        shown = self._events[: height - 1]
        # Watched trees have long instance names; the text is more important.
        longest = max(cell_len(plain(event.instance)) for _, event in shown)
        name = min(max(8, longest), max(8, width // 6))
        for t, event in shown:
            fixed = [
                TextSpan(f" {format.clock(t):>8}  ", "muted"),
                TextSpan(fit(plain(event.label), 9), event.style),
                TextSpan(fit(plain(event.instance), name) + "  ", "muted"),
            ]
            lines.append([*fixed, TextSpan(fit(plain(event.text), max(0, width - 24 - name)))])
        return lines


def latest(state: State, most: int = MOST) -> list[tuple[float, Described]]:
    """Return the latest events that users need, newest first.

    Consecutive new entries are one line, and so are the kills of one entry. Findings are shown
    however many other events followed, with their titles once known. Events that only add details
    to another event are left out.
    """
    out: list[tuple[int, float, Described]] = []
    entries: list[Record] = []
    kills: dict[str, list[Record]] = {}
    turns: dict[str, list[Record]] = {}
    for record in reversed(list(state.recent)):
        event = record.event
        if isinstance(event, ev.EntrySaved):
            entries.append(record)
            continue
        if isinstance(event, ev.MutantState):
            if _first(event, state):
                kills.setdefault(event.killer or event.id, []).append(record)
            continue
        if isinstance(event, ev.FindingSaved | ev.FindingDescribed):
            continue
        if isinstance(event, ev.EntryDescribed) and not event.steer:
            continue
        if isinstance(event, ev.MutantProgress):
            if event.stage in TOLD:
                turns.setdefault(event.stage if event.stage in OFTEN else event.id, []).append(
                    record
                )
            continue
        if isinstance(event, ev.InstanceHello | ev.InstanceState) and _told(event, state):
            continue
        out += _run(entries)
        entries = []
        out.append((record.seq, record.t, describe(event)))
    out += _run(entries)
    out += [(f.seq, f.t, _finding(f)) for f in list(state.findings.values())[-most:]]
    out += [_kills(records, state) for records in kills.values()]
    out += [_turns(records, state) for records in turns.values()]
    out.sort(key=lambda item: item[0], reverse=True)
    return [(t, described) for _, t, described in out[:most]]


def _first(kill: ev.MutantState, state: State) -> bool:
    """Whether this is the mutant's first kill, which another instance may have made."""
    mutant = state.mutants.get(kill.id)
    return mutant is None or mutant.killer in ("", kill.killer)


def _kills(records: Sequence[Record], state: State) -> tuple[int, float, Described]:
    """The kills of one entry, newest first, as one event with location and change."""
    newest = records[0]
    described = describe(newest.event)
    mutant = state.mutants.get(getattr(newest.event, "id", ""))
    if mutant is not None and mutant.file:
        by = f"  by {mutant.killer}" if mutant.killer else ""
        change = brief_change(mutant.before, mutant.after)
        described = replace(described, text=f"{place(mutant)}  {change}{by}")
    if len(records) > 1:
        described = replace(described, text=f"{described.text}  and {len(records) - 1:,} more")
    return newest.seq, newest.t, described


def _told(event: ev.InstanceHello | ev.InstanceState, state: State) -> bool:
    """Whether the turn of a mutant shows the same about its instance."""
    instance = state.instances.get(event.instance)
    fuzzes = instance is not None and bool(instance.mutant)
    return fuzzes and not (isinstance(event, ev.InstanceState) and event.state in TROUBLE)


def _turns(records: Sequence[Record], state: State) -> tuple[int, float, Described]:
    """The progress of one mutant, or of many as one event with the latest one."""
    newest = records[0]
    event = newest.event
    described = describe(event)
    if isinstance(event, ev.MutantProgress):
        mutant = state.mutants.get(event.id)
        if mutant is not None and mutant.file:
            change = brief_change(mutant.before, mutant.after)
            described = replace(described, text=f"{place(mutant)} {progress_text(event)}  {change}")
        if len(records) > 1 and event.stage in OFTEN:
            described = replace(described, text=f"{described.text}  and {len(records) - 1:,} more")
    return newest.seq, newest.t, described


def _run(records: Sequence[Record]) -> list[tuple[int, float, Described]]:
    """Consecutive records of one kind, newest first, as one event."""
    if not records:
        return []
    newest = records[0]
    described = describe(newest.event)
    if len(records) > 1:
        described = replace(described, text=f"{described.text}  and {len(records) - 1:,} before it")
    return [(newest.seq, newest.t, described)]


def _finding(finding: Finding) -> Described:
    place = f"  at {finding.place}" if finding.place else ""
    again = "" if finding.first else "  (seen before)"
    style = finding.category if finding.first else "muted"
    text = f"{finding_title(finding)}{place}{again}"
    return Described(finding.category, text, style, finding.instance)

"""The latest events as rows for users: repeats are one row, and each row leads somewhere. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import islice

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.receipts import receipt_of
from fuzztui.kernel.model.state import CommandStatus, Finding, State
from fuzztui.kernel.model.story import Moment
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.events import Record
from fuzztui.tui.labels.details import finding_text
from fuzztui.tui.labels.events import SAVED, Described, at_host, command_text, describe
from fuzztui.tui.labels.instances import TROUBLE
from fuzztui.tui.labels.mutants import brief_change, brief_place, place

SHOWN_STAGES = ("fuzzing", "done", "refused", "failed", "dropped")
"""Progress of a mutant that is shown."""

OFTEN = ("failed", "dropped")
"""Progress that many mutants have: shown as one row with a count."""

PASSING = ("connecting", "preparing")
"""States of the connection to a host that are shown as long as they are the latest."""

MAX_ROWS = 100
"""Maximal number of rows: more than any screen shows."""

MAX_PINNED = 3
"""Groups of findings at the top, however many other events followed."""

CORPUS, FINDINGS, MUTANTS, LOG = "corpus", "findings", "mutants", "log"


@dataclass(frozen=True, slots=True)
class EventRow:
    """One row of the event list. If it stands for several records, ``seq`` and ``t`` are those of
    the newest.
    """

    seq: int
    t: float
    described: Described
    screen: str
    """The screen that shows more."""
    key: str
    """The row of that screen."""
    pinned: bool = False


_OF_MOMENTS = {
    "start": "running", "finding": "crash", "burst": "edge", "plateau": "hang",
    "command": "promoted", "target": "running", "failed": "failed", "exact": "killed",
    "end": "finished",
}  # fmt: skip
"""The style of each kind of moment."""


def moment_rows(moments: Sequence[Moment]) -> list[EventRow]:
    """Return the moments of a story as rows."""
    return [
        EventRow(n, m.t, Described(m.kind, m.text, _OF_MOMENTS.get(m.kind, "")), m.screen, m.key)
        for n, m in enumerate(moments)
    ]


def describe_known(record: Record, state: State) -> Described:
    """Return an event as text, with what the campaign's state knows of its mutant or command."""
    return at_host(_known(record.event, state), record)


def _known(event: ev.Event, state: State) -> Described:
    described = describe(event)
    match event:
        case ev.MutantState():
            mutant = state.mutants.get(event.id)
            if mutant is None or not mutant.file:
                return described
            where = f"{place(mutant)}  {brief_change(mutant.before, mutant.after)}"
            rest = described.text.removeprefix(event.id)
            return replace(described, text=f"{where}{rest}")
        case ev.MutantProgress():
            mutant = state.mutants.get(event.id)
            if mutant is None or not mutant.file:
                return described
            change = brief_change(mutant.before, mutant.after)
            rest = described.text.removeprefix(event.id).strip()
            return replace(described, text=f"{place(mutant)} {rest}  {change}")
        case ev.FindingSaved():
            finding = state.findings.get(f"{event.instance}/{event.file}")
            return described if finding is None else _finding(finding, 1)
        case ev.CommandApplied() | ev.CommandRejected():
            command = state.commands.get(event.id)
            if command is None or not command.command:
                return described
            rest = described.text.removeprefix(event.id).strip()
            receipt = receipt_of(state, event.id) if command.state == "applied" else None
            since = receipt.text if receipt is not None else ""
            parts = (given_text(command, state), since, rest)
            return replace(described, text="  ".join(filter(None, parts)))
        case ev.CommandIssued() if event.undoes and event.id in state.commands:
            text = given_text(state.commands[event.id], state)
            by = f"  by {event.by}" if event.by else ""
            return replace(described, text=f"{text}{by}")
        case _:
            return described


def given_text(command: CommandStatus, state: State) -> str:
    """Return a command as text; of an undo: the command that it undoes."""
    undone = state.commands.get(command.undoes[0]) if command.undoes else None
    done = command if undone is None or not undone.command else undone
    text, mutant = command_text(done.command), state.mutants.get(str(done.command.get("select")))
    if mutant is not None and mutant.file:
        text = text.replace(mutant.id, brief_place(mutant))
    return text if done is command else f"undo of {text}"


def event_rows(state: State, most: int = MAX_ROWS) -> list[EventRow]:
    """Return the latest events that users need: the newest groups of findings, then by time.

    One row each for: consecutive new entries; the kills of one entry; the progress of one mutant;
    all findings of one group; a command and its answer; an undo; consecutive equal states of
    instances. Of the steps of preparing a host only the latest is shown.
    Events that only add details to another event are left out.
    """
    rows: list[EventRow] = []
    run: list[Record] = []
    kills: dict[str, list[Record]] = {}
    turns: dict[str, list[Record]] = {}
    answered: set[str] = set()
    undone: set[tuple[str, type[ev.Event]]] = set()
    """Commands that were undone, and how: an undo may take several commands."""
    hosts: set[str] = set()
    """Hosts with a later state of their connection."""
    for record in reversed(list(state.recent)):
        event = record.event
        match event:
            case ev.MutantState():
                if _first(event, state):
                    kills.setdefault(event.killer or event.id, []).append(record)
                continue
            case ev.MutantProgress():
                if event.stage in SHOWN_STAGES:
                    kind = event.stage if event.stage in OFTEN else event.id
                    turns.setdefault(kind, []).append(record)
                continue
            case ev.FindingSaved() | ev.FindingDescribed() | ev.ExampleSaved():
                continue
            case ev.EntryDescribed() if not event.steer:
                continue
            case ev.CoverageBuild() if event.state != "failed":
                continue
            case ev.HostState():
                if event.host in hosts and event.state in PASSING:
                    continue
                hosts.add(event.host)
            case ev.InstanceHello() | ev.InstanceState() if _is_turn(event, state):
                continue
            case ev.CommandIssued() | ev.CommandApplied() | ev.CommandRejected():
                if event.id in answered:
                    continue  # by another instance
                if not isinstance(event, ev.CommandIssued):
                    answered.add(event.id)
                command = state.commands.get(event.id)
                if command is not None and command.undoes:
                    undo = command.undoes[0], type(event)
                    if undo in undone:
                        continue
                    undone.add(undo)
        if run and not _alike(run[-1].event, event):
            rows.append(_run(run, state))
            run = []
        run.append(record)
    if run:
        rows.append(_run(run, state))
    rows += _groups(state, most)
    rows += [_kills(records, state) for records in kills.values()]
    rows += [_turns(records, state) for records in turns.values()]
    rows.sort(key=lambda row: row.seq, reverse=True)
    pinned = [row for row in rows if row.screen == FINDINGS][:MAX_PINNED]
    rest = [row for row in rows if row not in pinned]
    return [*(replace(row, pinned=True) for row in pinned), *rest][:most]


def _alike(later: ev.Event, earlier: ev.Event) -> bool:
    """Whether two consecutive events are shown as one row."""
    match later, earlier:
        case ev.EntrySaved(), ev.EntrySaved():
            return True
        case ev.InstanceState(), ev.InstanceState():
            return (later.state, later.reason) == (earlier.state, earlier.reason)
        case _:
            return False


def _run(records: Sequence[Record], state: State) -> EventRow:
    """The row of consecutive records that are alike. ``records``: newest first."""
    newest = records[0]
    event = newest.event
    described = describe_known(newest, state)
    if len(records) > 1:
        more = f"{len(records) - 1:,} before it"
        if isinstance(event, ev.InstanceState):
            names = {r.event.instance for r in records if isinstance(r.event, ev.InstanceState)}
            more = several(len(names) - 1, "other instance") if len(names) > 1 else more
        described = replace(described, text=f"{described.text}  and {more}")
    screen, key = LOG, str(newest.seq)
    if isinstance(event, ev.EntrySaved | ev.EntryDescribed):
        screen, key = CORPUS, f"{event.instance}/{event.id}"
    return EventRow(newest.seq, newest.t, described, screen, key)


def _first(kill: ev.MutantState, state: State) -> bool:
    """Whether this is the mutant's first kill, which another instance may have made."""
    mutant = state.mutants.get(kill.id)
    return mutant is None or mutant.killer in ("", kill.killer)


def _kills(records: Sequence[Record], state: State) -> EventRow:
    """The kills of one entry, newest first, with location and change of the newest."""
    newest = records[0]
    described = describe(newest.event)
    id = getattr(newest.event, "id", "")
    mutant = state.mutants.get(id)
    if mutant is not None and mutant.file:
        by = f"  by {mutant.killer}" if mutant.killer else ""
        change = brief_change(mutant.before, mutant.after)
        described = replace(described, text=f"{place(mutant)}  {change}{by}")
    if len(records) > 1:
        described = replace(described, text=f"{described.text}  and {len(records) - 1:,} more")
    return EventRow(newest.seq, newest.t, described, MUTANTS, id)


def _is_turn(event: ev.InstanceHello | ev.InstanceState, state: State) -> bool:
    """Whether the row of a mutant's turn makes this event about the turn's instance superfluous."""
    instance = state.instances.get(event.instance)
    fuzzes = instance is not None and bool(instance.mutant)
    return fuzzes and not (isinstance(event, ev.InstanceState) and event.state in TROUBLE)


def _turns(records: Sequence[Record], state: State) -> EventRow:
    """The progress of one mutant, or of many with the latest one."""
    newest = records[0]
    event = newest.event
    described = describe_known(newest, state)
    if len(records) > 1 and getattr(event, "stage", "") in OFTEN:
        described = replace(described, text=f"{described.text}  and {len(records) - 1:,} more")
    return EventRow(newest.seq, newest.t, described, MUTANTS, getattr(event, "id", ""))


def _groups(state: State, most: int) -> list[EventRow]:
    """The newest groups of findings, each at the time of its first finding."""
    found = state.findings
    counts = {keys[0]: len(keys) for keys in list(state.groups.values()) if keys}
    latest = islice(reversed(list(found.values())), most)
    counts |= {f.key: 1 for f in latest if not f.signature}  # not described yet: a group each
    heads = nlargest(most, (found[key] for key in counts), key=lambda f: f.seq)
    return [EventRow(f.seq, f.t, _finding(f, counts[f.key]), FINDINGS, f.key) for f in heads]


def _finding(finding: Finding, files: int) -> Described:
    text = finding_text(finding, files)
    return Described(finding.category, text, finding.category, finding.instance, SAVED)

"""The log of a merged run: the records of all runs by their campaign time, each with its run.

Each run is what a host is in a campaign on several machines, so that the fold adds up what belongs
together (:mod:`fuzztui.kernel.model.hosts`). A mutant that any run has killed stays killed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import fuzztui
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.events import Event, Record
from fuzztui.machines.merge.parts import MergedShards, RunPart

_EVERY: Final = 1000
"""Records between two flushes and two reports of progress."""

_OF_A_HOST: Final = (
    ev.BudgetSet, ev.CampaignEnded, ev.CampaignStarted, ev.CampaignState, ev.HostState, ev.Notified,
    ev.SupervisorStarted,
)  # fmt: skip
"""Events that the merged log takes from a hub itself, not from the hosts in the hub's log."""

_OWN: Final = (ev.SkippedFrames, ev.VerdictsChanged)
"""Events about the whole campaign, which the merged log contains without a host."""

_ALIVE: Final = ("alive", "pending")


def write_log(
    directory: Path,
    parts: Sequence[RunPart],
    shards: MergedShards,
    progress: Callable[[int, int], None],
) -> None:
    """Write the log into an empty directory.

    ``progress``: called with the numbers of records written, and of all. Raises LogError, OSError.
    """
    writer = LogWriter(directory)
    total = sum(part.state.seq for part in parts)
    for event in _first(parts, shards):
        writer.append(event, 0.0)
    killed_by: dict[str, str] = {}
    for number, (part, record) in enumerate(_by_time(parts)):
        found = _translated(part, record)
        if found is not None and not _is_outdone(found, killed_by):
            origin = found if found.host else None
            writer.append(found.event, record.t, origin)
        if number % _EVERY == 0:
            writer.flush()
            progress(number, total)
    for event in _last(parts, shards):
        writer.append(event, writer.last_t)
    writer.flush()
    writer.close(at_rest=True)


def _by_time(parts: Sequence[RunPart]) -> Iterator[tuple[RunPart, Record]]:
    """The records of all runs, by campaign time; those of one run stay in their order."""

    def of(number: int, part: RunPart) -> Iterator[tuple[float, int, int, RunPart, Record]]:
        reader = LogReader(part.run.path)
        latest = 0.0
        for record in reader.records():
            latest = max(latest, record.t)
            yield latest, number, record.seq, part, record
        if reader.problems:
            lost = ev.RecordsLost(reader.last_seq, "; ".join(reader.problems)[:500])
            yield latest, number, reader.last_seq, part, Record(reader.last_seq, latest, lost)

    for _, _, _, part, record in heapq.merge(*(of(n, p) for n, p in enumerate(parts))):
        yield part, record


def _translated(part: RunPart, record: Record) -> Record | None:
    """Return a record as the merged log has it, with the run as its host; None: it is left out."""
    event = record.event
    if part.inner:  # a merged run: all its names are unique already
        if record.host:
            return Record(record.host_seq, record.host_t, event, host=record.host)
        return record if isinstance(event, _OWN) else None
    if record.host and isinstance(event, _OF_A_HOST):
        return None
    if isinstance(event, (ev.MutantsShard, ev.HostState)):
        return None
    if isinstance(event, _OWN):
        return replace(record, host="")
    renamed = part.renamer.event(event)
    return Record(record.seq, record.t, renamed, host=part.name)


def _is_outdone(record: Record, killed_by: dict[str, str]) -> bool:
    """Whether a record calls a mutant of fuzz-first unkilled that another run has killed.

    Events about mutants of fuzz-first name no instance. Also stores kills in ``killed_by``.

    ``killed_by``: the first run that has killed a mutant, by the mutant's id.
    """
    event = record.event
    if not isinstance(event, ev.MutantState) or event.instance:
        return False
    if event.state == "killed":
        killed_by.setdefault(event.id, record.host)
    return event.state in _ALIVE and killed_by.get(event.id, record.host) != record.host


def _first(parts: Sequence[RunPart], shards: MergedShards) -> Iterator[Event]:
    states = [part.state for part in parts]
    first = states[0]
    yield ev.CampaignStarted(
        name=first.name,
        engine=first.engine,
        target=first.target,
        seed=first.seed,
        budget_s=max(state.budget_s for state in states),
        budget_trials=sum(state.budget_trials for state in states),
        instances=[name for part in parts for name in _instances(part)],
        wall=min((s.started_wall for s in states if s.started_wall), default=0.0),
        version=fuzztui.__version__,
    )
    yield ev.CampaignState("running", f"merged from {len(_names(parts))} runs")
    for part in parts:
        for row in part.rows():
            yield ev.HostState(
                str(row["name"]), "ended", "merged", run=str(row.get("run", "")), address=""
            )
    if shards.missing:
        numbers = [*shards.numbers]
        yield ev.MutantsShard("", numbers[0], shards.of, shards.mutants, shards.program, numbers)


def _last(parts: Sequence[RunPart], shards: MergedShards) -> Iterator[Event]:
    if missing := shards.missing:
        names = ", ".join(map(str, missing[:20]))
        text = f"of {shards.of} shards {len(missing)} are missing: {names}; numbers are too low"
        yield ev.Message("warning", text)
    states = {part.state.state for part in parts}
    unfinished = [part.name for part in parts if part.state.state not in ENDED]
    reason = f"merged from {len(_names(parts))} runs"
    if unfinished:
        reason += f", {len(unfinished)} of which had not ended"
    worst = next((s for s in ("failed", "stopped") if s in states), "finished")
    yield ev.CampaignEnded("stopped" if unfinished and worst == "finished" else worst, reason)


def _instances(part: RunPart) -> list[str]:
    """The instances as the merged log names them, without those of mutants' turns."""
    return [part.renamer.instance(i.id) for i in part.state.instances.values() if not i.mutant]


def _names(parts: Sequence[RunPart]) -> list[str]:
    return [str(row["name"]) for part in parts for row in part.rows()]

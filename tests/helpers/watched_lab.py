"""Watched instances, as events and as a state."""

from __future__ import annotations

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev

Watching = tuple[str, str, str, dict[str, int]]
"""Name, directory, command line and statistics of an instance."""


def events_of(*instances: Watching) -> list[ev.Event]:
    """What a watcher records of instances that began 10 s ago."""
    started = ev.CampaignStarted("fleets", "afl", "", instances=[i[0] for i in instances])
    found: list[ev.Event] = [started, ev.CampaignState("running")]
    for name, directory, line, _ in instances:
        hello = ev.InstanceHello(name, "afl-fuzz", directory=directory, command_line=line)
        found += [ev.InstanceState(name, "running"), hello]
    return found


def statistics_of(*instances: Watching) -> list[ev.Event]:
    """The statistics of the instances."""
    return [ev.Stats(i[0], **{"execs": 100, "execs_per_sec": 5.0, **i[3]}) for i in instances]


def watched(*instances: Watching) -> State:
    """The state 10 s after the start of all."""
    records = [ev.Record(n, 0.0, e) for n, e in enumerate(events_of(*instances), 1)]
    now = statistics_of(*instances)
    records += [ev.Record(len(records) + n, 10.0, e) for n, e in enumerate(now, 1)]
    apply(state := State(), records)
    return state

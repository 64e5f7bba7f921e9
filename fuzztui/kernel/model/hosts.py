"""Fold what comes from hosts: states of their connections, and events from their logs.

An event about an instance, entry, finding or mutant means the same from any host. A host's event
about the whole campaign is about that host's part only: it changes the host's row. It changes the
campaign only if all hosts together decide, as for the phase.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Host, Instance, State
from fuzztui.kernel.model.stats import out_of_reach
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.events import Event, Record

_SUMMED = frozenset({"abreast", "count", "first_trials", "listed", "mutants_trials", "round_began"})
"""Numbers of a fuzz-first plan that are added over the hosts; of the others (times) the largest
counts."""


_UNREACHED = frozenset({"connecting", "lost", "failed"})
"""States of a connection in which the hub does not know what runs on the host."""


def host_of(record: Record) -> str:
    """Return the host that a record comes from or is about; an empty string: no host."""
    return record.host or (record.event.host if isinstance(record.event, ev.HostState) else "")


def host(state: State, name: str) -> Host:
    """Return the host ``name``, added if it is new."""
    found = state.hosts.get(name)
    if found is None:
        found = state.hosts[name] = Host(name)
    return found


def instances_of(state: State, name: str) -> list[Instance]:
    """Return the instances on a host."""
    return [i for i in state.instances.values() if i.host == name]


def arrived(state: State, record: Record) -> Event | None:
    """Update the record's host. Return the event to fold for the whole campaign, or None."""
    there = host(state, record.host)
    there.seq = max(there.seq, record.host_seq)
    there.t = max(there.t, record.host_t)
    handler = _OF_ONE_HOST.get(type(record.event))
    return record.event if handler is None else handler(state, there, record)


def note_instance(state: State, record: Record) -> None:
    """Note the host of an instance, after the record was folded."""
    found = state.instances.get(getattr(record.event, "instance", ""))
    if found is not None and not found.host:
        found.host = record.host


def host_state(state: State, e: ev.HostState, touched: ChangesBuilder) -> None:
    """Fold a change of the connection to a host.

    When a hub connects, the campaign there has not ended or is started again. So its known
    final state is cleared.
    """
    there = host(state, e.host)
    if e.state == "connecting" and there.campaign in ENDED:
        there.campaign = there.campaign_reason = ""
    if e.rewound >= 0:
        there.seq, there.t = e.rewound, -1.0
    if there.state != e.state:
        there.changed_t = state.t
    there.state, there.reason = e.state, e.reason
    there.address = e.address or there.address
    there.run = e.run or there.run
    there.clock_ms = e.clock_ms or there.clock_ms
    there.boot = e.boot or there.boot
    touched.campaign = True
    for i in state.instances.values():
        if not i.host and i.id.startswith(f"{e.host}_"):  # named by the hub, not yet reported
            i.host = e.host
    there_run = instances_of(state, e.host)
    touched.instances |= {i.id for i in there_run}
    if e.state in _UNREACHED or (e.state == "connected" and e.reason):  # not well: its disk is full
        for i in there_run:
            out_of_reach(state, i)


def _ignored(state: State, there: Host, record: Record) -> None:
    """Do nothing: the hub itself logs verdicts, budgets and notifications for the whole campaign.

    A host's shard is ignored too, because all hosts together have all mutants.
    """


def _supervisor_started(state: State, there: Host, record: Record) -> None:
    event = record.event
    assert isinstance(event, ev.SupervisorStarted)
    there.machine, there.pid, there.cores = event.host, event.pid, max(event.cores, 0)
    state.cores = sum(h.cores for h in state.hosts.values())


def _campaign_state(state: State, there: Host, record: Record) -> None:
    event = record.event
    assert isinstance(event, ev.CampaignState | ev.CampaignEnded)
    there.campaign, there.campaign_reason = event.state, event.reason


def _records_lost(state: State, there: Host, record: Record) -> None:
    event = record.event
    assert isinstance(event, ev.RecordsLost)
    state.lost += max(1, record.host_seq - max(event.first, 1) + 1)


def _phase_started(state: State, there: Host, record: Record) -> Event | None:
    """Return the campaign's phase: that of the mutants as long as a host is in it."""
    event = record.event
    assert isinstance(event, ev.PhaseStarted)
    there.stage = event.stage
    there.plan = {k: float(v) for k, v in event.plan.items() if isinstance(v, int | float)}
    phases = [h for h in state.hosts.values() if h.stage]
    earlier = any(h.stage == "mutants" for h in phases)
    plan: dict[str, Any] = {}
    for name in {name for h in phases for name in h.plan}:
        values = [h.plan.get(name, 0.0) for h in phases]
        plan[name] = sum(values) if name in _SUMMED else max(values)
    return ev.PhaseStarted("mutants" if earlier else event.stage, plan)


_OF_ONE_HOST: dict[type[Event], Callable[[State, Host, Record], Event | None]] = {
    ev.CampaignStarted: _ignored,
    ev.BudgetSet: _ignored,
    ev.MutantsShard: _ignored,
    ev.Notified: _ignored,
    ev.SkippedFrames: _ignored,
    ev.VerdictsChanged: _ignored,
    ev.SupervisorStarted: _supervisor_started,
    ev.CampaignState: _campaign_state,
    ev.CampaignEnded: _campaign_state,
    ev.RecordsLost: _records_lost,
    ev.PhaseStarted: _phase_started,
}
"""Events that a host's log contains about its part of the campaign."""


FOLDS = (EventFold(ev.HostState, host_state),)

"""The fold of the campaign itself: its start, its budget, its pauses, its end, its messages."""

from __future__ import annotations

from fuzztui.kernel.model.changes import ChangesBuilder, instance
from fuzztui.kernel.model.folding import EventFold, never
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.stats import count, finite
from fuzztui.kernel.wire import events as ev

MAX_WARNINGS = 30
"""Warnings of an instance since its start that are kept: the first ones."""

MAX_PAUSES = 100
"""Pauses of the campaign that are remembered: the latest ones."""


def _campaign_started(state: State, e: ev.CampaignStarted, touched: ChangesBuilder) -> None:
    # Each watcher of a watched campaign records a start; another campaign has another name.
    same = (e.name, e.engine) == (state.name, state.engine)
    if not (same and (e.wall == state.started_wall or not state.host)):
        state.starts += 1
    state.name, state.engine, state.target = e.name, e.engine, e.target
    state.seed, state.version = e.seed, e.version
    _budget_set(state, e, touched)
    state.started_wall = state.wall = finite(e.wall)
    state.wall_t = state.t
    if state.state == "empty":
        state.state = "starting"
    for name in e.instances:
        instance(state, str(name), touched)
    touched.campaign = True


def _budget_set(
    state: State, e: ev.BudgetSet | ev.CampaignStarted, touched: ChangesBuilder
) -> None:
    state.budget_s = finite(e.budget_s)
    state.budget_trials = max(count(e.budget_trials), 0)
    state.exact_s = max(finite(e.exact_s), 0.0)
    touched.campaign = True


def _supervisor_started(state: State, e: ev.SupervisorStarted, touched: ChangesBuilder) -> None:
    state.host = e.host
    state.cores = max(count(e.cores), 0)
    state.wall, state.wall_t = finite(e.wall), state.t
    for name in e.before:
        if of := state.instances.get(str(name)):
            of.execs_before = -1
    touched.campaign = True


def _campaign_state(
    state: State, e: ev.CampaignState | ev.CampaignEnded, touched: ChangesBuilder
) -> None:
    _set_state(state, e.state, e.reason)
    touched.campaign = True


def _catching_up(state: State, e: ev.CatchingUp, touched: ChangesBuilder) -> None:
    state.caught_up = min(max(finite(e.share), 0.0), 1.0)
    touched.campaign = True


def _machine_load(state: State, e: ev.MachineLoad, touched: ChangesBuilder) -> None:
    state.machine_load, state.disk_free = max(finite(e.load), -1.0), max(count(e.disk_free), -1)
    state.machine_cores = max(count(e.cores), 0)
    touched.campaign = True


def _set_state(state: State, name: str, reason: str) -> None:
    state.state, state.reason = name, reason
    if name == "paused":
        state.paused_at = state.t if state.paused_at < 0 else state.paused_at
    elif state.paused_at >= 0:
        # A new list: a checkpoint may contain the old one.
        state.pauses = [*state.pauses, state.paused_at, state.t][-2 * MAX_PAUSES :]
        state.paused_s += state.t - state.paused_at
        state.paused_at = -1.0
        state.resumed_t = state.t


def _message(state: State, e: ev.Message, touched: ChangesBuilder) -> None:
    """Note why an instance is unguided, and its warnings. Others are in ``recent`` only."""
    if e.about == ev.UNGUIDED and e.instance:
        instance(state, e.instance, touched).unguided = e.text
    if e.about == ev.PRINTED and e.instance:
        i = instance(state, e.instance, touched)
        i.warnings = [*i.warnings, e.text][:MAX_WARNINGS]  # a checkpoint may contain the old list


def _records_lost(state: State, e: ev.RecordsLost, touched: ChangesBuilder) -> None:
    state.lost += max(1, state.seq - max(e.first, 1) + 1)
    touched.campaign = True


FOLDS = (
    EventFold(ev.CampaignStarted, _campaign_started),
    EventFold(ev.BudgetSet, _budget_set),
    EventFold(ev.SupervisorStarted, _supervisor_started),
    EventFold(ev.CampaignState, _campaign_state),
    EventFold(ev.CampaignEnded, _campaign_state),
    EventFold(ev.CatchingUp, _catching_up, never),
    EventFold(ev.MachineLoad, _machine_load, never),
    EventFold(ev.Message, _message),
    EventFold(ev.RecordsLost, _records_lost),
)

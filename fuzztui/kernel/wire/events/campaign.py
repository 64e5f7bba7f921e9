"""Events about the whole campaign: start, state, end, budget, supervisor, hosts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from fuzztui.kernel.base.bounds import Count
from fuzztui.kernel.wire.events.base import Event


@dataclass(frozen=True, slots=True)
class CampaignStarted(Event, kind="campaign_started"):
    """The first event of every log. ``wall``: Unix time. A budget of 0: no limit.

    Recorded again if the campaign is resumed and the log has lost this event.
    """

    name: str
    engine: str
    target: str = ""
    seed: int = 0
    budget_s: float = 0.0
    budget_trials: Count = 0
    instances: list[str] = field(default_factory=list)
    wall: float = 0.0
    version: str = ""
    exact_s: float = 0.0
    """Seconds after a budget in time that the exact pass may take; 0: none, or not bounded."""


@dataclass(frozen=True, slots=True)
class BudgetSet(Event, kind="budget_set"):
    """The budget of a campaign that already has a log was changed; 0: no limit."""

    budget_s: float = 0.0
    budget_trials: Count = 0
    exact_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SupervisorStarted(Event, kind="supervisor_started"):
    """A supervisor took over the campaign. ``wall``: the Unix time of this campaign time.

    ``adopted``: instances that were still running; ``resumed``: instances that are started again.
    ``before``: instances that ran before the campaign began: their fleet was adopted.
    """

    pid: Count
    wall: float
    host: str = ""
    adopted: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    cores: Count = 0
    """CPUs that the campaign may use; 0: unknown."""
    before: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CampaignState(Event, kind="campaign_state"):
    """The campaign's state changed: starting, running, paused or stopping. ``reason``: a text."""

    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CatchingUp(Event, kind="catching_up"):
    """A watcher records what happened before it started: figures are not those of now.

    ``share``: the part that it has read or recorded, below 1; 1: the records are of now again.
    """

    share: float = 1.0


@dataclass(frozen=True, slots=True)
class MachineLoad(Event, kind="machine_load"):
    """The machine of a watcher, which need not be that of the instances.

    ``load``: mean number of busy processes over a minute. ``cores``: CPUs that this user may use.
    ``disk_free``: free bytes for this user, the fewest of the file systems that are watched.
    """

    load: float = -1.0
    cores: Count = 0
    disk_free: Count = -1


@dataclass(frozen=True, slots=True)
class CampaignEnded(Event, kind="campaign_ended"):
    """The campaign ended. ``state``: finished, stopped or failed."""

    state: str
    reason: str = ""


HOST_STATES: Final = ("connecting", "preparing", "connected", "lost", "failed", "ended")
"""States of the connection to a host; ``preparing``: fuzztui and the campaign are sent to it."""


@dataclass(frozen=True, slots=True)
class HostState(Event, kind="host_state"):
    """The connection to a host changed. ``state``: one of :data:`HOST_STATES`; ``reason``: a text.

    ``address``: what ssh connects to; empty: this machine. ``run``: the run directory over there.
    ``clock_ms``: by how many milliseconds the clock of the host is ahead of this machine's.
    ``boot``: the id of the boot of its kernel. ``rewound``: the record of its log after which
    relaying continues, because that log has lost later records that were relayed already (a power
    cut); -1: none was lost.
    """

    host: str
    state: str
    reason: str = ""
    address: str = ""
    run: str = ""
    clock_ms: int = 0
    boot: str = ""
    rewound: Count = -1

"""Events about the campaign as a whole, its hosts and its log as text."""

from __future__ import annotations

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.host_summary import CLOCK_S
from fuzztui.kernel.model.selectors import exact_words
from fuzztui.kernel.wire.events import (
    BudgetSet,
    CampaignEnded,
    CampaignStarted,
    CampaignState,
    HostState,
    Message,
    Notified,
    RecordsLost,
    SupervisorStarted,
    Unknown,
)
from fuzztui.tui.base import format
from fuzztui.tui.labels.events.base import INSTANCES, Described, describe
from fuzztui.tui.labels.states import state_style, with_reason

_LONGEST_S = 1e12


@describe.register
def _started(event: CampaignStarted) -> Described:
    text = f"{event.name}  {event.engine}  {event.target}  seed {event.seed}"
    return Described("campaign", text, "running")


@describe.register(CampaignState)
@describe.register(CampaignEnded)
def _state(event: CampaignState | CampaignEnded) -> Described:
    text = with_reason(event.state, event.reason)
    return Described("campaign", text, state_style(event.state))


@describe.register
def _budget(event: BudgetSet) -> Described:
    parts = [format.span(event.budget_s)] if event.budget_s else []
    parts += [several(event.budget_trials, "trial")] if event.budget_trials else []
    then = exact_words(event.exact_s, format.span) if event.budget_s else ""
    return Described("budget", (" or ".join(parts) or "none") + then, "muted")


@describe.register
def _supervisor(event: SupervisorStarted) -> Described:
    text = f"process {event.pid} on {event.host or 'this host'}"
    for word, ids in (("adopted", event.adopted), ("resumed", event.resumed)):
        if ids:
            text += f"  {word} {', '.join(ids)}"
    return Described("started", text, "muted")


@describe.register
def _host(event: HostState) -> Described:
    parts = [with_reason(event.state, event.reason)]
    where = f"{event.address}:{event.run}" if event.address and event.run else event.run
    parts += [where] if where else []
    parts += [clock] if (clock := clock_text(event.clock_ms / 1000)) else []
    text = "  ".join(parts)
    return Described("host", text, state_style(event.state), event.host, INSTANCES)


def clock_text(seconds: float) -> str:
    """Return by how much the clock of a host differs from this machine's; empty if it hardly does.

    ``seconds``: by how many it is ahead.
    """
    if not CLOCK_S < abs(seconds) < _LONGEST_S:
        return ""
    return f"clock {format.span(abs(seconds))} {'ahead' if seconds > 0 else 'behind'}"


@describe.register
def _message(event: Message) -> Described:
    style = {"error": "failed", "warning": "hang"}.get(event.level, "")
    return Described(event.level, event.text, style, event.instance)


@describe.register
def _notified(event: Notified) -> Described:
    failed = f"  failed: {event.problem}" if event.problem else ""
    style = "failed" if event.problem else "muted"
    return Described("notified", f"{event.text}{failed}", style)


@describe.register
def _lost(event: RecordsLost) -> Described:
    text = f"since record {event.first}: {event.reason}"
    return Described("lost", text, "failed")


@describe.register
def _unknown(event: Unknown) -> Described:
    text = "(an event of a newer version, or of a package that is not installed)"
    return Described(event.name, text, "muted")

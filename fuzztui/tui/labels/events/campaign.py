"""Events about the campaign, its hosts, instances and commands, and its log as text."""

from __future__ import annotations

from typing import Any

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.host_summary import CLOCK_S
from fuzztui.kernel.model.selectors import exact_words
from fuzztui.kernel.model.watched_targets import machine_text
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import CodecError, decode_command
from fuzztui.tui.base import format
from fuzztui.tui.labels.events.base import COMMANDS, INSTANCES, STATS, Described, describe
from fuzztui.tui.labels.states import state_style, with_reason

_LONGEST_S = 1e12


@describe.register
def _started(event: ev.CampaignStarted) -> Described:
    text = f"{event.name}  {event.engine}  {event.target}  seed {event.seed}"
    return Described("campaign", text, "running")


@describe.register(ev.CampaignState)
@describe.register(ev.CampaignEnded)
def _state(event: ev.CampaignState | ev.CampaignEnded) -> Described:
    text = with_reason(event.state, event.reason)
    return Described("campaign", text, state_style(event.state))


@describe.register
def _catching_up(event: ev.CatchingUp) -> Described:
    text = f"{format.percent(event.share, 1)} of what happened before the watcher started is read"
    return Described("catching up", text, "muted", group=STATS)


@describe.register
def _machine_load(event: ev.MachineLoad) -> Described:
    return Described(
        "machine", machine_text(event.load, event.cores, event.disk_free), "muted", group=STATS
    )


@describe.register
def _budget(event: ev.BudgetSet) -> Described:
    parts = [format.span(event.budget_s)] if event.budget_s else []
    parts += [several(event.budget_trials, "trial")] if event.budget_trials else []
    then = exact_words(event.exact_s, format.span) if event.budget_s else ""
    return Described("budget", (" or ".join(parts) or "none") + then, "muted")


@describe.register
def _supervisor(event: ev.SupervisorStarted) -> Described:
    text = f"process {event.pid} on {event.host or 'this host'}"
    for word, ids in (("adopted", event.adopted), ("resumed", event.resumed)):
        if ids:
            text += f"  {word} {', '.join(ids)}"
    return Described("started", text, "muted")


@describe.register
def _host(event: ev.HostState) -> Described:
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
def _message(event: ev.Message) -> Described:
    style = {"error": "failed", "warning": "hang"}.get(event.level, "")
    return Described(event.level, event.text, style, event.instance)


@describe.register
def _notified(event: ev.Notified) -> Described:
    failed = f"  failed: {event.problem}" if event.problem else ""
    style = "failed" if event.problem else "muted"
    return Described("notified", f"{event.text}{failed}", style)


@describe.register
def _lost(event: ev.RecordsLost) -> Described:
    text = f"since record {event.first}: {event.reason}"
    return Described("lost", text, "failed")


@describe.register
def _unknown(event: ev.Unknown) -> Described:
    text = "(an event of a newer version, or of a package that is not installed)"
    return Described(event.name, text, "muted")


def engine_text(engine: str, version: str) -> str:
    """Return name and version; AFL++ writes ``++4.04c`` in some places, 4.04c in others."""
    return f"{engine} {version.removeprefix('++')}".strip()


@describe.register
def _instance_state(event: ev.InstanceState) -> Described:
    text = with_reason(event.state, event.reason)
    if event.restarts:
        text += f"  (restart {event.restarts})"
    return Described("instance", text, state_style(event.state), event.instance, INSTANCES)


@describe.register
def _hello(event: ev.InstanceHello) -> Described:
    words = [engine_text(event.engine, event.version)]
    words += [f"python {event.python}"] if event.python else []
    words += [f"pid {event.pid}"] if event.pid else []
    text = "  ".join(w for w in words if w)
    return Described("hello", text, "muted", event.instance, INSTANCES)


@describe.register
def _stats(event: ev.Stats) -> Described:
    text = (
        f"{several(event.execs, 'exec')}  {format.rate(event.execs_per_sec)}/s  "
        f"corpus {event.corpus:,}  edges {format.count(event.edges)}"
    )
    return Described("stats", text, "muted", event.instance, STATS)


@describe.register
def _synced(event: ev.Synced) -> Described:
    # The next id that will be imported: ids count from 0.
    words = [f"{next_id} of {peer}" for peer, next_id in event.peers.items()]
    text = f"{', '.join(words)} imported"
    return Described("imports", text, "muted", event.instance, STATS)


@describe.register
def _passive(event: ev.PassiveInstance) -> Described:
    entries = several(event.entries, "entry", "entries")
    text = f"{entries} to import, from {event.source or 'elsewhere'}"
    return Described("passive", text, "imported", event.instance, STATS)


@describe.register
def _resources(event: ev.Resources) -> Described:
    memory = format.size(event.rss)
    processes = several(event.processes, "process", "processes")
    text = f"cpu {event.cpu:.2f}  memory {memory}  {processes}"
    return Described("usage", text, "muted", event.instance, STATS)


def command_text(command: dict[str, Any]) -> str:
    """Return an encoded command as text: ``promote main/12``; of an invalid one the name."""
    try:
        decoded = decode_command(command)
    except CodecError:
        return str(command.get("c", "?"))
    return decoded.name if decoded.problem else decoded.summary


@describe.register
def _issued(event: ev.CommandIssued) -> Described:
    by = f"  by {event.by}" if event.by else ""
    text = f"undo of {event.undoes[0]}" if event.undoes else command_text(event.command)
    return Described("command", f"{text}{by}", "pending", "", COMMANDS)


@describe.register
def _applied(event: ev.CommandApplied) -> Described:
    at = f"  at trial {event.trial:,}" if event.trial >= 0 else ""
    text = f"{event.id}  {event.detail}{at}"
    return Described("done", text, "running", event.instance, COMMANDS)


@describe.register
def _rejected(event: ev.CommandRejected) -> Described:
    text = f"{event.id}  {event.reason}"
    return Described("rejected", text, "failed", event.instance, COMMANDS)


@describe.register
def _progress(event: ev.CommandProgress) -> Described:
    part = f"  {format.percent(event.part, 1.0)}" if event.part >= 0 else ""
    return Described("progress", f"{event.id}  {event.text}{part}", "pending", "", COMMANDS)

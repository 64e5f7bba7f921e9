"""Events about instances and their statistics as text."""

from __future__ import annotations

from fuzztui.kernel.base.text import several
from fuzztui.kernel.wire.events import (
    InstanceHello,
    InstanceState,
    PassiveInstance,
    Resources,
    Stats,
    Synced,
)
from fuzztui.tui.base import format
from fuzztui.tui.labels.events.base import INSTANCES, STATS, Described, describe
from fuzztui.tui.labels.states import state_style, with_reason


def engine_text(engine: str, version: str) -> str:
    """Return name and version; AFL++ writes ``++4.04c`` in some places, 4.04c in others."""
    return f"{engine} {version.removeprefix('++')}".strip()


@describe.register
def _state(event: InstanceState) -> Described:
    text = with_reason(event.state, event.reason)
    if event.restarts:
        text += f"  (restart {event.restarts})"
    return Described("instance", text, state_style(event.state), event.instance, INSTANCES)


@describe.register
def _hello(event: InstanceHello) -> Described:
    words = [engine_text(event.engine, event.version)]
    words += [f"python {event.python}"] if event.python else []
    words += [f"pid {event.pid}"] if event.pid else []
    text = "  ".join(w for w in words if w)
    return Described("hello", text, "muted", event.instance, INSTANCES)


@describe.register
def _stats(event: Stats) -> Described:
    text = (
        f"{several(event.execs, 'exec')}  {format.rate(event.execs_per_sec)}/s  "
        f"corpus {event.corpus:,}  edges {format.count(event.edges)}"
    )
    return Described("stats", text, "muted", event.instance, STATS)


@describe.register
def _synced(event: Synced) -> Described:
    # The next id that will be imported: ids count from 0.
    words = [f"{next_id} of {peer}" for peer, next_id in event.peers.items()]
    text = f"{', '.join(words)} imported"
    return Described("imports", text, "muted", event.instance, STATS)


@describe.register
def _passive(event: PassiveInstance) -> Described:
    entries = several(event.entries, "entry", "entries")
    text = f"{entries} to import, from {event.source or 'elsewhere'}"
    return Described("passive", text, "imported", event.instance, STATS)


@describe.register
def _resources(event: Resources) -> Described:
    memory = format.size(event.rss)
    processes = several(event.processes, "process", "processes")
    text = f"cpu {event.cpu:.2f}  memory {memory}  {processes}"
    return Described("usage", text, "muted", event.instance, STATS)

"""Events about instances: states, capabilities, what they import, resources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from fuzztui.kernel.base.bounds import Count
from fuzztui.kernel.wire.events.base import Event

DIRECTORY_GONE: Final = "its directory is gone: deleted or renamed"
ALL_GONE: Final = "the directories of all instances are gone: deleted or renamed"
"""Reasons for which one instance, or every instance, of a watched campaign is stopped."""


@dataclass(frozen=True, slots=True)
class InstanceState(Event, kind="instance_state"):
    """The state of an instance changed.

    ``state``: starting, running, paused, stalled, restarting, stopped, finished, failed.
    ``pid``: 0 if no process runs. ``restarts``: the number of unplanned restarts.
    """

    instance: str
    state: str
    pid: Count = 0
    reason: str = ""
    restarts: Count = 0


@dataclass(frozen=True, slots=True)
class InstanceHello(Event, kind="instance_hello", by_engines=True):
    """An engine reports its version and the commands that it can execute.

    ``capabilities``: names of commands (:mod:`fuzztui.kernel.wire.commands`). Screens grey out all
    others, with the reason in ``unable``. ``directory``: the directory of the instance if it is
    not in ``out/`` of the run (a watched campaign); else an empty string.
    """

    instance: str
    engine: str = ""
    version: str = ""
    python: str = ""
    pid: Count = 0
    capabilities: list[str] = field(default_factory=list)
    unable: dict[str, Any] = field(default_factory=dict)
    """Reasons why commands cannot be executed, by the name of the command."""
    directory: str = ""
    mutant: str = ""
    """The id of the mutant that the instance fuzzes; an empty string: the original."""
    binary: str = ""
    """The name of the binary that the instance runs (asan, laf); an empty string: the plain one."""
    options: str = ""
    """The options of afl-fuzz by which the instance differs from others."""
    command_line: str = ""
    """The command line and its environment variables, for a shell; an empty string: unknown."""


@dataclass(frozen=True, slots=True)
class PassiveInstance(Event, kind="passive_instance"):
    """A directory in ``out/`` in which nothing fuzzes and from which the engines import.

    ``source``: where its entries come from, a text. ``entries``: their number. The entries belong
    to another run: the log has no :class:`EntrySaved` of them, and no total counts them.
    """

    instance: str
    source: str = ""
    entries: Count = 0


@dataclass(frozen=True, slots=True)
class Synced(Event, kind="synced"):
    """The queues from which an instance imports: ``{peer: next id}``, from its ``.synced/``.

    A peer can be an instance of the campaign or another fuzzer.
    """

    instance: str
    peers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resources(Event, kind="resources"):
    """Resources of an instance's process tree: ``cpu`` in cores, ``rss`` in bytes."""

    instance: str
    cpu: float = 0.0
    rss: Count = 0
    processes: Count = 0

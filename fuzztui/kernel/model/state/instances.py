"""An instance of a campaign, and a host on which instances run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzztui.kernel.wire.events import Stats

FILE_COUNTS = frozenset({"corpus", "crashes", "hangs"})
"""Statistics that count files: the log may contain more of them than the engine has reported."""

NO_STATS = Stats("")


@dataclass(slots=True)
class Instance:
    """One engine process and its directory ``out/ID``."""

    id: str
    state: str = "waiting"
    reason: str = ""
    pid: int = 0
    restarts: int = 0
    engine: str = ""
    version: str = ""
    python: str = ""
    capabilities: list[str] = field(default_factory=list)
    unable: dict[str, str] = field(default_factory=dict)
    """Reasons why the engine cannot execute commands, by the name of the command."""
    directory: str = ""
    """The directory of the instance; an empty string: ``out/ID`` of the run."""
    mutant: str = ""
    """The id of the mutant that the instance fuzzes; an empty string: the original."""
    binary: str = ""
    """The name of the binary that the instance runs; an empty string: the plain one."""
    options: str = ""
    """The options of afl-fuzz by which the instance differs from others."""
    command_line: str = ""
    """The last known command line, for a shell."""
    peers: dict[str, int] = field(default_factory=dict)
    """The next id to import from each peer's queue, by peer."""
    stats: Stats = NO_STATS
    """The latest statistics. The numbers of files may be too low: use the properties."""
    execs_before: int = 0
    """Executions before this campaign began, of an adopted fleet; -1: those that the next
    statistics report. No average counts them."""
    execs_per_sec: float = 0.0
    """The rate of the latest statistics; 0 in a state without executions; -1: unknown."""
    stats_t: float = -1.0
    """Campaign time at which the statistics were measured; -1: none yet."""
    slow_t: float = -1.0
    """Campaign time at which ``stability`` and ``edges_total`` were measured if they are older
    than the other statistics; else -1."""
    cpu: float = 0.0
    rss: int = 0
    processes: int = 0
    cpu_s: float = -1.0
    """CPU seconds used since the first measurement; -1: none yet."""
    cpu_t: float = -1.0
    """Campaign time of the last measurement of ``cpu``; -1: none yet."""
    cpu_from_t: float = -1.0
    """That of the first one."""
    last_find_t: float = -1.0
    """Campaign time of the last entry that was not imported; -1: none yet."""
    entry_files: int = 0
    """Number of files in ``queue/`` that the log contains; ``crash_files`` and ``hang_files``: of
    the other directories. The properties ``corpus``, ``crashes`` and ``hangs`` are never less
    than these numbers, even if the engine's statistics are older."""
    crash_files: int = 0
    hang_files: int = 0
    renumbered_seq: int = 0
    """``seq`` of the first record with the present numbering of the queue."""
    unknown_original_seq: int = 0
    """``seq`` of the last entry whose original id the log does not contain, because the log starts
    after a renumbering. Older records may use ids of that earlier numbering."""
    unknown_original_below: int = 0
    """All original ids that the log does not contain are below this number."""
    began_t: float = -1.0
    """Campaign time at which the instance first ran; -1: not yet."""
    ended_t: float = -1.0
    """Campaign time at which the instance ended; -1: it has not."""
    passive: str = ""
    """Where the entries of a passive instance (a directory in which nothing fuzzes) come from;
    empty: the instance is not passive."""
    received: int = 0
    """The number of entries of a passive instance, which no total counts."""
    host: str = ""
    """The name of the host on which it runs; empty: the machine of this log."""
    unguided: str = ""
    """Why coverage does not guide the instance, as last reported; empty: not reported."""
    warnings: list[str] = field(default_factory=list)
    """What the engine has warned of since its last start, in its own words."""
    origins: dict[str, str] = field(default_factory=dict)
    """Of an instance that fuzzes a mutant: the entries that were its seeds, by its own ids."""

    @property
    def corpus(self) -> int:
        """The number of entries."""
        return max(self.stats.corpus, self.entry_files)

    @property
    def crashes(self) -> int:
        """The number of saved crashes."""
        return max(self.stats.crashes, self.crash_files)

    @property
    def hangs(self) -> int:
        """The number of saved hangs."""
        return max(self.stats.hangs, self.hang_files)

    def stat(self, name: str) -> Any:
        """Return a number of the statistics by the name of its field in :class:`Stats`."""
        return getattr(self if name in FILE_COUNTS else self.stats, name)


@dataclass(slots=True)
class Host:
    """A host of the campaign: the connection to it, and the run on it as its log reports it."""

    name: str
    address: str = ""
    """What ssh connects to; an empty string: this machine."""
    state: str = ""
    """One of :data:`~fuzztui.kernel.wire.events.HOST_STATES`; an empty string: not connected
    yet."""
    reason: str = ""
    changed_t: float = 0.0
    """Campaign time at which the host's connection came into this state."""
    run: str = ""
    clock_ms: int = 0
    """Milliseconds by which the host's clock is ahead of this machine's; negative: behind."""
    seq: int = 0
    """The number of the last record of the host's log that this log contains; 0: none."""
    t: float = -1.0
    """The campaign time of that record in the host's log; -1: none yet."""
    boot: str = ""
    """The boot id of the host's kernel at the last connection."""
    machine: str = ""
    """The machine's own hostname."""
    pid: int = 0
    cores: int = 0
    campaign: str = ""
    """The state of the campaign on the host; an empty string: not reported yet."""
    campaign_reason: str = ""
    stage: str = ""
    """The phase of a fuzz-first campaign on the host: a value of ``State.stage``."""
    plan: dict[str, float] = field(default_factory=dict)

    @property
    def clock_s(self) -> float:
        """Seconds by which the host's clock is ahead of this machine's; negative: behind."""
        return self.clock_ms / 1000

"""The summary of one run, a row in a list of runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.model.host_summary import TROUBLE
from fuzztui.kernel.model.measured import unmeasured
from fuzztui.kernel.model.mutants import mutants_summary
from fuzztui.kernel.model.new_groups import target_groups
from fuzztui.kernel.model.selectors import ENDED, standing_name, throughput, totals
from fuzztui.kernel.model.state import State

UNREADABLE: Final = "unreadable"
"""The state of a run whose log cannot be read."""

POINTS: Final = 24
"""Values of a sparkline."""

MAX_GROUPS: Final = 1000
MAX_TEXT: Final = 300
"""Characters of a text of the log that are kept."""

_UNDER_WAY: Final = frozenset({"starting", "running", "paused", "stalled", "stopping", "waiting"})
_RANK: Final = {"running": 0, "starting": 1, "stalled": 1, "paused": 2, "stopping": 2}


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run in a list of runs. Texts are untrusted. A number of -1: not reported."""

    state: str
    """The campaign's state; ``interrupted``: the supervisor died; or :data:`UNREADABLE`."""
    reason: str = ""
    """Why the campaign has failed or measures nothing, or why the log cannot be read."""
    name: str = ""
    engine: str = ""
    target: str = ""
    started: float = 0.0
    """Unix time of the start; 0: unknown."""
    elapsed_s: float = 0.0
    """Campaign time."""
    execs: int = -1
    execs_per_sec: float = -1.0
    """Executions per second now, or the average of an ended campaign."""
    score: float = -1.0
    """The mutation score from 0 to 1; -1: the campaign has no mutants."""
    edges: int = -1
    edges_total: int = -1
    group_count: int = 0
    """Number of groups of findings."""
    groups: Sequence[int] = ()
    """The record numbers of the groups' first findings; only the newest if there are many."""
    spark: Sequence[float] = ()
    """Edges (or kills, or entries) over campaign time, at equal distances; -1: not known yet."""
    hosts: Sequence[str] = ()
    lost: Sequence[str] = ()
    """The hosts that are not connected."""
    damage: str = ""
    """Why records of the log are missing; an empty string if none is known to be."""
    unread: int = 0
    """Records that were not read yet: figures are those of an earlier time."""

    @property
    def under_way(self) -> bool:
        """Whether the campaign is running or can go on at once."""
        return self.state in _UNDER_WAY

    def new_groups(self, look: tuple[float, int]) -> int:
        """Return the number of groups of findings after a user's last look.

        ``look``: Unix time of the start of the campaign that was looked at, and the number of its
        last record then. All groups are new if another campaign has started in the run since.
        """
        start, seq = look
        if start != self.started:
            return self.group_count
        return sum(first > seq for first in self.groups)


def order(summary: RunSummary, run: Path) -> tuple[Any, ...]:
    """Return the sort key of a list of runs: running ones first, then the newest."""
    rank = _RANK.get(summary.state, 3) if summary.under_way else 4
    return (rank, -summary.started, str(run))


def summary_of(
    state: State, *, supervised: bool, damage: Sequence[str] = (), unread: int = 0
) -> RunSummary:
    """Return the row of a state. ``damage``: messages about the log."""
    t = totals(state)
    name = standing_name(state, supervised=supervised)
    score = mutants_summary(state).score if state.mutants else None
    rate = -1.0 if name == "interrupted" else throughput(state)
    silent = unmeasured(state)
    reason = state.reason if name == "failed" else silent and f"measured nothing: {silent}"
    groups = sorted(state.findings[keys[0]].seq for keys in target_groups(state))
    lost = f"{state.lost:,} records were lost before a repair" if state.lost else ""
    return RunSummary(
        state=name,
        reason=reason[:MAX_TEXT],
        name=state.name[:MAX_TEXT],
        engine=state.engine[:MAX_TEXT],
        target=state.target[:MAX_TEXT],
        started=state.started_wall,
        elapsed_s=state.t,
        execs=t.stats.execs,
        execs_per_sec=rate,
        score=-1.0 if score is None else score,
        edges=t.stats.edges,
        edges_total=t.stats.edges_total,
        group_count=len(groups),
        groups=groups[-MAX_GROUPS:],
        spark=sparkline_of(state),
        hosts=[host[:MAX_TEXT] for host in state.hosts],
        lost=[host[:MAX_TEXT] for host, of in state.hosts.items() if of.state in TROUBLE],
        damage=(damage[0] if damage else lost)[:MAX_TEXT],
        unread=unread,
    )


def sparkline_of(state: State, points: int = POINTS) -> list[float]:
    """Return edges, else kills, else entries over the whole time; empty if there is no series.

    See :attr:`RunSummary.spark`.
    """
    for name in ("edges", "killed", "corpus"):
        series = state.series.get(name)
        if series is not None and series.times and state.t > 0:
            end = state.t if state.state in ENDED else _stable_end(state.t)
            moments = [end * (n + 1) / points for n in range(points)]
            moments = [min(t, state.t) for t in moments if t - end / points < state.t]
            values = [float(series.at(t)) if t >= series.times[0] else -1.0 for t in moments]
            return values + [-1.0] * (points - len(values))
    return []


def _stable_end(t: float) -> float:
    """Return the end of a time axis for a campaign that grows: its cells change rarely."""
    end = 60.0
    while end < t and end < 1e15:
        end *= 1.5
    return end

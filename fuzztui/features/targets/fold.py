"""The targets of a campaign of several: the fold, and a row for each target. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.folding import EventFold, never
from fuzztui.kernel.model.selectors import WAITS_FOR_TURN
from fuzztui.kernel.model.state import Instance, State, StatePart
from fuzztui.kernel.wire.commands import MAX_WEIGHT
from fuzztui.kernel.wire.events import TargetShares

MAX_ROWS: Final = 1000

FIGURES: Final = ("share", "weight", "runs", "core_s", "edges", "lately_s", "lately_edges")
"""What an event reports of a target, and the state keeps."""


@dataclass(slots=True)
class TargetRows(StatePart):
    """The latest figures of each target, by its name; empty: the campaign has one target."""

    targets: dict[str, dict[str, float]] = field(default_factory=dict)


def target_shares(state: State, e: TargetShares, touched: ChangesBuilder) -> None:
    """Note the latest figures of the targets."""
    known = state.part(TargetRows)
    for name, figures in e.targets.items():
        if isinstance(figures, dict) and (name in known.targets or len(known.targets) < MAX_ROWS):
            known.targets[name] = {key: _number(figures.get(key)) for key in FIGURES}
    touched.campaign = True


def _number(value: Any) -> float:
    fits = type(value) in (int, float, bool) and 0 <= value <= 1e15
    return float(value) if fits else 0.0


@dataclass(frozen=True, slots=True)
class TargetRow:
    """One target: what its instance reports, its share and its weight."""

    name: str
    instance: Instance
    share: float = 0.0
    """Share of the cores' time, 0 to 1: from now on; after the end, the share that it had."""
    weight: float = 1.0
    runs: bool = False
    """Whether the target has a turn."""
    core_s: float = 0.0
    """Seconds of its instances' turns so far."""
    findings: int = 0
    """Groups of its findings, by signature."""

    @property
    def state(self) -> str:
        """The state of its instance; ``waiting`` between two turns, ``off`` with weight 0.

        ``paused`` also if a user has paused the target in its own run: it then has no share.
        """
        if self.instance.state == "paused" and self.instance.reason == WAITS_FOR_TURN:
            return "off" if not self.weight else "waiting" if self.share else "paused"
        return self.instance.state


def target_rows(state: State) -> dict[str, TargetRow]:
    """Return the targets by name, in the order of the campaign file."""
    known = state.part(TargetRows).targets
    groups: dict[str, set[str]] = {}
    for finding in list(state.findings.values()):
        groups.setdefault(finding.instance, set()).add(finding.signature or finding.key)
    return {
        name: TargetRow(
            name,
            state.instances.get(name) or Instance(name),
            share=figures["share"],
            weight=min(figures["weight"], float(MAX_WEIGHT)),
            runs=bool(figures["runs"]),
            core_s=figures["core_s"],
            findings=len(groups.get(name, ())),
        )
        for name, figures in known.items()
    }


FOLDS = (EventFold(TargetShares, target_shares, is_news=never),)

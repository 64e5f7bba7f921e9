"""The ghost: what charts show of another run, to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fuzztui.kernel.model.finding_tallies import group_heads
from fuzztui.kernel.model.series import Series
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.finding_kinds import KINDS, FindingKind

GHOST_HIDDEN = "ghost-hidden"
"""What is switched on (:class:`~fuzztui.tui.base.user_state.ViewOptions`) to show no ghost."""


@dataclass(frozen=True, slots=True)
class Ghost:
    """The curves of another run over its campaign time."""

    name: str
    """The run's directory, without those around it."""
    end: float = 0.0
    """Campaign time at which it ended, or was read."""
    series: Mapping[str, Series] = field(default_factory=dict)
    heads: Mapping[FindingKind, Sequence[float]] = field(default_factory=dict)
    """By kind, the campaign times at which groups of findings were first met."""

    @classmethod
    def of(cls, name: str, state: State) -> Ghost:
        """The ghost of a run with this state."""
        return cls(name, state.t, state.series, {kind: group_heads(state, kind) for kind in KINDS})

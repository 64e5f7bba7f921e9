"""The ghost: what charts show of another run, to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fuzztui.kernel.model.series import Series
from fuzztui.kernel.model.state import State

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

    @classmethod
    def of(cls, name: str, state: State) -> Ghost:
        """The ghost of a run with this state."""
        return cls(name, state.t, state.series)

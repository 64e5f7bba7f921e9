"""Marks on the time axis of charts: findings, commands, pauses. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import Pause, Resume
from fuzztui.kernel.wire.finding_kinds import FindingKind
from fuzztui.tui.base.chart import Mark
from fuzztui.tui.labels.glyphs import STEERED, finding_sign
from fuzztui.tui.labels.states import state_sign

_PAUSING = (Pause.name, Resume.name)


def marks(state: State, heads: Mapping[FindingKind, Sequence[float]]) -> list[Mark]:
    """Return the marks, the more important ones later.

    ``heads``: by kind, the campaign times at which groups of findings were first met.
    """
    pauses = [*zip(state.pauses[::2], state.pauses[1::2], strict=False)]
    if state.paused_at >= 0:
        pauses.append((state.paused_at, state.t))
    return [
        *(Mark(start, state_sign("paused"), "paused", end) for start, end in pauses),
        *(
            Mark(c.t, STEERED, "promoted")
            for c in state.commands.values()
            # A pause of the whole campaign has a mark of its own.
            if c.command.get("instance") or c.command.get("c") not in _PAUSING
        ),
        *(
            Mark(t, finding_sign(kind.category), f"bold {kind.category}")
            for kind, times in reversed([*heads.items()])
            for t in times
        ),
    ]

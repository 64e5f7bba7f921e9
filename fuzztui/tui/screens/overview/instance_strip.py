"""What the table of instances has no room for, of the instance under the cursor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuzztui.model.state import Instance, Mutant
from fuzztui.tui.base.canvas import Canvas, Line, spread, width_of
from fuzztui.tui.labels.instances import Fact, flow, glance, present, tally
from fuzztui.tui.labels.status import Status

FEW = 4
"""Up to so many instances are counted at a glance."""

WIDE = 100
"""Cells from which on states are called by their names."""


class InstanceStrip(Canvas):
    """One line, or two where there is room: reasons, peers, refusals, where it is.

    At the right, how many instances of a fleet are in which state: most are out of view.
    """

    DEFAULT_CSS = "InstanceStrip { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__()
        self._facts: Sequence[Fact] = ()
        self._fleet: list[Instance] = []
        self._lost = False

    def show(
        self,
        instance: Instance | None,
        fleet: Mapping[str, Instance],
        status: Status,
        mutant: Mutant | None = None,
    ) -> None:
        """Draw what there is to say of ``instance``, one of ``fleet``, and of its ``mutant``."""
        known = fleet.keys()
        self._facts = () if instance is None else glance(instance, known, status, mutant)
        there = present(fleet.values())
        self._fleet = there if len(there) > FEW else []
        self._lost = status.orphaned
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Facts, as many as fit; at the right the fleet."""
        counts = tally(self._fleet, brief=width < WIDE, lost=self._lost)
        room = width - width_of(counts) - 1
        if not counts or room < width // 2:
            return flow(self._facts, width, height)
        first, *rest = flow(self._facts, width, height, room)
        return [spread(first, counts, width), *rest]

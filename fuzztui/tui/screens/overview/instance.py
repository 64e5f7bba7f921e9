"""Details of the current instance: a strip below the table, and the lines of a dialog."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.kernel.model.state import Instance, State
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, spread, width_of
from fuzztui.tui.labels.facts import Fact, flow
from fuzztui.tui.labels.instances import glance, present, tally
from fuzztui.tui.labels.status import Status

FEW = 4
"""Largest number of instances without a summary of their states."""

WIDE = 100
"""Cells from which on states have their names."""


class InstanceStrip(Canvas):
    """One line, or two if there is room: reason, peers, engine, directory.

    At the right, the number of a fleet's instances in each state, because most are out of view.
    """

    DEFAULT_CSS = "InstanceStrip { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__()
        self._facts: Sequence[Fact] = ()
        self._fleet: list[Instance] = []
        self._lost: Callable[[Instance], bool] = lambda _: False

    def show(self, instance: Instance | None, state: State, status: Status) -> None:
        """Draw the facts about ``instance``."""
        self._facts = () if instance is None else glance(instance, state, status)
        there = present(state.instances.values())
        self._fleet = there if len(there) > FEW else []
        self._lost = status.is_out_of_reach
        self.repaint()

    def show_facts(self, facts: Sequence[Fact]) -> None:
        """Draw facts about something else than an instance."""
        self._facts, self._fleet = facts, []
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw as many facts as fit, and the fleet's states at the right."""
        counts = tally(self._fleet, brief=width < WIDE, lost=self._lost)
        room = width - width_of(counts) - 1
        if not counts or room < width // 2:
            return flow(self._facts, width, height)
        first, *rest = flow(self._facts, width, height, room)
        return [spread(first, counts, width), *rest]


def lines_of(facts: Sequence[Fact]) -> list[Line]:
    """Return a line for each fact, with the names in a separate column."""
    label = max((len(f.name) for f in facts), default=0)
    return [[TextSpan(f.name.rjust(label) + "  ", "muted"), *f.spans] for f in facts]

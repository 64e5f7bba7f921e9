"""Listings of rows that have a weight, which keys change: of targets, of a suite's properties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Protocol, TypeVar

from fuzztui.kernel.model.commands import unanswered
from fuzztui.kernel.wire.commands import Command
from fuzztui.tui.base.columns import Cell, Column
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import ActionContext, shared_context
from fuzztui.tui.frame.steered import SteeredScreen
from fuzztui.tui.frame.weights import Weigh, WeightContext


class Weighed(Protocol):
    """A row with a weight."""

    @property
    def name(self) -> str:
        """What commands call it."""

    @property
    def weight(self) -> float:
        """The user's weight, 1 by default; 0: it has no turns."""


R = TypeVar("R", bound=Weighed)


def weight_column(
    asked: Callable[[str], str], has_weight: Callable[[R], bool] = lambda row: True
) -> Column[R]:
    """Return the column; ``asked`` returns the pending weight of a row as text, or ""."""

    def cell(row: R) -> Cell:
        if pending := asked(row.name):
            return pending, "pending"
        return (f"×{row.weight:g}", "") if row.weight != 1 and has_weight(row) else ("", "")

    return Column(
        "weight", "weight", cell, lambda r: r.weight, "right", min=6, descending=True, spare=True
    )


class WeighedScreen(SteeredScreen[R, None]):
    """A listing of such rows, with the weights that were asked for."""

    CONTEXT: ClassVar[type[WeightContext]]

    def __init__(self) -> None:
        super().__init__(lambda op: (), _label)
        self._rows: dict[str, R] = {}
        self._asked: list[Weigh] = []
        """Commands without an answer yet, oldest first."""

    def _why_no_weight(self, row: R) -> str:
        """Why a row has no weight; an empty string: it has one."""
        return ""

    def _update_empty(self) -> None:
        noun, nouns = self.CONTEXT.NOUN, self.CONTEXT.SCOPE
        self.table.show_empty(f"no {noun} passes the filter" if self._rows else f"no {nouns} yet")

    def describe_row(self) -> ActionContext:
        """Return what any running engine can do, and the row after pending commands."""
        row = next(iter(self.chosen()), None)
        instances = self.campaign.instances.values()
        return shared_context(instances, self._context_of(row), row=row is not None)

    def _context_of(self, row: R | None) -> WeightContext:
        if row is None:
            return self.CONTEXT()
        weights = [c.weight for c in self._asked if c.subject == row.name]
        return self.CONTEXT(row.name, [row.weight, *weights][-1], self._why_no_weight(row))

    def _weight_asked(self, name: str) -> str:
        found = [c.weight for c in self._asked if c.subject == name]
        return f"×{found[-1]:g}…" if found else ""

    def _show_pending(self) -> None:
        kind = self.CONTEXT.COMMAND
        waiting = [command for _, command in unanswered(self.campaign, kind)]
        asked = [*waiting, *(c for c in self._pending.commands if isinstance(c, kind))]
        if asked != self._asked:
            subjects = {c.subject for c in (*self._asked, *asked)}
            self._asked = asked
            self.table.touch(subjects)

    def send_weights(self, action: Action) -> None:
        """Send the command of an action for the chosen rows."""
        if action.command is None:
            return
        now = self.host.action_context()
        every = map(self._context_of, self.chosen())
        possible = [c for c in every if not action.check(replace(now, about=c))]
        self._pending.add(action.command(c) for c in possible)
        if not self.unmark():
            self.table.hold()


def _label(command: Command) -> str:
    """A label of a command, for notifications."""
    if isinstance(command, Weigh):
        return f"{plain(command.subject, 60)} ×{command.weight:g}"
    return command.name

"""Actions of the Targets screen, and what a user can do with a target now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fuzztui.features.targets.fold import TargetRow
from fuzztui.kernel.wire.commands import MAX_WEIGHT, Command, WeighTarget
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import RowContext, why_no_row, why_not_about

SMALLEST: Final = 1 / 1024
"""The smallest weight that keys set, besides 0."""


@dataclass(frozen=True, slots=True)
class TargetContext(RowContext):
    """The target under the cursor, after all pending commands."""

    name: str = ""
    weight: float = 1.0

    @classmethod
    def of(cls, row: TargetRow | None, asked: Sequence[Command]) -> TargetContext:
        """The context of a row; ``asked``: pending commands, oldest first."""
        if row is None:
            return cls()
        weights = [c.weight for c in asked if isinstance(c, WeighTarget) and c.target == row.name]
        return cls(row.name, [row.weight, *weights][-1])

    def weighing(self) -> str:
        """Why there is no weight to change."""
        return "" if self.name else "no target under the cursor"

    def raising(self) -> str:
        """Why the weight cannot be doubled."""
        if self.name and not self.weight:
            return "the target has no turns; press {targets.off:b} to give it turns again"
        most = "its weight cannot grow further" if self.weight * 2 > MAX_WEIGHT else ""
        return self.weighing() or most

    def lowering(self) -> str:
        """Why the weight cannot be halved."""
        if self.name and not self.weight:
            return "the target has no turns already"
        least = "its weight cannot shrink further" if self.weight / 2 < SMALLEST else ""
        return self.weighing() or least

    def raised(self) -> WeighTarget:
        """Double the weight."""
        return WeighTarget(self.name, self.weight * 2)

    def lowered(self) -> WeighTarget:
        """Halve the weight."""
        return WeighTarget(self.name, self.weight / 2)

    def switched(self) -> WeighTarget:
        """Give the target no turns, or turns again."""
        return WeighTarget(self.name, float(not self.weight))

    def labels(self) -> dict[str, str]:
        """The current label of the key that switches, by action id."""
        return {"targets.off": "Off" if self.weight else "On"}


ACTIONS: Final[tuple[Action, ...]] = (
    *(
        Action(
            f"targets.{name}", (key,), label, text, "Targets",
            scope="targets", does="weigh targets",
            check=why_not_about(TargetContext, "targets", against), footer=footer,
            mode="live", command=command,
        )
        for name, key, label, text, against, command, footer in (
            ("raise", "greater_than_sign", "Raise", "Give this target twice the share",
             TargetContext.raising, TargetContext.raised, 12),
            ("lower", "less_than_sign", "Lower", "Give this target half the share",
             TargetContext.lowering, TargetContext.lowered, 13),
            ("off", "b", "Off", "Give this target no turns, or turns again",
             TargetContext.weighing, TargetContext.switched, 14),
        )
    ),
    Action("targets.open", ("o",), "Open", "Open the run of this target; leaving comes back",
           "Targets", scope="targets", check=why_no_row, footer=11),
    Action("targets.find", ("backspace",), "Find", "Go to the latest finding of this target",
           "Targets", scope="targets", check=why_no_row, footer=22),
)  # fmt: skip

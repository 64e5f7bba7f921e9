"""Actions of the Properties screen, and what a user can do with a property now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from fuzztui.features.properties.fold import PropertyRow
from fuzztui.kernel.wire.commands import MAX_WEIGHT, Command, WeighProperty
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import RowContext, why_no_row, why_not_about

SMALLEST = 1 / 1024
"""The smallest weight that keys set, besides 0."""


@dataclass(frozen=True, slots=True)
class PropertyContext(RowContext):
    """The property under the cursor, after all pending commands."""

    name: str = ""
    reason: str = ""
    weight: float = 1.0

    @classmethod
    def of(cls, row: PropertyRow | None, asked: Sequence[Command]) -> PropertyContext:
        """The context of a row; ``asked``: pending commands, oldest first."""
        if row is None:
            return cls()
        weights = [
            c.weight for c in asked if isinstance(c, WeighProperty) and c.property == row.name
        ]
        return cls(row.name, row.reason, [row.weight, *weights][-1])

    def weighing(self) -> str:
        """Why the property has no weight to change."""
        if not self.name:
            return "no property under the cursor"
        return f"the property is not run: {self.reason}" if self.reason else ""

    def raising(self) -> str:
        """Why the weight cannot be doubled."""
        if not self.weight and not self.weighing():
            return "the property has no turns; press {properties.off:b} to give it turns again"
        most = "its weight cannot grow further" if self.weight * 2 > MAX_WEIGHT else ""
        return self.weighing() or most

    def lowering(self) -> str:
        """Why the weight cannot be halved."""
        if not self.weight and not self.weighing():
            return "the property has no turns already"
        least = "its weight cannot shrink further" if self.weight / 2 < SMALLEST else ""
        return self.weighing() or least

    def raised(self) -> WeighProperty:
        """Double the weight."""
        return WeighProperty(self.name, self.weight * 2)

    def lowered(self) -> WeighProperty:
        """Halve the weight."""
        return WeighProperty(self.name, self.weight / 2)

    def switched(self) -> WeighProperty:
        """Give the property no turns, or turns again."""
        return WeighProperty(self.name, float(not self.weight))

    def labels(self) -> dict[str, str]:
        """The current label of the key that switches, by action id."""
        return {"properties.off": "Off" if self.weight else "On"}


_action = partial(Action, group="Properties", scope="properties")

ACTIONS: Final[tuple[Action, ...]] = (
    *(
        Action(
            f"properties.{name}", (key,), label, text, "Properties",
            scope="properties", needs=WeighProperty.name, does="weigh properties",
            check=why_not_about(PropertyContext, "properties", against), footer=footer,
            mode="live", command=command,
        )
        for name, key, label, text, against, command, footer in (
            ("raise", "greater_than_sign", "Raise", "Give this property twice the share",
             PropertyContext.raising, PropertyContext.raised, 11),
            ("lower", "less_than_sign", "Lower", "Give this property half the share",
             PropertyContext.lowering, PropertyContext.lowered, 12),
            ("off", "b", "Off", "Give this property no turns, or turns again",
             PropertyContext.weighing, PropertyContext.switched, 13),
        )
    ),
    _action("properties.find", ("backspace",), "Find", "Go to the latest finding of this property",
        check=why_no_row, footer=22),
    _action("properties.copy", ("c",), "Copy name", "Copy the property's name, for pytest",
        check=why_no_row, footer=23),
)  # fmt: skip

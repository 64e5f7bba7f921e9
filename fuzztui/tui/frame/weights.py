"""The keys that change the weights of rows: of targets, of a suite's properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fuzztui.kernel.wire.commands import MAX_WEIGHT, WeighProperty, WeighTarget
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import RowContext, why_not_about

SMALLEST = 1 / 1024
"""The smallest weight that keys set, besides 0."""

Weigh = WeighTarget | WeighProperty


@dataclass(frozen=True, slots=True)
class WeightContext(RowContext):
    """The row under the cursor, after all pending commands."""

    SCOPE: ClassVar[str]
    """The scope of the actions: what rows are called together."""
    NOUN: ClassVar[str]
    """What one row is called."""
    COMMAND: ClassVar[type[Weigh]]

    name: str = ""
    weight: float = 1.0
    reason: str = ""
    """Why the row has no weight; an empty string: it has one."""

    def weighing(self) -> str:
        """Why there is no weight to change."""
        return self.reason if self.name else f"no {self.NOUN} under the cursor"

    def raising(self) -> str:
        """Why the weight cannot be doubled."""
        if reason := self.weighing():
            return reason
        if not self.weight:
            off = f"{{{self.SCOPE}.off:b}}"
            return f"the {self.NOUN} has no turns; press {off} to give it turns again"
        return "its weight cannot grow further" if self.weight * 2 > MAX_WEIGHT else ""

    def lowering(self) -> str:
        """Why the weight cannot be halved."""
        if reason := self.weighing():
            return reason
        if not self.weight:
            return f"the {self.NOUN} has no turns already"
        return "its weight cannot shrink further" if self.weight / 2 < SMALLEST else ""

    def raised(self) -> Weigh:
        """Double the weight."""
        return self.COMMAND(self.name, self.weight * 2)

    def lowered(self) -> Weigh:
        """Halve the weight."""
        return self.COMMAND(self.name, self.weight / 2)

    def switched(self) -> Weigh:
        """Give the row no turns, or turns again."""
        return self.COMMAND(self.name, float(not self.weight))

    def labels(self) -> dict[str, str]:
        """The current label of the key that switches, by action id."""
        return {f"{self.SCOPE}.off": "Off" if self.weight else "On"}


def weight_actions(of: type[WeightContext], footer: int, needs: str = "") -> tuple[Action, ...]:
    """Return the actions that change weights, with ``footer`` and the places after it.

    ``needs``: the command that the engine must be able to execute; empty: the supervisor does.
    """
    this = f"Give this {of.NOUN}"
    return tuple(
        Action(
            f"{of.SCOPE}.{name}", (key,), label, text, of.SCOPE.capitalize(),
            scope=of.SCOPE, needs=needs, does=f"weigh {of.SCOPE}",
            check=why_not_about(of, of.SCOPE, against), footer=footer + place,
            mode="live", command=command,
        )
        for place, (name, key, label, text, against, command) in enumerate((
            ("raise", "greater_than_sign", "Raise", f"{this} twice the share",
             of.raising, of.raised),
            ("lower", "less_than_sign", "Lower", f"{this} half the share",
             of.lowering, of.lowered),
            ("off", "b", "Off", f"{this} no turns, or turns again", of.weighing, of.switched),
        ))
    )  # fmt: skip

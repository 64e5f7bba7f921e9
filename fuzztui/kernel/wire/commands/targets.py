"""The command that sets the share of a target."""

from __future__ import annotations

from dataclasses import dataclass

from fuzztui.kernel.wire.commands.base import Command
from fuzztui.kernel.wire.commands.weights import weight_problem


@dataclass(frozen=True, slots=True)
class WeighTarget(Command, name="weigh-target"):
    """Give this target ``weight`` times the share that its finds imply; 0: no turns."""

    target: str
    weight: float

    @property
    def subject(self) -> str:
        return self.target

    @property
    def summary(self) -> str:
        return f"{self.name} {self.target} {self.weight:g}"

    @property
    def problem(self) -> str:
        return weight_problem(self.weight)

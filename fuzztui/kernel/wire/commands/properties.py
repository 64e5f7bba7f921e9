"""The command that sets the share of a suite's property."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import ClassVar

from fuzztui.kernel.wire.commands.base import Command, on_text
from fuzztui.kernel.wire.commands.weights import weight_problem


@dataclass(frozen=True, slots=True)
class WeighProperty(Command, name="weigh-property"):
    """Give this property of a suite ``weight`` times the share that its yield implies; 0: none.

    ``property``: its name, the node id of a test.
    """

    for_all: ClassVar[bool] = True
    lasting: ClassVar[bool] = True
    property: str
    weight: float
    instance: str = ""

    @builtins.property
    def subject(self) -> str:
        return self.property

    @builtins.property
    def summary(self) -> str:
        return f"{self.name} {self.property} {self.weight:g}" + on_text(self.instance)

    @builtins.property
    def problem(self) -> str:
        return weight_problem(self.weight)

"""The commands that set how often a text engine uses its mutators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from fuzztui.kernel.wire.commands.base import Command, on_text
from fuzztui.kernel.wire.commands.weights import MAX_MUTATOR_WEIGHT, MAX_WEIGHT, weight_problem
from fuzztui.kernel.wire.mixture import Mixture, class_of


@dataclass(frozen=True, slots=True)
class SetMixture(Command, name="mixture"):
    """Set the probabilities of havoc, text and splice steps; their sum is 1.

    ``adaptive``: the engine then raises the probabilities of mutators with more new entries;
    else they stay as set.
    """

    for_all: ClassVar[bool] = True
    lasting: ClassVar[bool] = True
    havoc: float
    text: float
    splice: float
    adaptive: bool = False
    instance: str = ""

    @property
    def mixture(self) -> Mixture:
        """The three probabilities as a :class:`Mixture`, which can check them."""
        return Mixture(self.havoc, self.text, self.splice)

    @property
    def problem(self) -> str:
        return self.mixture.problem

    @property
    def summary(self) -> str:
        return f"{self.name} {'adaptive' if self.adaptive else self.mixture}" + on_text(
            self.instance
        )


@dataclass(frozen=True, slots=True)
class WeighMutator(Command, name="weigh-mutator"):
    """Draw this text mutator ``weight`` times as often as the others imply; 0: never."""

    for_all: ClassVar[bool] = True
    lasting: ClassVar[bool] = True
    mutator: str
    weight: float
    instance: str = ""

    @property
    def subject(self) -> str:
        return self.mutator

    @property
    def as_logged(self) -> WeighMutator:
        bounded = MAX_MUTATOR_WEIGHT < self.weight <= MAX_WEIGHT
        return replace(self, weight=float(MAX_MUTATOR_WEIGHT)) if bounded else self

    @property
    def summary(self) -> str:
        return f"{self.name} {self.mutator} {self.weight:g}" + on_text(self.instance)

    @property
    def problem(self) -> str:
        if (of := class_of(self.mutator)) != "text":
            return f"{self.mutator} is not a text mutator: change the share of {of} by mixture"
        return weight_problem(self.weight, MAX_MUTATOR_WEIGHT, "a mutator's")

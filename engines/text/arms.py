"""What the steps of a mixture are drawn by, and what came of them.

The twin of the settings and the statistics in text.c: the same rules, the same numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate
from typing import Final

from fuzztui.engines.text.block import StatsBlock
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.table import ARMS, BALANCED, FRAGMENT, HAVOC, TEMPLATE
from fuzztui.wire.mixture import Mixture

__all__ = ["AT", "PERIOD", "Arms", "Bandit"]

AT: Final = {name: number for number, name in enumerate(ARMS)}
"""An arm's number by its name."""

PERIOD: Final = 10_000
"""Trials between two looks at what pays."""

_WHOLE: Final = 1_000_000
_ONE: Final = 1 << 53
"""Of probabilities: the generator's upper 53 bits are compared."""

_TEXT: Final = slice(0, AT[TEMPLATE] + 1)
_SPLICE: Final = slice(AT[FRAGMENT], AT[BALANCED] + 1)
_HAVOC: Final = slice(AT[HAVOC], AT[HAVOC] + 1)

PRIOR: Final = 1000
"""Of an operator. With three quarters text one is applied some 900 times in a window (10,000
inputs, and half of what was before): a find that may be luck makes no more than a double of it."""

CLASS_PRIOR: Final = 20_000
"""Of havoc, text and splice, which have as many times more."""

LEAST: Final = 0.05
"""Of a class in the adaptive mode, also where none of it was wished for: it may begin to pay."""

VAIN: Final = 200
"""An arm that was drawn so often and has never done anything gets no more than the floor."""

Bandit = Callable[[Sequence[int], Sequence[int], Sequence[int], int], list[int]]
"""``Operators.weights``: from what each arm has applied, found, and is wished, to weights."""


class Arms:
    """The block's content and its rules: by what the next step is drawn, what each arm has done."""

    def __init__(self, block: StatsBlock, bandit: Bandit, without: Collection[str] = ()) -> None:
        """``without``: names of arms that are never drawn."""
        self.block = block
        self._bandit = bandit
        self._without = [name in without for name in ARMS]
        self.changes = 0
        """Grows when settings change, by a user or by what pays."""
        self._text = self._texts = 0
        self._sums: list[int] = []
        self._set(self.mixture, adaptive=block.adaptive)
        if block.wish is None:
            block.wish = _parts(self.mixture)

    # ------------------------------------------------------------------- settings

    @property
    def mixture(self) -> Mixture:
        """How probable each class is."""
        return Mixture(self.block.havoc, self.block.text, self.block.splice)

    def set_mixture(self, mixture: Mixture, *, adaptive: bool) -> None:
        """A person's wish, from now on. Raises ValueError for what is no mixture."""
        if mixture.problem:
            raise ValueError(mixture.problem)
        self.block.wish = _parts(mixture)
        self._set(mixture, adaptive=adaptive)

    def _set(self, mixture: Mixture, *, adaptive: bool) -> None:
        block = self.block
        havoc, text, splice = block.havoc, block.text, block.splice = mixture
        block.adaptive = adaptive
        whole = sum(mixture)
        self._text = int(text / whole * _ONE) if havoc + splice > 0 else _ONE
        self._texts = int((text + splice) / whole * _ONE) if havoc > 0 else _ONE
        self.changes += 1
        if not adaptive or not any(arm.weight for arm in block.arms[_TEXT]):
            there = self._without[_TEXT].count(False)
            self._weigh(_TEXT, _WHOLE // there if there else 0)
            self._weigh(_SPLICE, _WHOLE // 2)
            self._weigh(_HAVOC, _WHOLE)
            if not adaptive and not self._without[AT[FRAGMENT]]:
                # Whatever a fragment fits is spliced with one; the other way is for the rest.
                block.arms[AT[FRAGMENT]].weight, block.arms[AT[BALANCED]].weight = _WHOLE, 0
        for arm, without in zip(block.arms, self._without, strict=True):
            if without:
                arm.weight = 0
        self._sums = list(accumulate(arm.weight for arm in block.arms[_TEXT]))

    def _weigh(self, part: slice, weight: int) -> None:
        for arm in self.block.arms[part]:
            arm.weight = weight

    def counted(self) -> None:
        """Another trial's input was made; now and then what pays is looked at."""
        self.block.trials += 1
        if self.block.trials % PERIOD == 0:
            self._adapt()

    def _adapt(self) -> None:
        """What pays is done more often: operators within their class, and the classes."""
        arms = self.block.arms
        applied, found = [a.window_applied for a in arms], [a.window_found for a in arms]
        for arm in arms:
            arm.window_applied //= 2
            arm.window_found //= 2
        if not self.block.adaptive:
            return
        classes = (_TEXT, _SPLICE, _HAVOC)
        for part in classes:
            worth = [
                int(not without and (a.applied > 0 or a.tried < VAIN))
                for a, without in zip(arms[part], self._without[part], strict=True)
            ]
            weights = self._bandit(applied[part], found[part], worth, PRIOR)
            for arm, weight in zip(arms[part], weights, strict=True):
                arm.weight = weight
        havoc, text, splice = self.block.wish or self.mixture
        parts = self._bandit(
            [sum(applied[part]) for part in classes],
            [sum(found[part]) for part in classes],
            [int(max(part, LEAST) * _WHOLE) for part in (text, splice, havoc)],
            CLASS_PRIOR,
        )
        text, splice = parts[0] / sum(parts), parts[1] / sum(parts)
        self._set(Mixture(1 - text - splice, text, splice), adaptive=True)

    # -------------------------------------------------------------------- drawing

    def is_text(self, roll: int) -> bool:
        """Is the step one on text? ``roll``: 53 random bits."""
        return roll < self._text

    def is_splice(self, roll: int) -> bool:
        """If it is not, does it splice?"""
        return roll < self._texts

    @property
    def needs_spans(self) -> bool:
        """Can a step be one that has to know what stands where?"""
        block = self.block
        return block.splice > 0 or (block.text > 0 and block.arms[AT[TEMPLATE]].weight > 0)

    def draw_text(self, rng: Rng) -> int:
        """An arm of the class text by its weight; -1 if there is none. (ft_draw, by bisection.)"""
        sums = self._sums
        if not sums[-1]:
            return -1
        return bisect_right(sums, rng.next() % sums[-1])

    def has(self, arm: int) -> bool:
        """Is it ever drawn?"""
        return not self._without[arm]

    def draw_splice(self, rng: Rng) -> int:
        """The way of splicing that is tried first: fragments, unless the other one pays more."""
        if self.block.adaptive:
            fragment, balanced = (arm.weight for arm in self.block.arms[_SPLICE])
            if fragment + balanced and rng.next() % (fragment + balanced) >= fragment:
                return AT[BALANCED]
        return AT[FRAGMENT]

    # ----------------------------------------------------------------- what came of it

    def tries(self, arm: int) -> None:
        """An arm was drawn."""
        self.block.arms[arm].tried += 1

    def did(self, arm: int) -> None:
        """It has changed the input that is being made: told once an input, as finds are."""
        found = self.block.arms[arm]
        found.applied += 1
        found.window_applied += 1

    def paid(self, arms: Iterable[int]) -> None:
        """A trial with these became a queue entry."""
        for arm in arms:
            found = self.block.arms[arm]
            found.found += 1
            found.window_found += 1

    def failed(self, arms: Iterable[int]) -> None:
        """A trial with these was saved as a crash or hang."""
        for arm in arms:
            self.block.arms[arm].crashes += 1


def _parts(mixture: Mixture) -> tuple[float, float, float]:
    return mixture.havoc, mixture.text, mixture.splice

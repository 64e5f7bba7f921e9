"""The probabilities of a mixture's steps, and the counters of the mutators.

The Python version of the settings and statistics in text.c, with the same rules and numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from math import ceil
from typing import Final

from fuzztui.engines.text.block import MAX_RECENT, StatsBlock
from fuzztui.engines.text.native import Weigh
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.table import ARMS, BALANCED, FRAGMENT, HAVOC, TEMPLATE
from fuzztui.kernel.wire.mixture import Mixture

AT: Final = {name: number for number, name in enumerate(ARMS)}
"""The number of a mutator by its name."""

PERIOD: Final = 10_000
"""Trials between two adaptations of the weights."""

_WHOLE: Final = 1_000_000
_LEAST: Final = 300
"""Minimal weight of a text mutator whose wished weight is not 0: one slot of 4,096 in text.c."""
_ONE: Final = 1 << 53
"""Probability 1: probabilities are compared with the generator's upper 53 bits."""

_TEXT: Final = slice(0, AT[TEMPLATE] + 1)
_SPLICE: Final = slice(AT[FRAGMENT], AT[BALANCED] + 1)
_HAVOC: Final = slice(AT[HAVOC], AT[HAVOC] + 1)
_CLASSES: Final = (_TEXT, _SPLICE, _HAVOC)
"""In the order of a block's counters of classes."""

PRIOR: Final = 1000
"""Prior of a text mutator. With three quarters text, a mutator is applied some 900 times in a
window (10,000 inputs and half of the counts before): one lucky find at most doubles its weight."""

PRIOR_KEPT: Final = 5
"""Prior of the classes havoc, text and splice, in queue entries of average inputs."""

ENOUGH: Final = 100
"""Queue entries from which on the counts of classes are halved with each window. Where entries are
rare, the counts grow: the shares are not those of a handful of lucky inputs."""

MIN_CLASS_SHARE: Final = 0.05
"""Minimal share of a class in the adaptive mode, even if the user set 0: it may find more later."""

MIN_HAVOC_SHARE: Final = 0.1
"""Minimal share of havoc in the adaptive mode."""

MAX_FRUITLESS_DRAWS: Final = 200
"""Draws without any effect after which a mutator gets only the minimal weight."""


def earned(made: Sequence[int], kept: Sequence[int], prior: int) -> float:
    """The share that havoc keeps in the adaptive mode, whatever the other classes find.

    Havoc's share of the three yields, which are queue entries per input; where havoc yields most,
    its share of the cubes of the yields. With these shares a mixture in which the others find less
    than havoc makes at least four fifths of the entries that havoc alone would make.

    ``made``, ``kept``: recent inputs and entries of text, splice and havoc. ``prior``: inputs on
    which all classes together find :data:`PRIOR_KEPT` entries.
    """
    if not any(kept):
        return MIN_HAVOC_SHARE
    yields = [(k + PRIOR_KEPT) / (m + prior) for m, k in zip(made, kept, strict=True)]
    share = max(yields[2] / sum(yields), yields[2] ** 3 / sum(y**3 for y in yields))
    return min(max(share, MIN_HAVOC_SHARE), 1 - 2 * MIN_CLASS_SHARE)


class MixtureState:
    """The statistics block with its rules: draws the next step and counts results of mutators."""

    def __init__(self, block: StatsBlock, bandit: Weigh, without: Collection[str] = ()) -> None:
        """``without``: names of mutators that are never drawn."""
        self.block = block
        self._bandit = bandit
        self._without = [name in without for name in ARMS]
        self.changes = 0
        """Grows when settings change, by a user or by adaptation."""
        self._text = self._texts = 0
        self._sums: list[int] = []
        self._set(self.mixture, adaptive=block.adaptive)
        if block.wish is None:
            block.wish = _shares(self.mixture)

    # ------------------------------------------------------------------- settings

    @property
    def mixture(self) -> Mixture:
        """The probability of each class."""
        return Mixture(self.block.havoc, self.block.text, self.block.splice)

    def set_mixture(self, mixture: Mixture, *, adaptive: bool) -> None:
        """Set the user's mixture. Raises ValueError if the numbers are invalid."""
        if mixture.problem:
            raise ValueError(mixture.problem)
        self.block.wish = _shares(mixture)
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
            wished = self._wished(_TEXT)
            for arm, wish in zip(block.arms[_TEXT], wished, strict=True):
                arm.weight = _WHOLE * wish // (sum(wished) or 1)
            for arm in block.arms[_SPLICE]:
                arm.weight = _WHOLE // 2
            block.arms[AT[HAVOC]].weight = _WHOLE
            if not adaptive and not self._without[AT[FRAGMENT]]:
                # Splice with a fragment if possible; "balanced" is only the fallback.
                block.arms[AT[FRAGMENT]].weight, block.arms[AT[BALANCED]].weight = _WHOLE, 0
        for number, (arm, wish) in enumerate(zip(block.arms, self._wished(), strict=True)):
            least = _LEAST if number < _TEXT.stop else 0
            arm.weight = max(arm.weight, least) if wish else 0
        self._sums = list(accumulate(arm.weight for arm in block.arms[_TEXT]))

    def _wished(self, part: slice = slice(None)) -> list[int]:
        """The user's weights of mutators, in thousandths; 0 of those that are left out."""
        arms = zip(self.block.arms[part], self._without[part], strict=True)
        return [0 if without else arm.wished for arm, without in arms]

    def weigh(self, name: str, weight: float) -> str:
        """Set the user's weight of a text mutator, and return its effect, for the user.

        Raises ValueError if that is impossible.
        """
        if name not in ARMS[_TEXT] or self._without[AT[name]]:
            raise ValueError("this campaign has no text mutator of this name")
        arm = self.block.arms[AT[name]]
        share = arm.weight / self._sums[-1] * 100
        before, arm.wish = arm.wish, 1 + ceil(1000 * weight)
        if not any(self._wished(_TEXT)):
            arm.wish = before
            raise ValueError(f"{name} is the last text mutator whose weight is not 0")
        if self.block.adaptive:
            self._weigh_by_finds()
        self._set(self.mixture, adaptive=self.block.adaptive)
        now = f"{share:.3g}% -> {arm.weight / self._sums[-1] * 100:.3g}% of text mutations"
        return f"{name} has weight {weight:g}: {now}"

    def count_trial(self) -> None:
        """Count a trial; adapt the weights every :data:`PERIOD` trials."""
        self.block.trials += 1
        if self.block.trials % PERIOD == 0:
            self._adapt()

    def _adapt(self) -> None:
        """Raise the weights of mutators and classes that find more."""
        if self.block.adaptive:
            self._weigh_by_finds()
        for arm in self.block.arms:
            arm.window_applied //= 2
            arm.window_found //= 2
        made, kept = [*self.block.made], [*self.block.kept]
        if sum(kept) >= ENOUGH or max(made) > MAX_RECENT:
            self.block.made, self.block.kept = [n // 2 for n in made], [n // 2 for n in kept]
        if not self.block.adaptive:
            return
        prior = PRIOR_KEPT * sum(made) // max(sum(kept), 1) + 1
        havoc, text, splice = self.block.wish or self.mixture
        wish = [int(max(part, MIN_CLASS_SHARE) * _WHOLE) for part in (text, splice, havoc)]
        parts = self._bandit(made, kept, wish, [1, 1, 1], prior)
        havoc = max(parts[2] / sum(parts), earned(made, kept, prior))
        text = (1 - havoc) * parts[0] / (parts[0] + parts[1])
        text = min(max(text, MIN_CLASS_SHARE), 1 - havoc - MIN_CLASS_SHARE)
        self._set(Mixture(havoc, text, 1 - havoc - text), adaptive=True)

    def _weigh_by_finds(self) -> None:
        """Set the weights of mutators within their class, from the recent counters."""
        for part in _CLASSES:
            arms, wished = self.block.arms[part], self._wished(part)
            worth = [
                wish * (a.applied > 0 or a.tried < MAX_FRUITLESS_DRAWS)
                for a, wish in zip(arms, wished, strict=True)
            ]
            recent = [a.window_applied for a in arms], [a.window_found for a in arms]
            for arm, weight in zip(arms, self._bandit(*recent, worth, wished, PRIOR), strict=True):
                arm.weight = weight

    # -------------------------------------------------------------------- drawing

    def is_text(self, roll: int) -> bool:
        """Whether the step is a text mutator. ``roll``: 53 random bits."""
        return roll < self._text

    def is_splice(self, roll: int) -> bool:
        """Whether the step splices, if it is no text mutator. ``roll``: 53 random bits."""
        return roll < self._texts

    @property
    def needs_spans(self) -> bool:
        """Whether a step may need the spans of the input."""
        block = self.block
        return block.splice > 0 or (block.text > 0 and block.arms[AT[TEMPLATE]].weight > 0)

    def draw_text(self, rng: Rng) -> int:
        """Draw a text mutator by weight, the same one as text.c draws; -1 if all weights are 0."""
        sums = self._sums
        if not sums[-1]:
            return -1
        return bisect_right(sums, rng.next() % sums[-1])

    def has(self, arm: int) -> bool:
        """Whether the mutator may be drawn."""
        return not self._without[arm]

    def draw_splice(self, rng: Rng) -> int:
        """Draw the splice mutator to try first: ``fragment``; in the adaptive mode, by weight."""
        if self.block.adaptive:
            fragment, balanced = (arm.weight for arm in self.block.arms[_SPLICE])
            if fragment + balanced and rng.next() % (fragment + balanced) >= fragment:
                return AT[BALANCED]
        return AT[FRAGMENT]

    # ------------------------------------------------------------------------ counters

    def count_tried(self, arm: int) -> None:
        """Count that the mutator was drawn."""
        self.block.arms[arm].tried += 1

    def count_applied(self, arm: int) -> None:
        """Count that the mutator changed the current input. Called once for each input."""
        found = self.block.arms[arm]
        found.applied += 1
        found.window_applied += 1

    def count_made(self, arms: Iterable[int]) -> None:
        """Count an input that these mutators have changed, once for each of their classes."""
        for number in {_class_of(arm) for arm in arms}:
            self.block.made[number] += 1

    def count_found(self, arms: Iterable[int]) -> None:
        """Count a trial with these mutators whose input became a queue entry."""
        arms = [*arms]
        for number in {_class_of(arm) for arm in arms}:
            self.block.kept[number] += 1
        for arm in arms:
            found = self.block.arms[arm]
            found.found += 1
            found.window_found += 1

    def count_crash(self, arms: Iterable[int]) -> None:
        """Count a trial with these mutators whose input was saved as a crash or hang."""
        for arm in arms:
            self.block.arms[arm].crashes += 1


def _class_of(arm: int) -> int:
    """The place of a mutator's class in :data:`_CLASSES`."""
    return 0 if arm < _SPLICE.start else 1 if arm < _HAVOC.start else 2


def _shares(mixture: Mixture) -> tuple[float, float, float]:
    return mixture.havoc, mixture.text, mixture.splice

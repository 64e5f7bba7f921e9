"""Which inputs of a corpus are enough, and which ones a corpus does not have yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fuzztui.features.corpus.cover import cover_of_masks
from fuzztui.features.corpus.entries import CorpusInput
from fuzztui.features.corpus.measure import Covered, Measured


@dataclass(frozen=True, slots=True)
class Kills:
    """Which inputs kill which mutants."""

    by_input: Mapping[str, frozenset[str]]
    """The killed mutants by the hash of an input on which the target does not fail."""
    flaky: frozenset[str] = frozenset()
    """Inputs on which two runs of the original differ: no mutant was run on them."""
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Chosen:
    """An input that is needed."""

    at: int
    new: int
    """Mask of what this input has and no input chosen before it."""
    why: str = ""
    """Why the input is kept in any case; usually empty: only for what is new with it."""


@dataclass(slots=True)
class Choice:
    """The inputs that are needed. Masks are of :attr:`Measured.numbers`."""

    chosen: list[Chosen] = field(default_factory=list)
    everything: int = 0
    """What all inputs that can be chosen have together, including what need not be covered."""
    flickering: int = 0
    """What inputs cover in some passes, but no input in every pass."""
    failing: list[int] = field(default_factory=list)
    """Inputs on which the target fails: these are not chosen."""


def covered_by(entries: Sequence[CorpusInput], measured: Measured, kills: Kills | None) -> int:
    """Return the mask of what inputs have, without those on which the target fails."""
    found = 0
    for entry, covered in zip(entries, measured.inputs, strict=True):
        if not covered.fails:
            found |= covered.all | _kills(entry, measured, kills)
    return found


def choose(
    entries: Sequence[CorpusInput], measured: Measured, kills: Kills | None = None, have: int = 0
) -> Choice:
    """Choose the fewest inputs that together have what all have; ``have`` need not be covered.

    Of equals, the smallest, then the first by name. What an input has in one run and not in
    another is not relied upon: if no input has it each time, all that had it once are chosen.
    """
    found = Choice()
    order = sorted(range(len(entries)), key=lambda at: (entries[at].size, entries[at].name))
    found.failing = [at for at in order if measured.inputs[at].fails]
    fit = [at for at in order if not measured.inputs[at].fails]
    masks = {at: _kills(entries[at], measured, kills) for at in fit}
    always = any_time = 0
    for at in fit:
        masks[at] |= measured.inputs[at].always
        always |= masks[at]
        any_time |= measured.inputs[at].all
    found.everything = always | any_time
    found.flickering = any_time & ~always & ~have
    seen = have
    for at in fit:
        if why := _must_stay(measured.inputs[at], entries[at], kills, found.flickering):
            mine = masks[at] | measured.inputs[at].sometimes & found.flickering
            found.chosen.append(Chosen(at, mine & ~seen, why))
            seen |= mine
    picks = cover_of_masks([masks[at] for at in fit], have=seen)
    found.chosen += [Chosen(fit[n], new) for n, new in picks]
    return found


def _kills(entry: CorpusInput, measured: Measured, kills: Kills | None) -> int:
    return 0 if kills is None else measured.numbers.mask(kills.by_input.get(entry.sha256, ()))


def _must_stay(covered: Covered, entry: CorpusInput, kills: Kills | None, flickering: int) -> str:
    if covered.flaky:
        return "ends differently each time"
    if covered.sometimes & flickering:
        return "covers edges in one run that no entry covers each time"
    if kills is not None and entry.sha256 in kills.flaky:
        return "does not do the same twice, so no mutant can be judged on it"
    return ""


def missing_again(measured: Measured, choice: Choice, again: Measured) -> list[int]:
    """Return further inputs, because the chosen ones did not cover everything when run again.

    ``again``: the measurement of the chosen inputs alone.
    """
    covered = 0
    for one in again.inputs:
        covered |= one.all
    edges = 0
    for one in measured.inputs:
        if not one.fails:
            edges |= one.always
    missing = edges & choice.everything & ~covered & ~choice.flickering
    chosen = {one.at for one in choice.chosen}
    return [
        at
        for at, one in enumerate(measured.inputs)
        if at not in chosen and not one.fails and one.all & missing
    ]

"""The engine's mutator: a stack of steps, each of them havoc, a text mutator, or a splice.

Groce et al. choose between havoc and text for each input; splicing is a third class. A run may
also choose for each step. text.c is the same for afl-fuzz.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final

from fuzztui.engines.directory.store import QUEUE
from fuzztui.engines.inputs.candidate import NO_ENTRY, Candidate
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry
from fuzztui.engines.loop.mutate import Havoc
from fuzztui.engines.text.arms import AT, MixtureState
from fuzztui.engines.text.fragments import Pool, SpliceRecipient, balanced
from fuzztui.engines.text.native import Apply
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.table import ARMS, BALANCED, FRAGMENT, HAVOC, TEMPLATE

STACKS: Final = 4
"""Number of possible stack sizes: 2^0 to 2^3 steps."""

TRIES: Final = 16
"""Text mutators that are drawn before a step becomes havoc."""

_NAMES: Final = 100
"""Characters of mutator names in a label; the journal has room for 128."""

_TEMPLATE, _FRAGMENT, _BALANCED, _HAVOC = (AT[n] for n in (TEMPLATE, FRAGMENT, BALANCED, HAVOC))


class TextMixture:
    """The loop's mutator; makes the same children for a seed with the C and Python mutators."""

    def __init__(
        self,
        arms: MixtureState,
        apply: Apply,
        corpus: Corpus,
        havoc: Havoc,
        *,
        rng: random.Random,
        pool: Pool | None = None,
        each_step: bool = False,
    ) -> None:
        """``pool``: of fragments; None if there is no grammar. ``each_step``: the class is drawn
        for each step, not for each input.
        """
        self._arms, self._apply, self._corpus, self._havoc = arms, apply, corpus, havoc
        self._pool, self._each_step = pool, each_step
        self._rng = Rng(rng.getrandbits(64))
        self._recipient: SpliceRecipient | None = None
        self._entry: CorpusEntry | None = None
        self._between: list[bytes] = []
        """The data after each step that the splice recipient has not followed yet."""
        self._other = NO_ENTRY
        self._stack: list[int] = []
        self._made: Candidate | None = None

    def mutate(self, entry: CorpusEntry) -> Candidate:
        """Make a child; it is equal to its parent if no step applied."""
        arms, data = self._arms, entry.data
        self._begin(entry)
        stack: list[int] = []
        times = 1 << self._rng.below(STACKS)
        roll = -1
        for _ in range(times):
            if roll < 0 or self._each_step:
                roll = self._rng.next() >> 11
            arm, data = self._step(entry, data, roll)
            if arm >= 0 and arm not in stack:
                arms.count_applied(arm)
                stack.append(arm)
        arms.count_made(stack)
        arms.count_trial()
        self._stack = stack
        self._made = made = Candidate(data, _label(stack, times), entry.id, self._other)
        return made

    def saved(self, candidate: Candidate, folder: str) -> None:
        """Credit the mutators of a saved input, if this mutator has made it."""
        if candidate.peer or candidate.origin:
            return
        # Of an input whose worker died, only the label is known.
        stack = self._stack if candidate is self._made else arms_of(candidate.op)
        if folder == QUEUE:
            self._arms.count_found(stack)
        else:
            self._arms.count_crash(stack)

    # ---------------------------------------------------------------------- steps

    def _begin(self, entry: CorpusEntry) -> None:
        self._other = NO_ENTRY
        self._between.clear()
        if self._pool is None or not self._arms.needs_spans:
            self._recipient = None
            return
        if entry is not self._entry or self._recipient is None:
            self._entry, self._recipient = entry, self._pool.find(entry.data)
        if self._recipient is not None:
            self._recipient.reset()

    def _step(self, entry: CorpusEntry, data: bytes, roll: int) -> tuple[int, bytes]:
        """Do one step, whose class follows from the 53 random bits of ``roll``.

        Returns the number of the mutator that changed the data, or -1; and the data.
        """
        arms = self._arms
        found = None
        if arms.is_text(roll):
            found = self._text(data)
        elif arms.is_splice(roll):
            found = self._splice(entry, data)
        if found is None:
            arms.count_tried(_HAVOC)
            made = self._havoc.once(data)
            found = (_HAVOC if made != data else -1), made
        if self._recipient is not None:
            self._between.append(found[1])
        return found

    def _text(self, data: bytes) -> tuple[int, bytes] | None:
        arms, rng, limit = self._arms, self._rng, self._havoc.limit
        for _ in range(TRIES):
            arm = arms.draw_text(rng)
            if arm < 0:
                return None
            arms.count_tried(arm)
            if arm != _TEMPLATE:
                made = self._apply(data, limit, rng, arm)
            elif self._recipient is not None and self._pool is not None:
                made = self._pool.template(self._followed(self._recipient), data, limit, rng)
            else:
                continue
            if made is not None:
                return arm, made
        return None

    def _splice(self, entry: CorpusEntry, data: bytes) -> tuple[int, bytes] | None:
        """Splice with a fragment or balanced delimiters; if one is impossible, with the other."""
        first = self._arms.draw_splice(self._rng)
        for arm in (first, _FRAGMENT + _BALANCED - first):
            if not self._arms.has(arm):
                continue
            made = self._by_kind(data) if arm == _FRAGMENT else self._by_delimiters(entry, data)
            if made is not None:
                return arm, made
        return None

    def _by_kind(self, data: bytes) -> bytes | None:
        if self._recipient is None or self._pool is None:
            return None
        self._arms.count_tried(_FRAGMENT)
        recipient = self._followed(self._recipient)
        return self._pool.splice(recipient, data, self._havoc.limit, self._rng)

    def _followed(self, recipient: SpliceRecipient) -> SpliceRecipient:
        """Update the recipient up to the last step but one; its methods follow the last step.

        This takes longer than most steps, so it is done only when needed.
        """
        for data in self._between[:-1]:
            recipient.follow(data)
        self._between.clear()
        return recipient

    def _by_delimiters(self, entry: CorpusEntry, data: bytes) -> bytes | None:
        entries = self._corpus.entries
        if len(entries) < 2:
            return None
        other = entries[self._rng.below(len(entries))]
        if other is entry:  # its neighbour
            other = entries[self._rng.below(len(entries) - 1)]
            if other is entry:
                other = entries[-1]
        self._arms.count_tried(_BALANCED)
        made = balanced(data, self._havoc.limit, self._rng, other.data)
        if made is not None:
            self._other = other.id
        return made


def _label(stack: Sequence[int], times: int) -> str:
    """The distinct mutators in order of first use, as many as fit, and the number of steps."""
    names = ""
    for arm in stack:
        longer = f"{names}+{ARMS[arm]}" if names else ARMS[arm]
        if len(longer) > _NAMES:
            break
        names = longer
    return f"{names or 'none'},rep:{times}"


_LABEL: Final = re.compile(r"([a-z0-9+-]+),rep:\d+\Z")


def arms_of(label: str) -> list[int]:
    """The numbers of the mutators in a label; empty if the label has another format."""
    match = _LABEL.match(label)
    return [AT[name] for name in match[1].split("+") if name in AT] if match else []

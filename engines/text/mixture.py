"""A stack of steps, each havoc, an text mutator, or a splice: the mutator.

Groce et al. roll P(havoc) against P(text) for each input; here each step of a stack rolls, and
splicing is a third class. The engine's other twin is text.c, for afl-fuzz.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final, Protocol

from fuzztui.engines.directory.store import QUEUE
from fuzztui.engines.inputs.candidate import NO_ENTRY, Candidate
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry
from fuzztui.engines.loop.mutate import Havoc
from fuzztui.engines.text.arms import AT, Arms
from fuzztui.engines.text.fragments import Fragments, SpliceRecipient, balanced
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.table import ARMS, BALANCED, FRAGMENT, HAVOC, TEMPLATE

__all__ = ["Applies", "TextMixture", "arms_of"]

STACKS: Final = 4
"""2^0 to 2^3 steps."""

TRIES: Final = 16
"""Arms that are drawn before a step becomes havoc."""

_NAMES: Final = 100
"""Characters of names in a label: the journal keeps 128."""

_TEMPLATE, _FRAGMENT, _BALANCED, _HAVOC = (AT[n] for n in (TEMPLATE, FRAGMENT, BALANCED, HAVOC))


class Applies(Protocol):
    """``Operators.apply``."""

    def __call__(self, data: bytes, limit: int, rng: Rng, op: int, /) -> bytes | None:
        """One operator at a random occurrence; None if it does not apply."""


class TextMixture:
    """Core's mutator; the same children for the same seed, whoever applies the operators."""

    def __init__(
        self,
        arms: Arms,
        apply: Applies,
        corpus: Corpus,
        havoc: Havoc,
        *,
        rng: random.Random,
        fragments: Fragments | None = None,
    ) -> None:
        """``fragments``: parts of the corpus by kind, if there is a grammar."""
        self._arms, self._apply, self._corpus, self._havoc = arms, apply, corpus, havoc
        self._fragments = fragments
        self._rng = Rng(rng.getrandbits(64))
        self._host: SpliceRecipient | None = None
        self._entry: CorpusEntry | None = None
        self._between: list[bytes] = []
        """What the data was after each step that the host has not followed yet."""
        self._other = NO_ENTRY
        self._stack: list[int] = []
        self._made: Candidate | None = None

    def mutate(self, entry: CorpusEntry) -> Candidate:
        """A child; equal to its parent if no step applied."""
        arms, data = self._arms, entry.data
        self._begin(entry)
        stack: list[int] = []
        times = 1 << self._rng.below(STACKS)
        for _ in range(times):
            arm, data = self._step(entry, data)
            if arm >= 0 and arm not in stack:
                arms.did(arm)
                stack.append(arm)
        arms.counted()
        self._stack = stack
        self._made = made = Candidate(data, _label(stack, times), entry.id, self._other)
        return made

    def saved(self, candidate: Candidate, folder: str) -> None:
        """A trial's input was kept: its arms did it, if it was made here."""
        if candidate.peer or candidate.origin:
            return
        # One whose worker died is known by its label only.
        stack = self._stack if candidate is self._made else arms_of(candidate.op)
        if folder == QUEUE:
            self._arms.paid(stack)
        else:
            self._arms.failed(stack)

    # ---------------------------------------------------------------------- steps

    def _begin(self, entry: CorpusEntry) -> None:
        self._other = NO_ENTRY
        self._between.clear()
        if self._fragments is None or not self._arms.needs_spans:
            self._host = None
            return
        if entry is not self._entry or self._host is None:
            self._entry, self._host = entry, self._fragments.find(entry.data)
        if self._host is not None:
            self._host.reset()

    def _step(self, entry: CorpusEntry, data: bytes) -> tuple[int, bytes]:
        """The arm that has changed the data, or -1; and the data."""
        arms, rng = self._arms, self._rng
        roll = rng.next() >> 11
        found = None
        if arms.is_text(roll):
            found = self._text(data)
        elif arms.is_splice(roll):
            found = self._splice(entry, data)
        if found is None:
            arms.tries(_HAVOC)
            made = self._havoc.once(data)
            found = (_HAVOC if made != data else -1), made
        if self._host is not None:
            self._between.append(found[1])
        return found

    def _text(self, data: bytes) -> tuple[int, bytes] | None:
        arms, rng, limit = self._arms, self._rng, self._havoc.limit
        for _ in range(TRIES):
            arm = arms.draw_text(rng)
            if arm < 0:
                return None
            arms.tries(arm)
            if arm != _TEMPLATE:
                made = self._apply(data, limit, rng, arm)
            elif self._host is not None and self._fragments is not None:
                made = self._fragments.template(self._followed(self._host), data, limit, rng)
            else:
                continue
            if made is not None:
                return arm, made
        return None

    def _splice(self, entry: CorpusEntry, data: bytes) -> tuple[int, bytes] | None:
        """One way or, where it is impossible, the other."""
        first = self._arms.draw_splice(self._rng)
        for arm in (first, _FRAGMENT + _BALANCED - first):
            if not self._arms.has(arm):
                continue
            made = self._by_kind(data) if arm == _FRAGMENT else self._by_delimiters(entry, data)
            if made is not None:
                return arm, made
        return None

    def _by_kind(self, data: bytes) -> bytes | None:
        if self._host is None or self._fragments is None:
            return None
        self._arms.tries(_FRAGMENT)
        host = self._followed(self._host)
        return self._fragments.splice(host, data, self._havoc.limit, self._rng)

    def _followed(self, host: SpliceRecipient) -> SpliceRecipient:
        """The host as of the last step but one; whoever asks it follows the last himself.

        It takes longer than most steps: only now that somebody wants to know.
        """
        for data in self._between[:-1]:
            host.follow(data)
        self._between.clear()
        return host

    def _by_delimiters(self, entry: CorpusEntry, data: bytes) -> bytes | None:
        entries = self._corpus.entries
        if len(entries) < 2:
            return None
        other = entries[self._rng.below(len(entries))]
        if other is entry:  # its neighbour
            other = entries[self._rng.below(len(entries) - 1)]
            if other is entry:
                other = entries[-1]
        self._arms.tries(_BALANCED)
        made = balanced(data, self._havoc.limit, self._rng, other.data)
        if made is not None:
            self._other = other.id
        return made


def _label(stack: Sequence[int], times: int) -> str:
    """The distinct arms in the order of their first use, as many as fit, and the steps."""
    names = ""
    for arm in stack:
        longer = f"{names}+{ARMS[arm]}" if names else ARMS[arm]
        if len(longer) > _NAMES:
            break
        names = longer
    return f"{names or 'none'},rep:{times}"


_LABEL: Final = re.compile(r"([a-z0-9+-]+),rep:\d+\Z")


def arms_of(label: str) -> list[int]:
    """The arms that a label names; none of a label that is not one of ours."""
    match = _LABEL.match(label)
    return [AT[name] for name in match[1].split("+") if name in AT] if match else []

"""Mutators of structure: parts of an input are deleted, repeated, exchanged and moved.

The parts of a generator's choices are the items of a repetition (:meth:`Source.more`) and the
calls of one function of the generator; the parts of a text are its lines and the text between
brackets or quotes. A part is only exchanged for one of the same kind, also from another entry.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.inputs.drawn import InputPart, RecordingInput
from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry
from fuzztui.engines.loop.mutate import Mutator

_MAX_ENTRIES: Final = 512
"""Entries whose parts are kept."""
_MAX_PARTS: Final = 512
"""Parts of one entry."""


class StructureMutator:
    """Changes one part of an entry; an entry without parts goes to another mutator."""

    def __init__(
        self,
        rng: random.Random,
        corpus: Corpus,
        parts_of: Callable[[CorpusEntry], Sequence[InputPart]],
        then: Mutator,
        limit: int,
    ) -> None:
        """``parts_of`` finds an entry's parts, which are kept for the last 512 entries.

        ``then``: makes the child of an entry without parts. ``limit``: bytes of a child.
        """
        self._rng, self._corpus = rng, corpus
        self._then, self._limit = then, limit
        self._parts = lru_cache(_MAX_ENTRIES)(lambda entry: parts_of(entry)[:_MAX_PARTS])

    def mutate(self, entry: CorpusEntry) -> Candidate:
        """Make a child with one part changed."""
        parts = self._parts(entry)
        if not parts:
            return self._then.mutate(entry)
        rng, data = self._rng, entry.data
        part = parts[int(rng.random() * len(parts))]
        own = data[part.start : part.end]
        op = rng.random()
        src2 = -1
        if part.item and op < 0.2:
            new = b""
        elif part.item and op < 0.4:
            new = own * (2 + int(rng.random() * rng.random() * 6))
        else:
            other = entry
            if op >= 0.7 and (partners := self._corpus.partners):
                other = partners[int(rng.random() * len(partners))]
            alike = [p for p in self._parts(other) if p.kind == part.kind and p is not part]
            if not alike:
                return self._then.mutate(entry)
            source = alike[int(rng.random() * len(alike))]
            new = other.data[source.start : source.end]
            if other is not entry:
                src2 = other.id
            if part.item and rng.random() < 0.4:
                new = own + new
        child = (data[: part.start] + new + data[part.end :])[: self._limit]
        return Candidate(child, "structure", entry.id, src2)


class ChoiceParts:
    """The parts of an entry's choices, by running its generator once more, which is no trial."""

    def __init__(self, context: Context, form: GeneratedInput) -> None:
        self._context, self._form = context, RecordingInput.of(form)

    def __call__(self, entry: CorpusEntry) -> Sequence[InputPart]:
        """Find the parts; none for an entry that has killed a worker."""
        if entry.id in self._context.unsafe:
            return ()
        self._context.make_again(entry, lambda: self._form.build(entry.data))
        parts = self._form.parts
        self._form.forget()
        return parts


# ------------------------------------------------------------------------- parts of a text

_CLOSING: Final = dict(zip(b"([{<", b")]}>", strict=True))
"""The closing bracket of each opening one."""
_QUOTED: Final = re.compile(rb'"[^"\n]{0,200}"|\'[^\'\n]{0,200}\'')
_LOOKED_AT: Final = 1 << 16
"""Bytes of an entry that are looked at."""


def parts_of_text(entry: CorpusEntry) -> list[InputPart]:
    """Lines, balanced brackets with their content, and quoted strings."""
    data = entry.data[:_LOOKED_AT]
    parts = []
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        parts.append(InputPart(start, end, "line", item=True))
        start = end
    if len(parts) == 1:
        parts = []  # the whole text
    parts += [InputPart(*m.span(), "quoted", item=False) for m in _QUOTED.finditer(data)]
    opened: list[tuple[int, int]] = []
    for at, byte in enumerate(data):
        if byte in _CLOSING:
            opened.append((at, byte))
        elif opened and byte == _CLOSING[opened[-1][1]]:
            begin, kind = opened.pop()
            parts.append(InputPart(begin, at + 1, kind, item=True))
            if at > begin + 1:
                parts.append(InputPart(begin + 1, at, ("inside", kind), item=False))
    return parts

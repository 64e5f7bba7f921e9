"""A source that knows where in the generator each choice was drawn, and for which types.

The SpotOn paper, III-C1: a choice has an *execution index* (EI), here the hash of the
generators in progress, the place that draws and how often it has drawn in this
invocation, and a *type stack*, the return types of those generators. An input that is made of
another one's choices by their EIs keeps those that were not mutated where they were, also when a
mutation makes the generator take another path: in a plain sequence all later ones would
shift.

What is drawn is recorded as the plain sequence, whichever way it was made: with that a
plain :class:`~fuzztui.engines.inputs.source.Source` makes the same input again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import ClassVar, Final

from fuzztui.engines.inputs import source
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.source import Rejected, Source

__all__ = ["NO_TYPES", "Annotated", "TypeStacks", "Typed", "runs"]

_OWN: Final = vars(source)
"""Globals of the frames that are passed over on the way to who draws."""

_frame: Final = sys._getframe

NO_TYPES: Final = 0
"""The stack that no generator has pushed a type on."""


class TypeStacks:
    """All type stacks that were seen, one number each: a trie."""

    def __init__(self) -> None:
        self._longer: dict[tuple[int, str], int] = {}
        self._types: list[tuple[str, ...]] = [()]

    def push(self, stack: int, name: str) -> int:
        """The stack with one type more on top; the same one if it has that type.

        So a recursive generator makes no more stacks than there are sets of types.
        """
        found = self._longer.get((stack, name))
        if found is None:
            types = self._types[stack]
            found = stack if name in types else len(self._types)
            self._longer[stack, name] = found
            if found != stack:
                self._types.append((*types, name))
        return found

    def types(self, stack: int) -> tuple[str, ...]:
        """Its types, the outermost first."""
        return self._types[stack]

    def __len__(self) -> int:
        return len(self._types)


@dataclass(slots=True)
class Annotated:
    """The choices of one input, by number in the order that they were drawn in."""

    data: bytes
    """All of them."""
    stack: list[int]
    """The type stack of each, as :class:`TypeStacks` numbers them."""
    start: list[int]
    """Offsets in ``data``: where each starts, and at last where the last one ends."""
    number: dict[int, int]
    """The choice of each execution index."""

    def __len__(self) -> int:
        return len(self.stack)


class Typed(Source):
    """A source that looks at who draws from it.

    Without ``parent`` it draws from ``data`` as a plain one does, and notes what each choice
    is (:meth:`annotated`). With one it takes each choice from ``data``, which lies there as it
    does in the parent's, by its execution index; what the parent has none of it draws again.
    """

    __slots__ = (
        "_choice", "_counts", "_from", "_made", "_notes", "_prefix", "_row", "_stack", "_stacks",
        "_starts",
    )  # fmt: skip

    typed: ClassVar[bool] = True

    def __init__(
        self,
        data: bytes,
        limit: int,
        more: Callable[[int], bytes],
        stacks: TypeStacks,
        *,
        magic: ConstantPool | None = None,
        parent: Annotated | None = None,
    ) -> None:
        """``stacks``: where type stacks get their numbers."""
        super().__init__(data if parent is None else b"", limit, more, magic)
        self._from = data
        self._choice = None if parent is None else parent.number.get
        self._starts = [] if parent is None else parent.start
        self._stacks = stacks
        self._stack = NO_TYPES
        self._prefix = 0
        self._counts: dict[int, int] = {}
        """The index that the next choice at each site has; of this invocation of a generator."""
        self._row = 0
        """The index of the next choice of a row (:meth:`Source.row`); 0: there is none."""
        self._notes: list[tuple[int, int, int]] = []
        self._made: list[tuple[int, int, str]] = []
        """Types of what was made of choices (from, to), as it was known afterwards."""

    def annotated(self) -> Annotated:
        """What was drawn without a parent."""
        data, notes = self.drawn(), self._notes
        stacks = [stack for _, _, stack in notes]
        for begin, end, name in reversed(self._made):  # the outer ones were made last
            for choice in range(begin, end):
                stacks[choice] = self._stacks.push(stacks[choice], name)
        return Annotated(
            data,
            stacks,
            [*(start for _, start, _ in notes), len(data)],
            {index: choice for choice, (index, _, _) in enumerate(notes)},
        )

    def _advance(self, n: int) -> int:
        # Most of what it costs to fuzz with this engine is spent here: `_next`, written out.
        index = self._row
        if index:
            self._row = index + 1
        else:
            frame = _frame(2)
            while frame.f_globals is _OWN:
                frame = frame.f_back  # type: ignore[assignment]
            site = id(frame.f_code) + frame.f_lasti
            counts = self._counts
            found = counts.get(site)
            index = hash((self._prefix, site)) if found is None else found
            counts[site] = index + 1
        at = self._pos
        if self._choice is None:
            self._notes.append((index, at, self._stack))
            return Source._advance(self, n)
        if at + n > self._limit:
            raise Rejected(f"the generator drew more than {self._limit} bytes")
        choice = self._choice(index)
        if choice is None:
            self._data += self._more(n)
        elif n == 1:
            self._data.append(self._from[self._starts[choice]])
        else:
            start = self._starts[choice]
            value = self._from[start : min(start + n, self._starts[choice + 1])]
            # More than there were: a block that was shorter then.
            self._data += value if len(value) == n else value + self._more(n - len(value))
        self._pos = at + n
        return at

    def row(self, n: int, below: int) -> list[int]:
        """As a plain source's."""
        # A scope of its own, in small: what is drawn after it must not shift with its length.
        self._row = hash((self._next(_frame(1)), 2)) or 1
        try:
            return super().row(n, below)
        finally:
            self._row = 0

    def _next(self, frame: FrameType) -> int:
        """The index of what happens next where that frame is; only once."""
        while frame.f_globals is _OWN:
            frame = frame.f_back  # type: ignore[assignment]  # a generator called us
        # A code object holds its instructions: no two sites share this number.
        return self._index(id(frame.f_code) + frame.f_lasti)

    def _index(self, site: int) -> int:
        index = self._counts.get(site)
        if index is None:
            index = hash((self._prefix, site))
        self._counts[site] = index + 1
        return index

    def scope(self, types: tuple[str, ...], depth: int) -> GeneratorCall:
        """For one invocation of a generator that makes such types (usually one, or none).

        ``depth``: so many calls above us is the generator's caller.
        """
        stack = self._stack
        for name in types:
            stack = self._stacks.push(stack, name)
        return GeneratorCall(self, hash((self._next(_frame(depth)), 1)), stack)

    def span(self, label: int) -> GeneratorCall:
        """For one invocation of a part of a strategy, which has a label and no place of its own."""
        return GeneratorCall(self, hash((self._index(label), 3)), self._stack)

    @property
    def position(self) -> int:
        """How many choices were noted so far: none where there is a parent."""
        return len(self._notes)

    def made(self, since: int, name: str) -> None:
        """All choices from that position on were drawn for a thing of this type."""
        if since < len(self._notes):
            self._made.append((since, len(self._notes), name))

    def unmade(self, since: int) -> None:
        """What was made of choices from that position on was thrown away."""
        while self._made and self._made[-1][0] >= since:
            self._made.pop()


class GeneratorCall:
    """An invocation of a generator; entered again and again if it yields."""

    __slots__ = ("_counts", "_prefix", "_source", "_stack")

    def __init__(self, source: Typed, prefix: int, stack: int) -> None:
        self._source, self._prefix, self._stack = source, prefix, stack
        self._counts: dict[int, int] = {}

    def _swap(self) -> None:
        s = self._source
        s._prefix, self._prefix = self._prefix, s._prefix
        s._stack, self._stack = self._stack, s._stack
        s._counts, self._counts = self._counts, s._counts

    def __enter__(self) -> None:
        self._swap()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._swap()


def runs(annotated: Annotated, stacks: Container[int]) -> Iterator[range]:
    """The contiguous choices whose type stack is one of those."""
    begin = -1
    for at, stack in enumerate(annotated.stack):
        if stack in stacks:
            if begin < 0:
                begin = at
        elif begin >= 0:
            yield range(begin, at)
            begin = -1
    if begin >= 0:
        yield range(begin, len(annotated))

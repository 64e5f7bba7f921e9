"""A source that records where in the generator each choice was drawn, and for which types.

The SpotOn paper, III-C1: a choice has an *execution index* (EI) and a *type stack*. The EI is the
hash of the generator calls in progress, the call site that draws, and how often that site has
drawn in this call. The type stack contains the return types of those generators. An input that is
made from a parent's choices by EI keeps unmutated choices in their roles, even if a mutation makes
the generator take another path; in a plain sequence all later choices would shift.

The drawn bytes are always recorded as a plain sequence: from them a plain
:class:`~fuzztui.engines.inputs.source.Source` makes the same input again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import ClassVar, Final

from fuzztui.engines.inputs import source
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.fields import Fields
from fuzztui.engines.inputs.source import Rejected, Source

_OWN: Final = vars(source)
"""Globals of the frames that are skipped when looking for the code that draws."""

_frame: Final = sys._getframe

Call = tuple[int, int, dict[int, int]]
"""The prefix of execution indexes, the type stack and the counts of the caller."""

NO_TYPES: Final = 0
"""The number of the empty type stack."""

_MOST_STACKS: Final = 4096
"""Type stacks from which on no field is added: recursive generators could make any number."""


class TypeStacks:
    """All type stacks that have occurred, as a trie; each has a number."""

    def __init__(self) -> None:
        self._longer: dict[tuple[int, str], int] = {}
        self._types: list[tuple[str, ...]] = [()]
        self.fields = Fields()
        """The fields for which generators draw: types without a ``@generator`` of their own."""

    def push(self, stack: int, name: str) -> int:
        """The stack with one more type on top; the same stack if it already contains the type.

        So the number of stacks stays limited, also for recursive generators.
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
        """The types of a stack, the outermost first."""
        return self._types[stack]

    def __len__(self) -> int:
        return len(self._types)


@dataclass(slots=True)
class Annotated:
    """The choices of one input, numbered in the order in which they were drawn."""

    data: bytes
    """The bytes of all choices."""
    stack: list[int]
    """The number of each choice's type stack (:class:`TypeStacks`)."""
    start: list[int]
    """The offset of each choice in ``data``, and finally the end of the last one."""
    number: dict[int, int]
    """The number of the choice with an execution index."""

    def __len__(self) -> int:
        return len(self.stack)


class Typed(Source):
    """A source that examines the frames that draw from it.

    Without ``parent`` choices come from ``data`` in order, as from a plain source, and are
    annotated (:meth:`annotated`). With ``parent`` each choice is found by its execution index in
    ``data``, which has the same layout as the parent's; a choice that the parent lacks is new.
    """

    __slots__ = (
        "_choice", "_counts", "_fields", "_from", "_made", "_notes", "_plain", "_prefix", "_row",
        "_stack", "_stacks", "_starts",
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
        """``stacks`` numbers the type stacks."""
        super().__init__(data if parent is None else b"", limit, more, magic)
        self._from = data
        self._choice = None if parent is None else parent.number.get
        self._starts = [] if parent is None else parent.start
        self._stacks = stacks
        self._fields, self._plain = stacks.fields, stacks.fields.plain
        self._stack = NO_TYPES
        self._prefix = 0
        self._counts: dict[int, int] = {}
        """By call site: the index of its next choice in the current generator call."""
        self._row = 0
        """The index of the next choice of a row (:meth:`Source.row`); 0: no row is being drawn."""
        self._notes: list[tuple[int, int, int]] = []
        self._made: list[tuple[int, int, str]] = []
        """Choices (from, to) and the type made of them, which is only known afterwards."""

    def annotated(self) -> Annotated:
        """The annotated choices; only for a source without a parent."""
        data, notes = self.drawn(), self._notes
        stacks = [stack for _, _, stack in notes]
        for begin, end, name in reversed(self._made):  # outer types were added last
            for choice in range(begin, end):
                stacks[choice] = self._stacks.push(stacks[choice], name)
        return Annotated(
            data,
            stacks,
            [*(start for _, start, _ in notes), len(data)],
            {index: choice for choice, (index, _, _) in enumerate(notes)},
        )

    def _advance(self, n: int) -> int:
        # The hottest code of this engine, so nothing is called that can be inlined.
        index = self._row
        if index:
            self._row, site = index + 1, 0  # the fields of a row are on the stack already
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
            stack = self._stack if site in self._plain else self._stack_at(frame)
            self._notes.append((index, at, stack))
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
            # The parent's block may have been shorter.
            self._data += value if len(value) == n else value + self._more(n - len(value))
        self._pos = at + n
        return at

    def row(self, n: int, below: int) -> list[int]:
        """Draw a row as a plain source does."""
        # Indexes of their own: choices after the row must not shift with its length.
        frame, before = _frame(1), self._stack
        while frame.f_globals is _OWN:
            frame = frame.f_back  # type: ignore[assignment]
        site = id(frame.f_code) + frame.f_lasti
        self._row = index = hash((self._index(site), 2)) or 1
        if self._choice is None and site not in self._plain:
            self._stack = self._stack_at(frame)
        try:
            start = self._start_of_row(index, n) if 1 <= below <= 256 else -1
            if start < 0:
                return [self.below(below) for _ in range(n)]
            at = self._pos
            if self._choice is None:
                Source._advance(self, n)
                stack = self._stack
                self._notes += [(index + i, at + i, stack) for i in range(n)]
            elif at + n > self._limit:
                raise Rejected(f"the generator drew more than {self._limit} bytes")
            else:
                self._data += self._from[start : start + n]
                self._pos = at + n
        finally:
            self._row, self._stack = 0, before
        return [byte % below for byte in self._data[at : at + n]]

    def _start_of_row(self, index: int, n: int) -> int:
        """Where ``n`` choices of a byte each, from this index on, are in ``data``; -1: nowhere.

        Without a parent 0: they need not be there.
        """
        if n < 1:
            return -1
        if self._choice is None:
            return 0
        first, last = self._choice(index), self._choice(index + n - 1)
        if first is None or last is None or last - first != n - 1:
            return -1
        start = self._starts[first]
        return start if self._starts[last + 1] - start == n else -1

    def _index(self, site: int) -> int:
        index = self._counts.get(site)
        if index is None:
            index = hash((self._prefix, site))
        self._counts[site] = index + 1
        return index

    def begin_call(self, types: tuple[str, ...], depth: int) -> Call:
        """Begin one call of a generator that makes ``types`` (mostly one or none).

        ``depth``: number of frames between this method and the generator's caller. Returns what
        :meth:`end_call` needs.
        """
        before = self._prefix, self._stack, self._counts
        self._prefix, self._stack = self._begun(_frame(depth), types)
        self._counts = {}
        return before

    def end_call(self, call: Call) -> None:
        """End a call."""
        self._prefix, self._stack, self._counts = call

    def _begun(self, frame: FrameType, types: tuple[str, ...]) -> tuple[int, int]:
        """The prefix and the type stack of a call that this frame makes."""
        while frame.f_globals is _OWN:
            frame = frame.f_back  # type: ignore[assignment]  # a generator is the caller
        # The instructions are inside the code object, so no two sites share this number.
        site = id(frame.f_code) + frame.f_lasti
        stack = self._stack
        if self._choice is None and site not in self._plain:
            stack = self._stack_at(frame)
        for name in types:
            stack = self._stacks.push(stack, name)
        return hash((self._index(site), 1)), stack

    def _stack_at(self, frame: FrameType) -> int:
        """The current type stack with the fields that a frame draws for."""
        stack = self._stack
        for name in self._fields.of(frame) if len(self._stacks) < _MOST_STACKS else ():
            stack = self._stacks.push(stack, name)
        return stack

    def scope(self, types: tuple[str, ...], depth: int) -> GeneratorCall:
        """As :meth:`begin_call`, of a generator that yields: it is entered for each step."""
        return GeneratorCall(self, *self._begun(_frame(depth), types))

    def span(self, label: int) -> GeneratorCall:
        """A context manager for one call of a strategy's part, identified by its label."""
        return GeneratorCall(self, hash((self._index(label), 3)), self._stack)

    @property
    def position(self) -> int:
        """The number of annotated choices; 0 for a source with a parent."""
        return len(self._notes)

    def made(self, since: int, name: str) -> None:
        """Add a type to all choices from this position on."""
        if since < len(self._notes):
            self._made.append((since, len(self._notes), name))

    def made_for(self, since: int, frame: FrameType) -> None:
        """Add the fields that a frame draws for to all choices from this position on."""
        for name in reversed(self._fields.of(frame)):
            self.made(since, name)

    def unmade(self, since: int) -> None:
        """Remove the types added to choices from this position on: their value was discarded."""
        while self._made and self._made[-1][0] >= since:
            self._made.pop()


class GeneratorCall:
    """One call of a generator; entered once for each step if the generator yields."""

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

    def __exit__(self, *_: object) -> None:
        self._swap()


def runs(annotated: Annotated, stacks: Container[int]) -> Iterator[range]:
    """The ranges of consecutive choices whose type stack is in ``stacks``."""
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

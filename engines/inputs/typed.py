"""A source that records where in the generator each choice was drawn, and for which types.

The SpotOn paper, III-C1: a choice has an *execution index* (EI) and a *type stack*. The EI is the
generator calls in progress, the call site that draws, and how often that site has drawn in this
call. The type stack contains the return types of those generators. An input that is made from a
parent's choices by EI keeps unmutated choices in their roles, even if a mutation makes the
generator take another path; in a plain sequence all later choices would shift.

The drawn bytes are always recorded as a plain sequence: from them a plain
:class:`~fuzztui.engines.inputs.source.Source` makes the same input again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import is_
from types import FrameType
from typing import Any, ClassVar, Final

from fuzztui.engines.inputs import source
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.fields import Fields
from fuzztui.engines.inputs.source import Rejected, Source

_OWN: Final = vars(source)
"""Globals of the frames that are skipped when looking for the code that draws."""

_frame: Final = sys._getframe

Sites = dict[int, Any]
"""What one call draws first at each of its sites: the number of a choice; at the site + 1 a row,
(number of its first choice, length, object(): no two rows are equal); at ~site a `DrawnCall`."""

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


class DrawnCall:
    """A call of a generator, or of a part of a strategy, that has made choices of an input."""

    __slots__ = ("args", "data", "end", "function", "named", "sites", "start")

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        """The offsets of its choices."""
        self.data = b""
        """The bytes of its choices."""
        self.sites: Sites = {}
        self.function: object = None
        """None: the call must not be replayed."""
        self.args: Sequence[object] = ()
        self.named: Mapping[str, object] = {}

    def has(self, args: Sequence[object], named: Mapping[str, object]) -> bool:
        """Whether these are its arguments: the same objects, because ``==`` may run user code."""
        if len(args) != len(self.args) or named.keys() != self.named.keys():
            return False
        values = map(self.named.get, named)
        return all(map(is_, args, self.args)) and all(map(is_, named.values(), values))


@dataclass(slots=True)
class Annotated:
    """The choices of one input, numbered in the order in which they were drawn."""

    data: bytes
    """The bytes of all choices."""
    stack: list[int]
    """The number of each choice's type stack (:class:`TypeStacks`)."""
    start: list[int]
    """The offset of each choice in ``data``, and finally the end of the last one."""
    sites: Sites
    """What is drawn outside of all calls."""
    after: dict[Any, Any]
    """What the same call draws next at the same site, by what it draws before."""

    def __len__(self) -> int:
        return len(self.stack)


class Typed(Source):
    """A source that examines the frames that draw from it.

    Choices come from ``data`` in order, as from a plain source, and are annotated.
    """

    __slots__ = (
        "_calls", "_fields", "_made", "_plain", "_scopes", "_sites", "_stack", "_stack_of",
        "_stacks", "_starts",
    )  # fmt: skip

    typed: ClassVar[bool] = True
    annotates: ClassVar[bool] = True

    def __init__(
        self,
        data: bytes,
        limit: int,
        more: Callable[[int], bytes],
        stacks: TypeStacks,
        *,
        magic: ConstantPool | None = None,
    ) -> None:
        """``stacks`` numbers the type stacks."""
        super().__init__(data, limit, more, magic)
        self._stacks = stacks
        self._fields, self._plain = stacks.fields, stacks.fields.plain
        self._stack = NO_TYPES
        self._sites: Sites = {}
        """All that the current call has drawn, a list for each site."""
        self._calls: list[DrawnCall] = []
        self._starts: list[int] = []
        self._stack_of: list[int] = []
        self._made: list[tuple[int, int, str]] = []
        """Choices (from, to) and the type made of them, which is only known afterwards."""
        self._scopes = 0
        """The number of calls of generators that yield."""

    def annotated(self) -> Annotated:
        """The annotated choices. Must be called once, at the end."""
        data, stacks = self.drawn(), self._stack_of
        for begin, end, name in reversed(self._made):  # outer types were added last
            for choice in range(begin, end):
                stacks[choice] = self._stacks.push(stacks[choice], name)
        after: dict[Any, Any] = {}
        for call in self._calls:
            call.data = data[call.start : call.end]
        for sites in (self._sites, *(call.sites for call in self._calls)):
            for site, drawn in sites.items():
                sites[site] = drawn[0]
                after.update(pairwise(drawn))
        return Annotated(data, stacks, [*self._starts, len(data)], self._sites, after)

    def _advance(self, n: int) -> int:
        frame = _frame(2)
        while frame.f_globals is _OWN:
            frame = frame.f_back  # type: ignore[assignment]
        # The instructions are inside the code object, so no two sites share this number.
        site = id(frame.f_code) + frame.f_lasti
        self._sites.setdefault(site, []).append(len(self._starts))
        self._starts.append(self._pos)
        self._stack_of.append(self._stack if site in self._plain else self._stack_at(frame))
        return Source._advance(self, n)

    def row(self, n: int, below: int) -> list[int]:
        """Draw a row as a plain source does."""
        # A site of its own: choices after the row must not shift with its length.
        frame = _frame(1)
        while frame.f_globals is _OWN:
            frame = frame.f_back  # type: ignore[assignment]
        if below < 1:
            return Source.row(self, n, below)
        n = max(n, 0)  # an empty row counts: those after it at this site must not shift, either
        size = (below - 1).bit_length() + 7 >> 3 or 1
        at = self._advance_row(frame, id(frame.f_code) + frame.f_lasti, n, size)
        data = self._data[at : at + n * size]
        if size == 1:
            return [byte % below for byte in data]
        return [int.from_bytes(data[i : i + size], "big") % below for i in range(0, n * size, size)]

    def _advance_row(self, frame: FrameType, site: int, n: int, size: int) -> int:
        stack = self._stack if site in self._plain else self._stack_at(frame)
        self._sites.setdefault(site + 1, []).append((len(self._starts), n, object()))
        at = self._pos
        self._starts += range(at, at + n * size, size)
        self._stack_of += [stack] * n
        return Source._advance(self, n * size)

    def call(self, makes: Callable[[], Any], function: Any, args: Any, named: Any) -> Any:
        """Call a generator of the types that ``makes`` returns, for the caller's caller."""
        before, scopes = (self._sites, self._stack), self._scopes
        call, self._stack = self._begun(_frame(2), makes())
        self._sites = call.sites
        try:
            return function(*args, **named)
        finally:
            self._sites, self._stack = before
            # What yields may draw after this call.
            if scopes == self._scopes and args and args[0] is self:
                call.function, call.args, call.named = function, args[1:], named
                call.end = self._pos

    def _begun(self, frame: FrameType, types: tuple[str, ...]) -> tuple[DrawnCall, int]:
        """A call that this frame makes, and its type stack."""
        while frame.f_globals is _OWN:
            frame = frame.f_back  # type: ignore[assignment]  # a generator is the caller
        site = id(frame.f_code) + frame.f_lasti
        stack = self._stack if site in self._plain else self._stack_at(frame)
        for name in types:
            stack = self._stacks.push(stack, name)
        return self._called(site), stack

    def _called(self, site: int) -> DrawnCall:
        call = DrawnCall(self._pos)
        self._calls.append(call)
        self._sites.setdefault(~site, []).append(call)
        return call

    def _stack_at(self, frame: FrameType) -> int:
        """The current type stack with the fields that a frame draws for."""
        stack = self._stack
        for name in self._fields.of(frame) if len(self._stacks) < _MOST_STACKS else ():
            stack = self._stacks.push(stack, name)
        return stack

    def scope(self, types: tuple[str, ...], depth: int) -> GeneratorCall:
        """One call of a generator that yields: it is entered for each step.

        ``depth``: number of frames between this method and the generator's caller.
        """
        self._scopes += 1
        call, stack = self._begun(_frame(depth), types)
        return GeneratorCall(self, call.sites, stack)

    def span(self, label: int) -> GeneratorCall:
        """A context manager for one call of a strategy's part, identified by its label."""
        return GeneratorCall(self, self._called(label).sites, self._stack)

    @property
    def position(self) -> int:
        """The number of annotated choices."""
        return len(self._starts)

    def made(self, since: int, name: str) -> None:
        """Add a type to all choices from this position on."""
        if since < len(self._starts):
            self._made.append((since, len(self._starts), name))

    def made_for(self, since: int, frame: FrameType) -> None:
        """Add the fields that a frame draws for to all choices from this position on."""
        for name in reversed(self._fields.of(frame)):
            self.made(since, name)

    def unmade(self, since: int) -> None:
        """Remove the types added to choices from this position on: their value was discarded."""
        while self._made and self._made[-1][0] >= since:
            self._made.pop()


class Indexed(Typed):
    """A source that finds each choice by its execution index; nothing is annotated.

    A call with the parent's choices and arguments draws what it drew for the parent. So do all
    calls in it: they are *replayed*, in order and without looking at frames. Nothing in a call
    that the parent lacks can be found, so there all choices are new.
    """

    __slots__ = ("_after", "_from", "_offsets")
    annotates = False

    def __init__(self, data: bytes, parent: Annotated, *plain: Any) -> None:
        """``data`` has the same layout as the parent's; ``plain``: limit, more, magic."""
        Source.__init__(self, b"", *plain)
        self._from, self._offsets, self._after = data, parent.start, parent.after
        self._sites = parent.sites.copy()  # here: what is drawn next
        self._stack, self._starts, self._made = NO_TYPES, [], []

    def _advance(self, n: int) -> int:
        # The hottest code of this engine, so nothing is called that can be inlined.
        frame = _frame(2)
        while frame.f_globals is _OWN:
            frame = frame.f_back  # type: ignore[assignment]
        site = id(frame.f_code) + frame.f_lasti
        choice = self._sites.get(site)
        if choice is None:
            return self._append(b"", n)
        self._sites[site] = self._after.get(choice)
        start, at = self._offsets[choice], self._pos
        if n > 1 or at >= self._limit:
            return self._append(self._from[start : self._offsets[choice + 1]], n)
        self._data.append(self._from[start])
        self._pos = at + 1
        return at

    def _append(self, found: bytes, n: int) -> int:
        """Draw ``n`` bytes: the parent's block or row may have been longer or shorter."""
        at = self._pos
        if at + n > self._limit:
            raise Rejected(f"the generator drew more than {self._limit} bytes")
        self._data += found[:n]
        if len(found) < n:
            self._data += self._more(n - len(found))
        self._pos = at + n
        return at

    def _next(self, site: int) -> Any:
        found = self._sites.get(site)
        if found is not None:
            self._sites[site] = self._after.get(found)
        return found

    def _advance_row(self, frame: FrameType, site: int, n: int, size: int) -> int:
        first, length, _ = self._next(site + 1) or (0, 0, None)
        start, end = self._offsets[first], self._offsets[first + length]
        return self._append(self._from[start:end], n * size)

    def call(self, makes: Callable[[], Any], function: Any, args: Any, named: Any) -> Any:
        """Call a generator, or replay the call."""
        frame, before = _frame(2), self._sites
        while frame.f_globals is _OWN:
            frame = frame.f_back  # type: ignore[assignment]
        site = ~(id(frame.f_code) + frame.f_lasti)
        call = before.get(site)
        if call is not None:
            before[site] = self._after.get(call)
            if (
                function is not call.function
                or not self._from.startswith(call.data, call.start)
                or ((len(args) > 1 or named) and not call.has(args[1:], named))
                or self._pos + len(call.data) > self._limit
            ):
                self._sites = call.sites.copy()
                try:
                    return function(*args, **named)
                finally:
                    self._sites = before
            self._data += call.data
        self.__class__ = Replaying
        try:
            return function(*args, **named)
        finally:
            self.__class__ = Indexed
            del self._data[self._pos :]

    def scope(self, types: tuple[str, ...], depth: int) -> GeneratorCall:
        """As of :class:`Typed`."""
        frame = _frame(depth)
        while frame.f_globals is _OWN:
            frame = frame.f_back  # type: ignore[assignment]
        return self.span(id(frame.f_code) + frame.f_lasti)

    def span(self, label: int) -> GeneratorCall:
        """As of :class:`Typed`."""
        call: DrawnCall | None = self._next(~label)
        return GeneratorCall(self, {} if call is None else call.sites.copy(), NO_TYPES)


class Replaying(Indexed):
    """The source during a call that is replayed, or is new: for generators a plain source."""

    __slots__ = ()
    typed = False
    _advance, row = Source._advance, Source.row

    def span(self, label: int) -> GeneratorCall:
        """Do nothing (for a strategy that was begun before the call)."""
        return GeneratorCall(self, {}, NO_TYPES)


class GeneratorCall:
    """One call of a generator; entered once for each step if the generator yields."""

    __slots__ = ("_sites", "_source", "_stack")

    def __init__(self, source: Typed, sites: Sites, stack: int) -> None:
        self._source, self._sites, self._stack = source, sites, stack

    def _swap(self) -> None:
        s = self._source
        s._sites, self._sites = self._sites, s._sites
        s._stack, self._stack = self._stack, s._stack

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

"""Splicing: replace a part of an input by a part of the same kind from another entry.

Fragments are grouped by syntactic kind. Identifiers of a fragment may be renamed to identifiers of
the input. The results are equal to those of pool.c, byte for byte, for the same pool, input, limit
and generator state; the comments in pool.c explain the reasons. "Tradeoff. Splicing." are headings
without text in Groce et al.; this module is our design for them.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final
from zlib import crc32

from fuzztui.engines.text.edits import Edit, common_head, common_tail
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.syntax import MAX_INPUT, MAX_NAME, Span, Spans

MAX_A_KIND: Final = 200
MAX_FRAGMENTS: Final = 4 << 20
"""Bytes of all fragments."""
MAX_ENTRIES: Final = 24 << 20
"""Bytes of the data about all lasting entries; the oldest entries are dropped first."""
MAX_PASSING: Final = 8 << 20
"""Bytes of the data about passing entries, which do not displace the others."""
MAX_NAMES: Final = 64
"""Identifiers in one fragment (a fragment with more is never renamed), and identifiers of one kind
that are kept of an entry."""
MAX_SEGMENTS: Final = 32
TRIES: Final = 16

SPAN: Final = struct.Struct("<IHH")
"""A packed span, as in the pool file: begin, length, 0."""


def key_of(data: bytes) -> int:
    """The key of an input: length << 32 | CRC-32."""
    return len(data) << 32 | crc32(data)


def packed(spans: Sequence[Span]) -> bytes:
    """Pack spans as in the pool file: a tuple of tuples would take ten times the memory."""
    return b"".join(SPAN.pack(start, n, 0) for start, n in spans)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of an entry. ``names``: begin, length, group and kind of each identifier.

    Equal identifiers have the same group.
    """

    text: bytes
    names: tuple[tuple[int, int, int, str], ...] = ()

    @property
    def size(self) -> int:
        """The size in the pool file, in bytes."""
        return 16 + len(self.text) + 8 * len(self.names)


@dataclass(frozen=True, slots=True)
class EntryFragments:
    """The data about one input: packed spans by kind, packed identifiers by kind, edits."""

    groups: tuple[tuple[str, bytes], ...] = ()
    words: tuple[tuple[str, bytes], ...] = ()
    edits: tuple[Edit, ...] = ()

    @classmethod
    def of(cls, data: bytes, spans: Spans) -> EntryFragments:
        """From the parser's result, with one position of each identifier, at most 64 by kind."""
        distinct: dict[str, dict[bytes, Span]] = defaultdict(dict)
        for start, n, kind in spans.names:
            if n <= MAX_NAME:
                distinct[kind].setdefault(data[start : start + n], (start, n))
        words = []
        for kind in sorted(distinct):
            places = list(distinct[kind].values())
            step = max(1, -(-len(places) // MAX_NAMES))
            words.append((kind, packed(places[::step])))
        groups = tuple((kind, packed(spans.kinds[kind])) for kind in sorted(spans.kinds))
        return cls(groups, tuple(words), tuple(spans.edits))

    @property
    def size(self) -> int:
        """The approximate size in the pool file, in bytes."""
        parts = sum(len(p) + 8 for _, p in (*self.groups, *self.words))
        return 24 + parts + sum(16 + len(edit[2]) for edit in self.edits)


class SpliceRecipient:
    """An input that is being mutated, and the positions of its unchanged parts in the result."""

    __slots__ = ("_segments", "_was", "data", "entry")

    def __init__(self, data: bytes, entry: EntryFragments) -> None:
        self.data, self.entry = data, entry
        self.reset()

    def reset(self) -> None:
        """Start again with the unchanged input."""
        self._was = len(self.data)
        self._segments = [(0, len(self.data), 0)]

    def follow(self, now: bytes) -> None:
        """Update the positions after a step; several steps since the last call count as one."""
        data, segments = self.data, self._segments
        left: list[tuple[int, int, int]] = []
        right: list[tuple[int, int, int]] = []
        moved, self._was = len(now) - self._was, len(now)
        begin = at = whole = 0
        for start, size, place in segments:
            n = common_head(data, start, now, place, min(size, max(0, len(now) - place)))
            if n:
                left.append((start, n, place))
                begin, at = start + n, place + n
            if n < size:
                break
            whole += 1
        for start, size, place in reversed(segments[whole:]):  # the change may split the first
            end = place + size + moved
            room = size if start > begin else start + size - begin
            if end <= at or end > len(now):
                break
            n = common_tail(data, start + size, now, end, min(room, end - at))
            if n:
                right.append((start + size - n, n, end - n))
            if n < size:
                break
        self._segments = (left + right[::-1])[:MAX_SEGMENTS]

    def place(self, start: int, n: int) -> int:
        """The current position of a part of the input; -1 if the part has changed."""
        for begin, size, at in self._segments:
            if start >= begin and start + n <= begin + size:
                return at + start - begin
        return -1


@dataclass(frozen=True, slots=True)
class Pool:
    """Fragments by kind (kinds in alphabetical order), and the data about all entries."""

    fragments: Mapping[str, Sequence[Fragment]] = field(default_factory=dict)
    entries: Mapping[int, EntryFragments] = field(default_factory=dict)

    def find(self, data: bytes) -> SpliceRecipient | None:
        """A recipient for an input; None if the input is unknown (:func:`balanced` needs none)."""
        entry = self.entries.get(key_of(data)) if len(data) <= MAX_INPUT else None
        return None if entry is None else SpliceRecipient(data, entry)

    def splice(self, recipient: SpliceRecipient, now: bytes, limit: int, rng: Rng) -> bytes | None:
        """Replace a span by a fragment of its kind; None if this is impossible.

        ``now``: the input after the previous steps; ``limit``: bound of the result's bytes.
        """
        groups = recipient.entry.groups
        if not groups:
            return None
        recipient.follow(now)
        for _ in range(TRIES):
            kind, spans = groups[rng.below(len(groups))]
            start, n, _ = SPAN.unpack_from(spans, rng.below(len(spans) // 8) * 8)
            fragments, at = self.fragments.get(kind), recipient.place(start, n)
            if not fragments or at < 0:
                continue
            text = _rename_identifiers(fragments[rng.below(len(fragments))], recipient, rng)
            if (made := _put(now, at, n, text, limit)) is not None:
                return made
        return None

    def template(
        self, recipient: SpliceRecipient, now: bytes, limit: int, rng: Rng
    ) -> bytes | None:
        """Apply one of the entry's template edits; None if this is impossible."""
        edits = recipient.entry.edits
        if not edits:
            return None
        recipient.follow(now)
        for _ in range(TRIES):
            start, end, text = edits[rng.below(len(edits))]
            at = recipient.place(start, end - start)
            if at >= 0 and (made := _put(now, at, end - start, text, limit)) is not None:
                return made
        return None


def _rename_identifiers(fragment: Fragment, recipient: SpliceRecipient, rng: Rng) -> bytes:
    text, parts, begin = fragment.text, [], 0
    new_names: list[bytes | None] = []
    for at, n, group, kind in fragment.names:
        if group == len(new_names):
            new_names.append(_identifier_of(recipient, kind, rng) if rng.below(2) else None)
        to = new_names[group]
        parts += [text[begin:at], text[at : at + n] if to is None else to]
        begin = at + n
    return b"".join((*parts, text[begin:]))


def _identifier_of(recipient: SpliceRecipient, kind: str, rng: Rng) -> bytes | None:
    for other, places in recipient.entry.words:
        if other == kind:
            start, n, _ = SPAN.unpack_from(places, rng.below(len(places) // 8) * 8)
            return recipient.data[start : start + n]
    return None


def _put(now: bytes, at: int, old: int, text: bytes, limit: int) -> bytes | None:
    if now[at : at + old] == text or len(now) - old + len(text) > limit:
        return None
    return now[:at] + text + now[at + old :]


class Fragments:
    """The growing pool: a bounded sample of the distinct fragments of each kind.

    The sample consists of the fragments with the smallest hashes, so it does not depend on the
    order or frequency of fragments.
    """

    def __init__(self) -> None:
        self._hashes: dict[str, list[int]] = {}
        self._fragments: dict[str, list[Fragment]] = {}
        self._sizes: dict[str, int] = {}
        self._size = 0
        self._entries: dict[int, EntryFragments] = {}
        self._lasting, self._passing = _SizeLimit(MAX_ENTRIES), _SizeLimit(MAX_PASSING)
        self.pool = Pool(self._fragments, self._entries)
        """The current content."""

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        """The number of fragments."""
        return sum(map(len, self._fragments.values()))

    def add(self, data: bytes, spans: Spans, *, passing: bool = False) -> None:
        """Add an input with its spans. ``passing``: it is only needed for a while, and must not
        displace the data of other inputs.
        """
        for kind in spans.kinds:
            for start, n in spans.kinds[kind]:
                self._keep(kind, _cut(data, start, n, spans.names))
        key = key_of(data)
        self._entries[key] = EntryFragments.of(data, spans)
        self._track(key, passing and key not in self._lasting)

    def keep(self, key: int, *, passing: bool = False) -> None:
        """Mark a known input as used, so that it is not among the oldest. ``passing``: as in
        :meth:`add`.
        """
        self._track(key, passing and key not in self._lasting)

    def _track(self, key: int, passing: bool) -> None:
        for shelf in (self._lasting, self._passing):
            shelf.take_out(key)
        shelf = self._passing if passing else self._lasting
        for forgotten in shelf.put(key, self._entries[key].size):
            del self._entries[forgotten]

    def _keep(self, kind: str, fragment: Fragment) -> None:
        hashes = self._hashes.setdefault(kind, [])
        digest = blake2b(fragment.text, digest_size=8, person=kind.encode()[:16]).digest()
        number = int.from_bytes(digest, "big")
        at = bisect_left(hashes, number)
        if at >= MAX_A_KIND or (at < len(hashes) and hashes[at] == number):
            return
        hashes.insert(at, number)
        self._fragments.setdefault(kind, []).insert(at, fragment)
        self._count(kind, fragment.size)
        if len(hashes) > MAX_A_KIND:
            self._drop(kind)
        while self._size > MAX_FRAGMENTS:
            self._drop(max(self._sizes, key=lambda k: (self._sizes[k], k)))

    def _drop(self, kind: str) -> None:
        self._hashes[kind].pop()
        self._count(kind, -self._fragments[kind].pop().size)

    def _count(self, kind: str, size: int) -> None:
        self._sizes[kind] = self._sizes.get(kind, 0) + size
        self._size += size


class _SizeLimit:
    """Keys of entries, the oldest first, with a bound of their total size in bytes."""

    def __init__(self, most: int) -> None:
        self._most, self._full = most, 0
        self._sizes: dict[int, int] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._sizes

    def take_out(self, key: int) -> None:
        """Remove a key, if present."""
        self._full -= self._sizes.pop(key, 0)

    def put(self, key: int, size: int) -> Iterator[int]:
        """Add a key as the newest. Yields the keys that are dropped, never this one."""
        self._sizes[key] = size
        self._full += size
        while self._full > self._most and len(self._sizes) > 1:
            oldest = next(iter(self._sizes))
            self.take_out(oldest)
            yield oldest


def _cut(data: bytes, start: int, n: int, names: Sequence[tuple[int, int, str]]) -> Fragment:
    """A fragment of an input, with the identifiers in it."""
    text = data[start : start + n]
    groups: dict[tuple[bytes, str], int] = {}
    inside: list[tuple[int, int, int, str]] = []
    for i in range(bisect_left(names, (start,)), len(names)):
        at, size, kind = names[i]
        if at + size > start + n:
            break
        if size > MAX_NAME:
            continue
        group = groups.setdefault((data[at : at + size], kind), len(groups))
        inside.append((at - start, size, group, kind))
        if len(inside) > MAX_NAMES:
            return Fragment(text)
    return Fragment(text, tuple(inside))


# ------------------------------------------------------- delimiters, without a grammar


_BRACKETS: Final = tuple((c.encode(), re.compile(b"[%s]" % e)) for c, e in (
    ("(", rb"()"), ("{", rb"{}"), ("[", rb"\[\]")))  # fmt: skip
_STRING, _STATEMENT, _DELIMITERS = 3, 4, 6


def balanced(now: bytes, limit: int, rng: Rng, other: bytes) -> bytes | None:
    """Replace a part between two delimiters by such a part of ``other``.

    The delimiters are ``( ) { } [ ] " ; ;`` or those of a line. None if this is impossible.
    """
    if not now or not other:
        return None
    first = rng.below(_DELIMITERS)
    for i in range(_DELIMITERS):
        what = (first + i) % _DELIMITERS
        here = _draw_part(now, what, rng)
        there = here and _draw_part(other, what, rng)
        if here and there:
            text = other[there[0] : there[1]]
            made = _put(now, here[0], here[1] - here[0], text, limit)
            if made is not None:
                return made
    return None


def _draw_part(data: bytes, what: int, rng: Rng) -> Span | None:
    """Begin and end of a part at or after a random position; None if there is none."""
    return _part_from(data, what, rng.position(len(data))) or _part_from(data, what, 0)


def _part_from(data: bytes, what: int, begin: int) -> Span | None:
    if what < _STRING:
        return _brackets(data, begin, *_BRACKETS[what])
    if what == _STRING:
        return next((s for s in _strings(data, begin) if s[1] > begin), None)
    if what == _STATEMENT:
        start = data.find(b";", begin)
        end = data.find(b";", start + 1) if start >= 0 else -1
        return None if end < 0 else (start + 1, end + 1)
    end = data.find(b"\n", begin)
    return data.rfind(b"\n", 0, begin) + 1, end + 1 if end >= 0 else len(data)


def _brackets(data: bytes, begin: int, open_: bytes, both: re.Pattern[bytes]) -> Span | None:
    start, depth = data.find(open_, begin), 0
    if start < 0:
        return None
    for match in both.finditer(data, start):
        depth += 1 if match[0] == open_ else -1
        if not depth:
            return start, match.end()
    return None


_QUOTED: Final = re.compile(rb'"(?:[^"\\\n]|\\.)*+(?:(")|\n|\\?\Z)', re.DOTALL)


def _strings(data: bytes, begin: int) -> Iterator[Span]:
    start = data.rfind(b"\n", 0, begin) + 1
    for match in _QUOTED.finditer(data, start):
        if match[1]:
            yield match.span()

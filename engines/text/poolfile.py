"""The pool file: what pool.c reads. Written whole, by rename.

Little-endian; tables behind each other, each used up in order (the first kind has the first
fragments, the first entry the first groups, ...)::

    header    64 B  char magic[16], u64 size of the file, u32 kinds, fragments, names, entries,
                    groups, spans, edits, u32 0, u64 size of the text
    kind      16 B  u32 first fragment, fragments, u32 text, u16 length, u16 0
    fragment  16 B  u32 text, u16 length, u16 names, u32 first name, u32 0
    name       8 B  u16 at, length, which of the distinct ones in the fragment, kind
    entry     24 B  u64 key (length << 32 | CRC-32), u32 first group, u16 groups of spans,
                    u16 groups of words, u32 first edit, u32 edits; by ascending key
    group      8 B  u16 kind, u16 spans, u32 first span
    span       8 B  u32 start, u16 length, u16 0
    edit      16 B  u32 start, u32 end, u32 text, u32 length
    text            what ``text`` above counts in
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from fuzztui.engines.text.fragments import SPAN, Entry, Fragment, Pool
from fuzztui.engines.text.syntax import Edit

__all__ = ["MOST_BYTES", "PoolError", "dump", "parse", "write"]

MAGIC: Final = b"fuzztui pool 1\n\0"
MOST_BYTES: Final = 64 << 20

_HEADER: Final = struct.Struct("<16sQ8IQ")
_KIND: Final = struct.Struct("<IIIHH")
_FRAGMENT: Final = struct.Struct("<IHHII")
_NAME: Final = struct.Struct("<4H")
_ENTRY: Final = struct.Struct("<QIHHII")
_GROUP: Final = struct.Struct("<HHI")
_EDIT: Final = struct.Struct("<4I")


class PoolError(Exception):
    """A file that is no whole pool, and why."""


# ----------------------------------------------------------------------------- writing


class _Text:
    """The bytes that others count in; the same ones are there once."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self._places: dict[bytes, int] = {}

    def place(self, text: bytes) -> int:
        at = self._places.setdefault(text, len(self.bytes))
        if at == len(self.bytes):
            self.bytes += text
        return at


def dump(pool: Pool) -> bytes:
    """The pool as a file."""
    text = _Text()
    used = {name[3] for all_ in pool.fragments.values() for f in all_ for name in f.names}
    for entry in pool.entries.values():
        used.update(kind for kind, _ in (*entry.groups, *entry.words))
    numbers = {kind: i for i, kind in enumerate(sorted(used | set(pool.fragments)))}
    kinds, fragments, names = bytearray(), bytearray(), bytearray()
    for kind in numbers:
        own: Sequence[Fragment] = pool.fragments.get(kind, ())
        word = kind.encode()
        kinds += _KIND.pack(
            len(fragments) // _FRAGMENT.size, len(own), text.place(word), len(word), 0
        )
        for fragment in own:
            first = len(names) // _NAME.size
            for at, n, group, of in fragment.names:
                names += _NAME.pack(at, n, group, numbers[of])
            size = len(fragment.text), len(fragment.names)
            fragments += _FRAGMENT.pack(text.place(fragment.text), *size, first, 0)
    entries, groups, spans, edits = bytearray(), bytearray(), bytearray(), bytearray()
    for key in sorted(pool.entries):
        entry = pool.entries[key]
        entries += _ENTRY.pack(
            key,
            len(groups) // _GROUP.size,
            len(entry.groups),
            len(entry.words),
            len(edits) // _EDIT.size,
            len(entry.edits),
        )
        for kind, places in (*entry.groups, *entry.words):
            first = len(spans) // SPAN.size
            groups += _GROUP.pack(numbers[kind], len(places) // SPAN.size, first)
            spans += places
        for start, end, made in entry.edits:
            edits += _EDIT.pack(start, end, text.place(made), len(made))
    tables = (kinds, fragments, names, entries, groups, spans, edits)
    counts = (len(table) // size for table, size in zip(tables, _SIZES, strict=True))
    whole = _HEADER.size + sum(map(len, tables)) + len(text.bytes)
    head = _HEADER.pack(MAGIC, whole, *counts, 0, len(text.bytes))
    return b"".join((head, *tables, text.bytes))


_SIZES: Final = tuple(
    s.size for s in (_KIND, _FRAGMENT, _NAME, _ENTRY, _GROUP, SPAN, _EDIT)
)  # fmt: skip


def write(path: Path, pool: Pool) -> int:
    """Write it, whole or not at all; returns its size in bytes. Raises OSError."""
    data = dump(pool)
    fresh = path.with_name(f"{path.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(fresh, flags, 0o600), "wb") as file:
        file.write(data)
    fresh.replace(path)
    return len(data)


# ----------------------------------------------------------------------------- reading


def parse(data: bytes) -> Pool:
    """The pool that a file holds. Raises :class:`PoolError`."""
    try:
        return _parse(data)
    except (struct.error, IndexError, UnicodeDecodeError):
        raise PoolError("it is not whole") from None


def _parse(data: bytes) -> Pool:
    magic, size, *counts, _, text_size = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise PoolError("it is no pool of this version")
    starts = [_HEADER.size]
    for n, each in zip(counts, _SIZES, strict=True):
        starts.append(starts[-1] + n * each)
    if size != len(data) or starts[-1] + text_size != size:
        raise PoolError("it is not whole")
    kinds_at, fragments_at, names_at, entries_at, groups_at, spans_at, edits_at, text_at = starts

    def text(at: int, n: int) -> bytes:
        if at + n > text_size:
            raise PoolError("a text is wrong")
        return data[text_at + at : text_at + at + n]

    kinds = []
    for i in range(counts[0]):
        first, n, at, length, _ = _KIND.unpack_from(data, kinds_at + i * _KIND.size)
        kinds.append((text(at, length).decode("ascii"), first, n))

    def fragment(i: int) -> Fragment:
        at, length, n, first, _ = _FRAGMENT.unpack_from(data, fragments_at + i * _FRAGMENT.size)
        names = []
        for j in range(first, first + n):
            begin, size, group, kind = _NAME.unpack_from(data, names_at + j * _NAME.size)
            names.append((begin, size, group, kinds[kind][0]))
        return Fragment(text(at, length), tuple(names))

    def group(i: int, length: int) -> tuple[str, bytes]:
        kind, n, first = _GROUP.unpack_from(data, groups_at + i * _GROUP.size)
        begin = spans_at + first * SPAN.size
        spans = data[begin : begin + n * SPAN.size]
        if not n or begin + len(spans) > edits_at or len(spans) != n * SPAN.size:
            raise PoolError("a group of spans is wrong")
        if any(start + size > length for start, size, _ in SPAN.iter_unpack(spans)):
            raise PoolError("a span is wrong")
        return kinds[kind][0], spans

    def edit(i: int, length: int) -> Edit:
        start, end, at, n = _EDIT.unpack_from(data, edits_at + i * _EDIT.size)
        if not start <= end <= length:
            raise PoolError("an edit is wrong")
        return start, end, text(at, n)

    fragments = {
        kind: tuple(fragment(i) for i in range(first, first + n)) for kind, first, n in kinds if n
    }

    def entry(i: int) -> Entry:
        row = _ENTRY.unpack_from(data, entries_at + i * _ENTRY.size)
        key, first, groups, words, first_edit, edits = row
        return Entry(
            tuple(group(j, key >> 32) for j in range(first, first + groups)),
            tuple(group(first + groups + j, key >> 32) for j in range(words)),
            tuple(edit(j, key >> 32) for j in range(first_edit, first_edit + edits)),
        )

    keys = _ENTRY.iter_unpack(data[entries_at:groups_at])
    return Pool(fragments, _Entries({row[0]: i for i, row in enumerate(keys)}, entry))


class _Entries(Mapping[int, Entry]):
    """Read when they are asked for: most never are. What is wrong is not there."""

    def __init__(self, places: dict[int, int], read: Callable[[int], Entry]) -> None:
        self._places, self._read = places, read

    def __getitem__(self, key: int) -> Entry:
        try:
            return self._read(self._places[key])
        except (PoolError, struct.error, IndexError):
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

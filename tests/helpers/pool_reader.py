"""The pool file read back in Python, as pool.c reads it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from fuzztui.engines.text.edits import Edit
from fuzztui.engines.text.fragments import SPAN, EntryFragments, Fragment, Pool
from fuzztui.engines.text.poolfile import (
    _EDIT,
    _ENTRY,
    _FRAGMENT,
    _GROUP,
    _HEADER,
    _KIND,
    _NAME,
    _SIZES,
    MAGIC,
)  # fmt: skip

MAX_BYTES: Final = 64 << 20


class PoolError(Exception):
    """A file that is no whole pool, and why."""


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

    def entry(i: int) -> EntryFragments:
        row = _ENTRY.unpack_from(data, entries_at + i * _ENTRY.size)
        key, first, groups, words, first_edit, edits = row
        return EntryFragments(
            tuple(group(j, key >> 32) for j in range(first, first + groups)),
            tuple(group(first + groups + j, key >> 32) for j in range(words)),
            tuple(edit(j, key >> 32) for j in range(first_edit, first_edit + edits)),
        )

    keys = _ENTRY.iter_unpack(data[entries_at:groups_at])
    return Pool(fragments, _Entries({row[0]: i for i, row in enumerate(keys)}, entry))


class _Entries(Mapping[int, EntryFragments]):
    """Read when they are asked for: most never are. What is wrong is not there."""

    def __init__(self, places: dict[int, int], read: Callable[[int], EntryFragments]) -> None:
        self._places, self._read = places, read

    def __getitem__(self, key: int) -> EntryFragments:
        try:
            return self._read(self._places[key])
        except (PoolError, struct.error, IndexError):
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

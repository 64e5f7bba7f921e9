"""The pool file, which pool.c reads. It is written completely and then renamed.

Little-endian; tables one after the other, each of them used in order (the first kind has the first
fragments, the first entry has the first groups, ...)::

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
    text            the bytes to which the offsets ``text`` above refer
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fuzztui.engines.text.fragments import SPAN, Fragment, Pool
from fuzztui.kernel.base.atomic import replace_bytes

MAGIC: Final = b"fuzztui pool 1\n\0"

_HEADER: Final = struct.Struct("<16sQ8IQ")
_KIND: Final = struct.Struct("<IIIHH")
_FRAGMENT: Final = struct.Struct("<IHHII")
_NAME: Final = struct.Struct("<4H")
_ENTRY: Final = struct.Struct("<QIHHII")
_GROUP: Final = struct.Struct("<HHI")
_EDIT: Final = struct.Struct("<4I")


class _Text:
    """The text section; equal texts are stored once."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self._places: dict[bytes, int] = {}

    def place(self, text: bytes) -> int:
        at = self._places.setdefault(text, len(self.bytes))
        if at == len(self.bytes):
            self.bytes += text
        return at


def dump(pool: Pool) -> bytes:
    """The content of the pool file."""
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
    """Write the pool file atomically. Returns its size in bytes. Raises OSError."""
    data = dump(pool)
    replace_bytes(path, data)
    return len(data)

"""A reader for "crate", a small archive format. There is a bug in it: let zest find it.

::

    "CRATE1"  flags:u8  count:u16  entries...  [sum:u16 if flags & 1]
    entry:   kind:u8  name:u8+utf8  body
    body:    "D" nothing | "F" size:u16 bytes | "P" size:u16 packed bytes | "L" index:u16
    packed:  c < 0x80: c + 1 literal bytes
             c >= 0x80: copy (c & 0x7f) + 2 bytes from `back` (u8) + 1 before the end

Numbers are little endian.
"""

from __future__ import annotations

from dataclasses import dataclass

MAGIC = b"CRATE1"
SUMMED, SORTED = 1, 2
MAX_ENTRIES = 64


class FormatError(Exception):
    """These bytes are no crate."""


@dataclass
class Entry:
    kind: str
    name: str
    data: bytes = b""
    link: int = -1


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, n: int) -> bytes:
        if self.at + n > len(self.data):
            raise FormatError(f"cut off at {self.at}")
        self.at += n
        return self.data[self.at - n : self.at]

    def u8(self) -> int:
        return self.take(1)[0]

    def u16(self) -> int:
        return int.from_bytes(self.take(2), "little")


def unpack(reader: Reader, size: int) -> bytes:
    out = bytearray()
    while len(out) < size:
        control = reader.u8()
        if control < 0x80:
            out += reader.take(control + 1)
            continue
        back = reader.u8()
        if back > len(out):
            raise FormatError(f"copies from {back + 1} before the end of {len(out)} bytes")
        start = len(out) - back - 1
        for i in range((control & 0x7F) + 2):
            out.append(out[start + i])
    if len(out) > size:
        raise FormatError(f"unpacks to {len(out)} bytes, not {size}")
    return bytes(out)


def read_entry(reader: Reader) -> Entry:
    kind = chr(reader.u8())
    try:
        name = reader.take(reader.u8()).decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError("a name is not UTF-8") from None
    if not name or name.startswith("/") or ".." in name.split("/"):
        raise FormatError(f"unsafe name {name!r}")
    entry = Entry(kind, name)
    if kind == "F":
        entry.data = reader.take(reader.u16())
    elif kind == "P":
        entry.data = unpack(reader, reader.u16())
    elif kind == "L":
        entry.link = reader.u16()
    elif kind != "D":
        raise FormatError(f"unknown kind {kind!r}")
    return entry


def resolve(entries: list[Entry], entry: Entry) -> Entry:
    seen = set()
    while entry.kind == "L":
        if entry.link in seen or entry.link >= len(entries):
            raise FormatError(f"{entry.name} links to nowhere")
        seen.add(entry.link)
        entry = entries[entry.link]
    return entry


def extract(data: bytes) -> dict[str, bytes]:
    """The files of a crate by name; raises FormatError."""
    reader = Reader(data)
    if reader.take(len(MAGIC)) != MAGIC:
        raise FormatError("no magic")
    flags, count = reader.u8(), reader.u16()
    if count > MAX_ENTRIES:
        raise FormatError("too many entries")
    entries = [read_entry(reader) for _ in range(count)]
    names = [entry.name for entry in entries]
    if len(set(names)) != len(names):
        raise FormatError("a name twice")
    if flags & SORTED and names != sorted(names):
        raise FormatError("not sorted")
    if flags & SUMMED and reader.u16() != sum(data[: reader.at - 2]) & 0xFFFF:
        raise FormatError("wrong sum")
    files = {}
    for entry in entries:
        found = resolve(entries, entry)
        if found.kind != "D":
            files[entry.name] = found.data
    return files

"""Gzip members that say where they end and what they hold.

As in BGZF (the SAM/BAM specification, section 4.1), each member's header has an
"extra field" (RFC 1952, 2.3.1.1) that holds the member's whole size, so that one
hops from header to header without decompressing; ours adds which records are
inside. To gzip, zcat and zgrep it is an ordinary file.

Subfield ``FZ``, little endian: u8 kind, u32 size of the whole member, u32 count,
u64 first and last sequence number, f64 first and last campaign time, u32 CRC of these.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from fuzztui.log.files import LogError, read_at

__all__ = [
    "CHANGES",
    "HEAD",
    "RECORDS",
    "Block",
    "BlockError",
    "Span",
    "find_next",
    "pack",
    "unpack",
    "walk",
]

RECORDS, CHANGES, HEAD = 0, 1, 2
"""Kinds of members: records of the log; the two parts of a checkpoint."""

# magic, deflate, FEXTRA; no time, no flags, unknown system; XLEN, subfield FZ
_FIELDS = struct.Struct("<BIIQQdd")
_CRC = struct.Struct("<I")
_PAYLOAD_SIZE = _FIELDS.size + _CRC.size
_PREFIX = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff" + struct.pack(
    "<H2sH", 4 + _PAYLOAD_SIZE, b"FZ", _PAYLOAD_SIZE
)
HEADER_SIZE = len(_PREFIX) + _PAYLOAD_SIZE
_TRAILER = struct.Struct("<II")

LARGEST = 256 << 20
"""A member that unpacks to more than this is refused: we never write one."""

_SEARCH = 1 << 20


class BlockError(LogError):
    """A member is damaged."""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of records: sequence numbers and campaign times of the first and last."""

    first: int
    last: int
    t0: float
    t1: float
    count: int


@dataclass(frozen=True, slots=True)
class Block(Span):
    """One member's place in its file, and what its header says."""

    offset: int
    size: int
    kind: int

    @property
    def end(self) -> int:
        """The offset after it."""
        return self.offset + self.size


def pack(data: bytes, kind: int, span: Span, level: int = 6) -> bytes:
    """One member. Compressing lets other threads run."""
    compressor = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = compressor.compress(data) + compressor.flush()
    size = HEADER_SIZE + len(body) + _TRAILER.size
    fields = _FIELDS.pack(kind, size, span.count, span.first, span.last, span.t0, span.t1)
    header = _PREFIX + fields + _CRC.pack(zlib.crc32(fields))
    return header + body + _TRAILER.pack(zlib.crc32(data), len(data) & 0xFFFFFFFF)


def unpack(fd: int, block: Block) -> bytes:
    """A member's content, verified. Raises :class:`BlockError`."""
    raw = read_at(fd, block.offset, block.size)
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        data = inflate.decompress(raw, LARGEST)
    except zlib.error as e:
        raise BlockError(f"the block at byte {block.offset} is damaged ({e})") from None
    if not inflate.eof:
        why = "is cut off" if len(data) < LARGEST else f"unpacks to more than {LARGEST >> 20} MiB"
        raise BlockError(f"the block at byte {block.offset} {why}")
    return data


def walk(fd: int, offset: int, size: int, after: int = 0) -> Iterator[Block]:
    """The complete members between ``offset`` and ``size``, by their headers alone.

    Ends at the first bytes that are no such member, or where members would go back
    to or before record ``after`` (for kinds other than :data:`RECORDS`: before it).
    """
    while offset + HEADER_SIZE <= size:
        header = read_at(fd, offset, HEADER_SIZE)
        if len(header) < HEADER_SIZE or not header.startswith(_PREFIX):
            return
        fields = header[len(_PREFIX) : -_CRC.size]
        if _CRC.unpack(header[-_CRC.size :])[0] != zlib.crc32(fields):
            return
        kind, length, count, first, last, t0, t1 = _FIELDS.unpack(fields)
        sound = (
            length > HEADER_SIZE
            and offset + length <= size
            and (after < first if kind == RECORDS else after <= first)
            and first <= last < 1 << 63
            and 0 <= t0 <= t1 < float("inf")
        )
        if not sound:
            return
        yield Block(first, last, t0, t1, count, offset, length, kind)
        offset += length
        after = last


def find_next(fd: int, offset: int, size: int, after: int) -> int:
    """Where the next sound member begins behind damage at ``offset``; -1 if there is none."""
    overlap = len(_PREFIX) - 1
    while offset < size:
        chunk = read_at(fd, offset, _SEARCH + overlap)
        at = chunk.find(_PREFIX)
        while at >= 0:
            if next(walk(fd, offset + at, size, after), None):
                return offset + at
            at = chunk.find(_PREFIX, at + 1)
        offset += _SEARCH
    return -1

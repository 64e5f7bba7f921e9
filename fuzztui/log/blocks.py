"""Gzip members that say where they end and what they hold.

As in BGZF (the SAM/BAM specification, section 4.1), each member's header has an
"extra field" (RFC 1952, 2.3.1.1) that holds the member's whole size, so that one
hops from header to header without decompressing; ours adds which records are
inside. To gzip, zcat and zgrep it is an ordinary file.

Subfield ``FZ``, little endian: u8 kind, u32 size of the whole member, u32 count,
u64 first and last sequence number, f64 first and last campaign time, u32 log, 16 times u32 CRC
of a part of everything behind the header, u32 CRC of these fields. ``log`` is a number that all
members of one log have in common. By the CRCs of the compressed bytes a whole log is verified
without inflating (130 MB take 0.15 s, inflating them 4.9 s), and of a damaged member it is known
how far it is sound: deflate itself may go on behind damage and give wrong bytes. Members of
earlier versions have neither: they are inflated to be verified.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fuzztui.log.files import LogError, read_at

__all__ = [
    "CHANGES",
    "END",
    "HEAD",
    "RECORDS",
    "BlockError",
    "RecordRange",
    "SealedBlock",
    "find_next",
    "is_intact",
    "is_torn_end",
    "pack",
    "read_header",
    "unpack",
    "unpack_damaged",
    "walk",
]

RECORDS, CHANGES, HEAD, END = 0, 1, 2, 3
"""Kinds of members: records of the log; the two parts of a checkpoint; the (empty) end of a
log whose writer closed it, with the sequence number and time of its last record."""

_FIELDS = struct.Struct("<BIIQQdd")
PARTS = 16
_LOG = struct.Struct("<I")
_CRCS = struct.Struct(f"<{PARTS}I")
_CRC = struct.Struct("<I")


def _prefix(payload: int) -> bytes:
    """Magic, deflate, FEXTRA; no time, no flags, unknown system; XLEN, subfield FZ."""
    return b"\x1f\x8b\x08\x04\0\0\0\0\0\xff" + struct.pack("<H2sH", 4 + payload, b"FZ", payload)


_OLD_PAYLOAD = _FIELDS.size + _CRC.size
_PAYLOAD = _FIELDS.size + _LOG.size + _CRCS.size + _CRC.size
_OLD_PREFIX, _PREFIX = _prefix(_OLD_PAYLOAD), _prefix(_PAYLOAD)
OLD_HEADER_SIZE = len(_OLD_PREFIX) + _OLD_PAYLOAD
HEADER_SIZE = len(_PREFIX) + _PAYLOAD
_START = _PREFIX[:10]
"""What a member of either version starts with."""

_TRAILER = struct.Struct("<II")
END_SIZE = HEADER_SIZE + 2 + _TRAILER.size
"""Bytes of an :data:`END` member: deflate makes two bytes of nothing."""

LARGEST = 256 << 20
"""A member that unpacks to more than this is refused: we never write one."""

_SEARCH = 1 << 20


class BlockError(LogError):
    """A member is damaged."""


@dataclass(frozen=True, slots=True)
class RecordRange:
    """A run of records: sequence numbers and campaign times of the first and last."""

    first: int
    last: int
    t0: float
    t1: float
    count: int


@dataclass(frozen=True, slots=True)
class SealedBlock(RecordRange):
    """One member's place in its file, and what its header says."""

    offset: int
    size: int
    kind: int
    log: int = 0
    """The log that it is a member of; 0: a member of an earlier version, which has neither."""
    crcs: bytes = b""
    """Of the parts of all bytes behind the header, packed."""
    damaged: bool = False
    """No sound member: the span is that of the records that could be recovered."""

    @property
    def end(self) -> int:
        """The offset after it."""
        return self.offset + self.size


def pack(data: bytes, kind: int, span: RecordRange, level: int = 6, log: int = 1) -> bytes:
    """One member. Compressing lets other threads run."""
    compressor = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = compressor.compress(data) + compressor.flush()
    body += _TRAILER.pack(zlib.crc32(data), len(data) & 0xFFFFFFFF)
    size = HEADER_SIZE + len(body)
    fields = _FIELDS.pack(kind, size, span.count, span.first, span.last, span.t0, span.t1)
    fields += _LOG.pack(log) + _CRCS.pack(*(zlib.crc32(part) for part in _parts(body)))
    return b"".join((_PREFIX, fields, _CRC.pack(zlib.crc32(fields)), body))


def unpack(fd: int, block: SealedBlock) -> bytes:
    """A member's content, verified. Raises :class:`BlockError`."""
    raw = read_at(fd, block.offset, block.size)
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        data = inflater.decompress(raw, LARGEST)
    except zlib.error as e:
        raise BlockError(f"the block at byte {block.offset} is damaged ({e})") from None
    if not inflater.eof:
        why = "is cut off" if len(data) < LARGEST else f"unpacks to more than {LARGEST >> 20} MiB"
        raise BlockError(f"the block at byte {block.offset} {why}")
    return data


def is_intact(fd: int, block: SealedBlock) -> bool:
    """Whether no byte of a member was changed behind its header, which :func:`walk` verified."""
    if block.log:
        body = read_at(fd, block.offset + HEADER_SIZE, block.size - HEADER_SIZE)
        return _sound_bytes(block, body) == block.size - HEADER_SIZE
    try:
        unpack(fd, block)
    except BlockError:
        return False
    return True


def is_torn_end(start: int, size: int, last: int, tails: Iterable[int]) -> bool:
    """Whether the bytes from ``start`` to the file's ``size`` are the beginning of an end mark.

    ``last``: the last record before them. ``tails``: the first records of the tails that there
    are. A log that is being closed has the tail of its last member until the mark is written.
    """
    return size - start < END_SIZE and any(first <= last for first in tails)


def _parts(body: bytes, size: int = -1) -> list[bytes]:
    """The parts of a body that is, or should be, ``size`` bytes long; the last may be empty."""
    part = -(-(len(body) if size < 0 else size) // PARTS)
    return [body[n * part : (n + 1) * part] for n in range(PARTS)]


def _sound_bytes(block: SealedBlock, body: bytes) -> int:
    """How many bytes of a member's body, from its beginning, are as they were written."""
    parts = _parts(body, block.size - HEADER_SIZE)
    sound = 0
    for part, crc in zip(parts, _CRCS.unpack(block.crcs), strict=True):
        if zlib.crc32(part) != crc:
            break
        sound += len(part)
    return sound


def unpack_damaged(raw: bytes, block: SealedBlock | None) -> tuple[bytes, bool]:
    """What a damaged member certainly unpacked to, and whether that is all of it.

    ``raw`` begins where the member did; ``block`` is what its header says, if that is sound.
    """
    for header in (HEADER_SIZE, OLD_HEADER_SIZE):
        data, rest = _inflate(raw[header:])
        if rest[: _TRAILER.size] == _TRAILER.pack(zlib.crc32(data), len(data)):
            return data, True
    if block is None:
        return b"", False
    if block.log:
        body = raw[HEADER_SIZE:]
        return _inflate(body[: _sound_bytes(block, body)])[0], False
    # Without CRCs only a member that was cut off is known to be right up to there.
    return _inflate(raw[OLD_HEADER_SIZE:])[0] if len(raw) < block.size else b"", False


def _inflate(body: bytes) -> tuple[bytes, bytes]:
    """What a body unpacks to, and the bytes behind it; nothing where that is impossible."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = inflater.decompress(body, LARGEST)
    except zlib.error:
        return b"", b""
    return data, inflater.unused_data if inflater.eof else b""


def walk(fd: int, offset: int, size: int, after: int | None = 0) -> Iterator[SealedBlock]:
    """The complete members between ``offset`` and ``size``, by their headers alone.

    Ends at the first bytes that are no such member, or where members would go back
    to or before record ``after`` (for kinds other than :data:`RECORDS`: before it).
    ``after`` None: members in any order.
    """
    while (block := read_header(fd, offset)) is not None and block.end <= size:
        if after is not None:
            if block.first < after or (block.kind == RECORDS and block.first == after):
                return
            after = block.last
        yield block
        offset = block.end


def read_header(fd: int, offset: int) -> SealedBlock | None:
    """The member whose header is at ``offset``, complete or not; None without a sound header."""
    header = read_at(fd, offset, HEADER_SIZE)
    if header.startswith(_PREFIX):
        whole = HEADER_SIZE
    elif header.startswith(_OLD_PREFIX):
        whole = OLD_HEADER_SIZE
    else:
        return None
    payload = header[len(_PREFIX) : whole]
    fields, crc = payload[: -_CRC.size], payload[-_CRC.size :]
    if len(header) < whole or _CRC.unpack(crc)[0] != zlib.crc32(fields):
        return None
    kind, length, count, first, last, t0, t1 = _FIELDS.unpack_from(fields)
    log, crcs = 0, fields[_FIELDS.size + _LOG.size :]
    if whole == HEADER_SIZE:
        (log,) = _LOG.unpack_from(fields, _FIELDS.size)
    sound = length > whole and first <= last < 1 << 63 and 0 <= t0 <= t1 < float("inf")
    return (
        SealedBlock(first, last, t0, t1, count, offset, length, kind, log, crcs) if sound else None
    )


def find_next(fd: int, offset: int, size: int) -> int:
    """Where the next sound member begins behind damage at ``offset``; -1 if there is none."""
    overlap = len(_START) - 1
    while offset < size:
        chunk = read_at(fd, offset, _SEARCH + overlap)
        at = chunk.find(_START)
        while at >= 0:
            block = read_header(fd, offset + at)
            if block is not None and block.end <= size:
                return offset + at
            at = chunk.find(_START, at + 1)
        offset += _SEARCH
    return -1

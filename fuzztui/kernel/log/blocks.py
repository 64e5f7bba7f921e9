"""Gzip members whose headers contain the member's size and the range of its records.

As in BGZF (the SAM/BAM specification, section 4.1), each member's header has an
"extra field" (RFC 1952, 2.3.1.1) with the member's whole size, so that a reader can
go from header to header without decompressing. fuzztui adds which records are inside.
gzip, zcat and zgrep read the file as an ordinary one.

Subfield ``FZ``, little endian: u8 kind, u32 size of the whole member, u32 count,
u64 first and last sequence number, f64 first and last campaign time, u32 log, 16 times u32 CRC
of a part of everything behind the header, u32 CRC of these fields. ``log`` is a number that all
members of one log share. The CRCs of the compressed bytes verify a whole log without inflating
(130 MB take 0.15 s, inflating them 4.9 s). They also show up to where a damaged member is sound:
deflate itself may continue behind damage and give wrong bytes. Members of earlier versions have
neither ``log`` nor CRCs of parts: they are inflated to be verified.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fuzztui.kernel.log.files import LogError, read_at

RECORDS, CHANGES, HEAD, END = 0, 1, 2, 3
"""Kinds of members: records of the log; the two parts of a checkpoint; the (empty) end mark of
a closed log, with the sequence number and time of its last record."""

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
"""The first bytes of a member, in both versions."""

_TRAILER = struct.Struct("<II")
END_SIZE = HEADER_SIZE + 2 + _TRAILER.size
"""Bytes of an :data:`END` member: deflate compresses empty content to two bytes."""

LARGEST = 256 << 20
"""Bytes. A member that unpacks to more is rejected: fuzztui never writes one."""

_SEARCH = 1 << 20


class BlockError(LogError):
    """A member is damaged."""


@dataclass(frozen=True, slots=True)
class RecordRange:
    """Consecutive records: sequence numbers and campaign times of the first and last."""

    first: int
    last: int
    t0: float
    t1: float
    count: int


@dataclass(frozen=True, slots=True)
class SealedBlock(RecordRange):
    """The position of one member in its file, and the content of its header."""

    offset: int
    size: int
    kind: int
    log: int = 0
    """The number of the log; 0: a member of an earlier version, which has no CRCs either."""
    crcs: bytes = b""
    """CRCs of the parts of all bytes behind the header, packed."""
    damaged: bool = False
    """Whether the member is damaged: its range is that of the recovered records."""

    @property
    def end(self) -> int:
        """The offset behind the last byte."""
        return self.offset + self.size


def pack(data: bytes, kind: int, span: RecordRange, level: int = 6, log: int = 1) -> bytes:
    """Return one member with ``data``. Other threads run during the compression."""
    compressor = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = compressor.compress(data) + compressor.flush()
    body += _TRAILER.pack(zlib.crc32(data), len(data) & 0xFFFFFFFF)
    size = HEADER_SIZE + len(body)
    fields = _FIELDS.pack(kind, size, span.count, span.first, span.last, span.t0, span.t1)
    fields += _LOG.pack(log) + _CRCS.pack(*(zlib.crc32(part) for part in _parts(body)))
    return b"".join((_PREFIX, fields, _CRC.pack(zlib.crc32(fields)), body))


def unpack(fd: int, block: SealedBlock) -> bytes:
    """Return the verified content of a member. Raises :class:`BlockError`."""
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
    """Whether all bytes behind the header are as written; :func:`walk` verified the header."""
    if block.log:
        body = read_at(fd, block.offset + HEADER_SIZE, block.size - HEADER_SIZE)
        return _sound_bytes(block, body) == block.size - HEADER_SIZE
    try:
        unpack(fd, block)
    except BlockError:
        return False
    return True


def is_torn_end(start: int, size: int, last: int, tails: Iterable[int]) -> bool:
    """Whether the bytes from ``start`` to the file's ``size`` are the first part of an end mark.

    ``last``: the last record before these bytes. ``tails``: the first record of each tail. While
    a log is being closed, the tail of its last member exists until the end mark is written.
    """
    return size - start < END_SIZE and any(first <= last for first in tails)


def _parts(body: bytes, size: int = -1) -> list[bytes]:
    """The parts of a body that is, or should be, ``size`` bytes long; the last may be empty."""
    part = -(-(len(body) if size < 0 else size) // PARTS)
    return [body[n * part : (n + 1) * part] for n in range(PARTS)]


def _sound_bytes(block: SealedBlock, body: bytes) -> int:
    """The number of leading bytes of a member's body that are as written."""
    parts = _parts(body, block.size - HEADER_SIZE)
    sound = 0
    for part, crc in zip(parts, _CRCS.unpack(block.crcs), strict=True):
        if zlib.crc32(part) != crc:
            break
        sound += len(part)
    return sound


def unpack_damaged(raw: bytes, block: SealedBlock | None) -> tuple[bytes, bool]:
    """Return the certainly correct content of a damaged member, and whether it is complete.

    ``raw`` begins at the member's first byte. ``block``: its header; None if that is damaged.
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
    # Without CRCs, only a member that was cut off is known to be correct up to the cut.
    return _inflate(raw[OLD_HEADER_SIZE:])[0] if len(raw) < block.size else b"", False


def _inflate(body: bytes) -> tuple[bytes, bytes]:
    """The inflated body and the bytes behind it; both empty if the body cannot be inflated."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = inflater.decompress(body, LARGEST)
    except zlib.error:
        return b"", b""
    return data, inflater.unused_data if inflater.eof else b""


def walk(fd: int, offset: int, size: int, after: int | None = 0) -> Iterator[SealedBlock]:
    """Yield the complete members between ``offset`` and ``size``, reading only their headers.

    Ends at the first bytes that are not a complete member, or at a member that begins with
    record ``after`` or an earlier one (kinds other than :data:`RECORDS`: with an earlier one).
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
    """The member with its header at ``offset``, complete or not; None without a sound header."""
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
    """The offset of the next sound member behind damage at ``offset``; -1 if there is none."""
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

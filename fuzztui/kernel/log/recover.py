"""Repair a log whose last writer was killed, or whose bytes are damaged.

Only bytes that cannot be a record are removed: a torn last line, or a torn last member, whose
records are still in a tail. Other damaged bytes are copied to another file, and replaced by the
records that can be recovered. Members are sorted by their records. A
:class:`~fuzztui.kernel.wire.events.RecordsLost` takes the numbers of all other records: the log has
no gaps, ``zcat`` reads the file, and statistics are still marked as lower bounds. SIGKILL at any
moment leaves the old file or the new one, and all files that the next repair needs: checkpoints,
which may prove that the log was longer, are renamed before the first change and removed after the
last.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from fuzztui.kernel.base.atomic import replace_bytes, replacing, write_all
from fuzztui.kernel.base.files import closing_fd
from fuzztui.kernel.log.blocks import (
    END,
    END_SIZE,
    RECORDS,
    RecordRange,
    SealedBlock,
    find_next,
    is_intact,
    is_torn_end,
    pack,
    read_header,
    walk,
)
from fuzztui.kernel.log.checkpoints import last_noted_record
from fuzztui.kernel.log.files import (
    CHECKPOINTS,
    SEALED,
    STALE,
    LogError,
    list_tails,
    open_regular,
    read_at,
    tail_name,
)
from fuzztui.kernel.log.lines import (
    Problems,
    Recovered,
    decode_lines,
    first_of,
    missing_text,
    recover,
    span_of,
)
from fuzztui.kernel.wire.codec import CodecError, decode_record, encode_record
from fuzztui.kernel.wire.events import Record, RecordsLost

_COPY = 1 << 20


@dataclass(frozen=True, slots=True)
class Leftover:
    """A tail that an earlier writer left: whole lines of ``size`` bytes, and their records."""

    path: Path
    size: int
    span: RecordRange | None
    """None: the tail is empty, or its first line was torn."""


@dataclass(slots=True)
class Mended:
    """A repaired log, to which records can be appended."""

    fd: int
    """Descriptor of the sealed file, locked."""
    last: int = 0
    t: float = 0.0
    """Number and time of the last sealed record."""
    log: int = 0
    """The log number in the members; 0: no member has one."""
    tails: list[Leftover] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    """Messages: the damage, and how it was repaired."""


def mend(fd: int, sealed: Path) -> Mended:
    """Repair a log directory. Closes ``fd``, of its sealed file, if the repair replaced the file.

    Raises :class:`LogError`, OSError.
    """
    directory = sealed.parent
    known, by = last_noted_record(directory)
    firsts = [first for first, _ in list_tails(directory)]
    mended = Mended(fd)
    try:
        ends_well = _mend_sealed(mended, sealed, firsts)
        if not ends_well and firsts and firsts[-1] <= mended.last:
            # The log was being closed. Its last tail is removed now, so the end mark is needed.
            _write_end(mended, mended.fd)
            ends_well = True
        _take_tails(directory, mended)
        last = max((t.span.last for t in mended.tails if t.span), default=mended.last)
        if known > last:
            _note_lost_end(mended, directory, last + 1, known, f", as {by.name} shows")
        elif not ends_well and not mended.tails:
            _note_lost_end(mended, directory, last + 1, last + 1, "")
        with suppress(FileNotFoundError):
            (directory / STALE).unlink()
    except BaseException:
        os.close(mended.fd)
        raise
    return mended


def _retire_checkpoints(directory: Path) -> None:
    """Rename the checkpoints before a change: they count records that the log will not have."""
    with suppress(FileNotFoundError):
        (directory / CHECKPOINTS).replace(directory / STALE)


def _note_lost_end(mended: Mended, directory: Path, first: int, last: int, by: str) -> None:
    """Add a tail with a `RecordsLost` for the records lost at the end of the log."""
    why = f"{SEALED}: {missing_text(first, last)} at the end of the log{by}"
    if not by:
        why = f"{SEALED}: the end is missing, after record {first - 1}"
    t = max((tail.span.t1 for tail in mended.tails if tail.span), default=mended.t)
    lost = [Record(last, t, RecordsLost(first, why))]
    _retire_checkpoints(directory)
    leftover = _put(directory / tail_name(first), lost)
    # An empty tail, which was only created, has the same name.
    mended.tails = [tail for tail in mended.tails if tail.path != leftover.path] + [leftover]
    mended.repairs.append(why)


def lock(fd: int, directory: Path) -> None:
    """Raise :class:`LogError` if another process writes the log."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LogError(f"{directory}: another process writes this log; stop it first") from None
    except OSError:
        pass  # a file system without locks: the supervisor's own lock must suffice


# ------------------------------------------------------------ the sealed file


@dataclass(frozen=True, slots=True)
class _Piece:
    """Bytes of the sealed file: a sound member, or damage (maybe with a sound header)."""

    start: int
    stop: int
    block: SealedBlock | None
    sound: bool


def _mend_sealed(mended: Mended, path: Path, firsts: Collection[int]) -> bool:
    """Repair the sealed file. Return whether the file ends as its writer left it.

    ``firsts``: the first record of each tail.
    """
    fd = mended.fd
    size = os.fstat(fd).st_size
    pieces = list(_pieces(fd, size))
    # A power cut may leave a last member with holes; its tail still exists.
    while pieces and not pieces[-1].sound and _last_of(pieces[:-1]) + 1 in firsts:
        pieces.pop()
    if pieces and is_torn_end(pieces[-1].start, size, _last_of(pieces), firsts):
        pieces.pop()
    end = pieces[-1].stop if pieces else 0
    mended.log = next((p.block.log for p in pieces if p.block and p.block.log), 0)
    if not _unbroken(pieces):
        return _rewrite(mended, path, pieces, _sorted(mended, pieces))
    if end < size:
        os.ftruncate(fd, end)
    sealed = [p.block for p in pieces if p.block and p.block.kind == RECORDS]
    if sealed:
        mended.last, mended.t = sealed[-1].last, sealed[-1].t1
    last = pieces[-1].block if pieces else None
    return last is None or last.log == 0 or last.kind != RECORDS


def _pieces(fd: int, size: int) -> Iterator[_Piece]:
    end = log = 0
    while end < size:
        for block in walk(fd, end, size, None):
            ours = not (log and block.log) or block.log == log
            log = log or block.log
            yield _Piece(block.offset, block.end, block, ours and is_intact(fd, block))
            end = block.end
        if end < size:
            sound = find_next(fd, end + 1, size)
            stop = sound if sound >= 0 else size
            yield _Piece(end, stop, read_header(fd, end), False)
            end = stop


def _last_of(pieces: Iterable[_Piece]) -> int:
    return max((p.block.last for p in pieces if p.block), default=0)


def _unbroken(pieces: Iterable[_Piece]) -> bool:
    last = 0
    for piece in pieces:
        block = piece.block
        if not piece.sound or block is None:
            return False
        if block.first != (last + 1 if block.kind == RECORDS else last):
            return False
        last = block.last
    return True


def _sorted(mended: Mended, pieces: list[_Piece]) -> list[_Piece]:
    """Sort pieces by their records; a piece without records stays behind its predecessor."""
    keys: list[tuple[int, bool]] = []
    for piece in pieces:
        key = keys[-1] if keys else (0, False)
        block = piece.block
        if block is None:
            raw = read_at(mended.fd, piece.start, piece.stop - piece.start)
            if found := recover(raw, None, 0).records:
                key = (first_of(found[0]), False)
        elif _is_ours(mended, block):
            key = (block.first, block.kind == END)  # the end mark behind a member of one record
        keys.append(key)
    order = sorted(range(len(pieces)), key=keys.__getitem__)
    return [pieces[n] for n in order]


def _is_ours(mended: Mended, block: SealedBlock) -> bool:
    return not block.log or block.log == mended.log


def _rewrite(mended: Mended, path: Path, found: list[_Piece], pieces: list[_Piece]) -> bool:
    """Replace the damaged file by a sound one. Return whether the file ends as a writer left it.

    ``found``: the pieces in file order; ``pieces``: in the order of their records.
    """
    old = mended.fd
    new = -1
    if found != pieces:
        text = "its parts were not in the order of their records; they were sorted"
        mended.repairs.append(f"{path.name}: {text}")
    try:
        with replacing(path, sync=True) as part:
            new = os.dup(part)  # with its lock
            fcntl.fcntl(new, fcntl.F_SETFL, os.O_APPEND)
            ends_well = True
            for piece in pieces:
                ends_well = _write_piece(mended, new, path, piece)
            closed = pieces[-1].block is not None and pieces[-1].block.kind == END
            if ends_well and mended.log and mended.last and not (closed and pieces[-1].sound):
                _write_end(mended, new)
            _retire_checkpoints(path.parent)
    except BaseException:
        if new >= 0:
            os.close(new)
        raise
    os.close(old)
    mended.fd = new
    return ends_well


def _write_piece(mended: Mended, fd: int, path: Path, piece: _Piece) -> bool:
    """Copy a sound piece, or recover it. Return whether the log may have ended with it."""
    block = piece.block
    if piece.sound and block is not None and block.kind == RECORDS and block.first > mended.last:
        _write_gap(mended, fd, block.first - 1)
        mended.last, mended.t = block.last, max(mended.t, block.t1)
        _copy(mended.fd, fd, piece)
        return not block.log
    if piece.sound and block is not None and block.kind == END and block.last >= mended.last:
        _write_gap(mended, fd, block.last)
        _copy(mended.fd, fd, piece)
        return True
    return _write_recovered(mended, fd, path, piece)


def _write_gap(mended: Mended, fd: int, last: int) -> None:
    """Write a `RecordsLost` for the missing records up to ``last``, if there are any."""
    if last > mended.last:
        text = f"{SEALED}: {missing_text(mended.last + 1, last)}"
        lost = Record(last, mended.t, RecordsLost(mended.last + 1, text))
        mended.repairs.append(text)
        _write_member(mended, fd, [lost])


def _write_end(mended: Mended, fd: int) -> None:
    end = RecordRange(mended.last, mended.last, mended.t, mended.t, 0)
    write_all(fd, pack(b"", END, end, log=mended.log or 1))


def _write_recovered(mended: Mended, fd: int, path: Path, piece: _Piece) -> bool:
    """Copy a piece aside and write its records. Return whether the log may have ended with it."""
    raw = read_at(mended.fd, piece.start, piece.stop - piece.start)
    aside = _put_aside(path.with_name(f"{path.name}.damaged-{piece.start}"), raw)
    block = piece.block
    of_log = block is None or _is_ours(mended, block)
    found = recover(raw, block, mended.last) if of_log else Recovered([], False)
    ends_well = len(raw) == END_SIZE or (found.whole and not (found.records and mended.log))
    upto = block.last if block is not None and block.kind == RECORDS and of_log else 0
    last = found.records[-1].seq if found.records else mended.last
    what = f"{path.name}: bytes {piece.start:,} to {piece.stop:,}"
    if not of_log:
        text = f"{what} were part of another log"
    elif piece.sound:
        text = f"{what} repeated records of other parts"
    elif upto > last:
        text = f"{what} were damaged: {missing_text(last + 1, upto)}"
    elif found.records:
        text = f"{what} were damaged; their records could be read"
    else:
        where = "was in them" if ends_well else "could be read there"
        text = f"{what} were damaged; no record {where}"
    mended.repairs.append(f"{text}; the bytes are kept in {aside.name}")
    records = list(_filled(found.records, mended.last, mended.t, text))
    t = records[-1].t if records else mended.t
    if upto > last:
        records.append(Record(upto, t, RecordsLost(last + 1, text)))
    if records:
        _write_member(mended, fd, records)
    return ends_well


def _put_aside(path: Path, data: bytes) -> Path:
    """Save damaged bytes as ``path``; if that file has other content, with a number added."""
    aside, n = path, 1
    while (content := _content(aside, len(data))) != data:  # equal: a killed repair saved them
        if content is None:
            replace_bytes(aside, data, sync=True)
            break
        n += 1
        aside = path.with_name(f"{path.name}-{n}")
    return aside


def _content(path: Path, size: int) -> bytes | None:
    """The content of a file, at most ``size`` + 1 bytes; None if missing; b"" if not regular."""
    try:
        fd = open_regular(path)
    except FileNotFoundError:
        return None
    except LogError:  # not a regular file
        return b""
    with closing_fd(fd):
        return read_at(fd, 0, size + 1)


def _filled(records: Iterable[Record], after: int, t: float, why: str) -> Iterator[Record]:
    """Yield the records, with a :class:`RecordsLost` in each gap."""
    for record in records:
        first = first_of(record)
        if first > after + 1:
            yield Record(first - 1, t, RecordsLost(after + 1, why))
        yield record
        after, t = record.seq, record.t


def _lines(records: Iterable[Record]) -> bytes:
    return b"".join(encode_record(r).encode() + b"\n" for r in records)


def _write_member(mended: Mended, fd: int, records: list[Record]) -> None:
    span = span_of(records)
    write_all(fd, pack(_lines(records), RECORDS, span, log=mended.log or 1))
    mended.log = mended.log or 1
    mended.last, mended.t = span.last, span.t1


def _copy(old: int, fd: int, piece: _Piece) -> None:
    for at in range(piece.start, piece.stop, _COPY):
        write_all(fd, read_at(old, at, min(_COPY, piece.stop - at)))


# ------------------------------------------------------------------ the tails


def _take_tails(directory: Path, mended: Mended) -> None:
    """Repair the tails whose records are not sealed, and remove the other tails."""
    last, t = mended.last, mended.t
    for first, path in list_tails(directory):
        if mended.tails and path == mended.tails[-1].path:
            continue  # the repaired content of the tail before, by this repair or a killed one
        leftovers = _take(path, first, last, t, mended.repairs)
        if not leftovers:
            path.unlink()
            continue
        mended.tails += leftovers
        if (span := leftovers[-1].span) is not None:
            last, t = span.last, span.t1


def _take(path: Path, first: int, after: int, t: float, repairs: list[str]) -> list[Leftover]:
    """Repair one tail: its records behind record ``after``, without gaps. Empty if it has none."""
    with closing_fd(open_regular(path, os.O_RDWR)) as fd:
        raw = read_at(fd, 0, os.fstat(fd).st_size)
        complete = raw.rfind(b"\n") + 1
        problems = Problems()
        found = decode_lines(raw[:complete], first - 1, path.name, problems)
        if complete < len(raw) and not problems:
            os.ftruncate(fd, complete)
    records = [r for r in found if r.seq > after]
    upto = _last_line(raw[:complete], first, found) if problems else after
    if not records and upto <= after:
        return [Leftover(path, 0, None)] if first == after + 1 else []
    why = "the log was damaged"
    if problems:
        aside = _put_aside(path.with_name(f"{path.name}.damaged"), raw)
        why = f"{path.name} was damaged"
        repairs.append("; ".join([*problems, f"the damaged file is kept in {aside.name}"]))
    last, t1 = (records[-1].seq, records[-1].t) if records else (max(after, first - 1), t)
    if upto > last:
        records.append(Record(upto, t1, RecordsLost(last + 1, why)))
    gap = first_of(records[0]) > after + 1
    if gap and first > after + 1:
        repairs.append(f"{path.name}: {missing_text(after + 1, first - 1)} before this file")
    if not (gap or problems or len(records) < len(found)):
        return [Leftover(path, complete, span_of(records))]
    _retire_checkpoints(path.parent)
    leftovers = []
    if first > after + 1:
        # In a separate tail: this one keeps its name, and exists until it is replaced.
        lost = [Record(first - 1, t, RecordsLost(after + 1, why))]
        leftovers.append(_put(path.with_name(tail_name(after + 1)), lost))
        after = first - 1
    mended = path.with_name(tail_name(after + 1))
    leftovers.append(_put(mended, list(_filled(records, after, t, why))))
    if mended != path:
        path.unlink()
    return leftovers


def _last_line(data: bytes, first: int, found: list[Record]) -> int:
    """The record number of the last line of a damaged tail."""
    last = found[-1].seq if found else first - 1
    bad = 0
    for line in reversed(data.splitlines()):
        with suppress(CodecError, OverflowError, RecursionError):
            if decode_record(line).seq == last:
                break
        bad += 1
    return last + bad


def _put(path: Path, records: list[Record]) -> Leftover:
    data = _lines(records)
    replace_bytes(path, data, sync=True)
    return Leftover(path, len(data), span_of(records))

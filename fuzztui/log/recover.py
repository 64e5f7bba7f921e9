"""Putting a log in order after whatever happened to its last writer.

Only what cannot be a record is ever removed: a torn last line, a torn last member
(its records are still in the tail that it was made from). Anything else that is
damaged is copied aside first.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fuzztui.log.blocks import Block, BlockError, Span, find_next, unpack, walk
from fuzztui.log.files import list_tails, open_regular, read_at, write_all
from fuzztui.log.lines import Problems, decode_lines, span_of
from fuzztui.wire.codec import encode_record

__all__ = ["Leftover", "mend_sealed", "take_tails"]


@dataclass(frozen=True, slots=True)
class Leftover:
    """A tail that an earlier writer left: its sound lines and what they span."""

    path: Path
    data: bytes
    span: Span | None
    whole: bool
    """Nothing in it was damaged: it can be written on."""


def mend_sealed(fd: int, path: Path) -> tuple[int, float]:
    """Cut a torn end off the sealed file; returns the last record's seq and time in it."""
    size = os.fstat(fd).st_size
    last: Block | None = None
    end = 0
    while True:
        for block in walk(fd, end, size, last.last if last else 0):
            # A power cut may leave a last member with holes; its tail is still there.
            if block.end == size and not _sound(fd, block):
                break
            last = block
            end = block.end
        sound = find_next(fd, end + 1, size, last.last if last else 0) if end < size else -1
        if sound < 0:
            break
        end = sound  # damage in the middle stays where it is: readers step over it
    if end < size:
        covered = any(
            first == (last.last if last else 0) + 1 for first, _ in list_tails(path.parent)
        )
        if not covered:
            _put_aside(path.with_name(f"{path.name}.damaged-{end}"), read_at(fd, end, size - end))
        os.ftruncate(fd, end)
    return (last.last, last.t1) if last else (0, 0.0)


def _sound(fd: int, block: Block) -> bool:
    try:
        unpack(fd, block)
    except BlockError:
        return False
    return True


def take_tails(directory: Path, sealed_seq: int) -> list[Leftover]:
    """The tails with records behind ``sealed_seq``, mended, in order; others are removed."""
    taken: list[Leftover] = []
    last = sealed_seq
    for _, path in list_tails(directory):
        leftover = _take(path, last)
        if leftover.span is None:
            path.unlink()
            continue
        taken.append(leftover)
        last = leftover.span.last
    return taken


def _take(path: Path, after: int) -> Leftover:
    fd = open_regular(path, os.O_RDWR)
    try:
        raw = read_at(fd, 0, os.fstat(fd).st_size)
        complete = raw.rfind(b"\n") + 1
        data = raw[:complete]
        problems = Problems()
        records = decode_lines(data, after, str(path), problems)
        if problems and _damaged(data, path):
            _put_aside(path.with_name(f"{path.name}.damaged"), raw)
        if complete < len(raw):
            os.ftruncate(fd, complete)
    finally:
        os.close(fd)
    if problems:
        data = b"".join(encode_record(r).encode() + b"\n" for r in records)
    return Leftover(path, data, span_of(records) if records else None, not problems)


def _damaged(data: bytes, path: Path) -> bool:
    """Whether a tail's lines are wrong in themselves; being sealed already is no damage."""
    problems = Problems()
    decode_lines(data, 0, str(path), problems)
    return bool(problems)


def _put_aside(path: Path, data: bytes) -> None:
    fd = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        write_all(fd, data)
    finally:
        os.close(fd)

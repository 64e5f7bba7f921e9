"""Lines to records: many at once when they are sound, one by one when they are not."""

from __future__ import annotations

import json
from bisect import bisect_right

from fuzztui.log.blocks import Span
from fuzztui.wire.codec import CodecError, decode_record, record_from_json
from fuzztui.wire.events import Record

__all__ = ["Problems", "decode_lines", "span_of", "upto_t"]

MOST_PROBLEMS = 100


class Problems(list[str]):
    """What was wrong with a log, in words; bounded, without repeats."""

    def note(self, problem: str) -> None:
        """Add it, unless it is known or there are too many."""
        if len(self) < MOST_PROBLEMS and problem not in self:
            self.append(problem)


def decode_lines(data: bytes, after: int, where: str, problems: Problems) -> list[Record]:
    """The records of complete lines, in order and behind record ``after``.

    What is no record, or stands out of order, is noted in ``problems`` and left out.
    """
    if not data:
        return []
    try:
        # One JSON array is parsed in half the time of its lines. Newlines within
        # strings are escaped, so that all that there are end a line.
        body = data[:-1] if data.endswith(b"\n") else data
        parsed = json.loads(b"[" + body.replace(b"\n", b",") + b"]")
        records = [record_from_json(item) for item in parsed]
        if len(records) == body.count(b"\n") + 1 and _in_order(records, after):
            return records
    except (CodecError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        pass
    return _one_by_one(data, after, where, problems)


def _in_order(records: list[Record], after: int) -> bool:
    t = 0.0
    for record in records:
        if record.seq <= after or not t <= record.t < _ENDLESS:
            return False
        after = record.seq
        t = record.t
    return after < _LAST_SEQ


_ENDLESS = 1e12
_LAST_SEQ = 1 << 62


def _one_by_one(data: bytes, after: int, where: str, problems: Problems) -> list[Record]:
    records: list[Record] = []
    t = 0.0
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = decode_record(line)
        except (CodecError, OverflowError, RecursionError) as e:
            problems.note(f"{where}, line {number}: {str(e)[:200]}: left out")
            continue
        if record.seq <= after or not record.t < _ENDLESS or record.seq >= _LAST_SEQ:
            problems.note(f"{where}, line {number}: record {record.seq} out of order: left out")
            continue
        t = max(t, record.t)
        records.append(record if record.t == t else Record(record.seq, t, record.event))
        after = record.seq
    return records


def upto_t(records: list[Record], t: float) -> int:
    """How many of the records are not after campaign time ``t``."""
    return bisect_right(records, t, key=lambda r: r.t)


def span_of(records: list[Record]) -> Span:
    """The span of at least one record."""
    a, b = records[0], records[-1]
    return Span(a.seq, b.seq, a.t, b.t, len(records))

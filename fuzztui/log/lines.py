"""Lines to records: many at once when they are sound, one by one when they are not."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator

from fuzztui.log.blocks import Span
from fuzztui.wire.codec import CodecError, decode_record, record_from_json
from fuzztui.wire.events import Record, RecordsLost

__all__ = ["Problems", "decode_lines", "first_of", "is_possible", "missing", "span_of", "upto_t"]

MOST_PROBLEMS = 100

_LONGEST_T = 1e9
_LARGEST_GAP = 1 << 32
"""No campaign lasts 30 years, and no log loses so many records in one place: numbers beyond
these are damage, which must not swallow the records that follow."""


class Problems(list[str]):
    """The damage of a log, as messages; bounded, without repeats."""

    def note(self, problem: str) -> None:
        """Add it, unless it is known or there are too many."""
        if len(self) < MOST_PROBLEMS and problem not in self:
            self.append(problem)


def decode_lines(
    data: bytes, after: int, where: str, problems: Problems, follower: Record | None = None
) -> list[Record]:
    """The records of complete lines, in order and behind record ``after``.

    Lines that are no record, out of order or impossible are noted in ``problems`` and left out;
    records that are missing are noted, unless a :class:`RecordsLost` takes their numbers.
    ``follower`` is what comes behind these lines, if that is known.
    """
    if not data:
        return []
    numbered: list[tuple[int, Record]] | None = None
    try:
        # One JSON array is parsed in half the time of its lines. Newlines within
        # strings are escaped, so that all that there are end a line.
        body = data[:-1] if data.endswith(b"\n") else data
        parsed = json.loads(b"[" + body.replace(b"\n", b",") + b"]")
        records = [record_from_json(item) for item in parsed]
        if len(records) == body.count(b"\n") + 1:
            if _in_order(records if follower is None else [*records, follower], after):
                return records
            numbered = [*enumerate(records, 1)]
    except (CodecError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        pass
    if numbered is None:
        numbered = [*_one_by_one(data, where, problems)]
    return _fitting(numbered, after, where, problems, follower)


def first_of(record: Record) -> int:
    """The first number that a record takes: its own, or an earlier one if it is `RecordsLost`."""
    event = record.event
    if type(event) is RecordsLost and 0 < event.first <= record.seq:
        return event.first
    return record.seq


def is_possible(record: Record, after: int) -> bool:
    """Whether this record may follow record ``after`` in a log, however many are missing."""
    return 0 <= record.t < _LONGEST_T and first_of(record) - after <= _LARGEST_GAP


def _in_order(records: list[Record], after: int) -> bool:
    t = 0.0
    for record in records:
        if record.seq != after + 1 and first_of(record) != after + 1:
            return False
        if not t <= record.t < _LONGEST_T:
            return False
        after = record.seq
        t = record.t
    return True


def _one_by_one(data: bytes, where: str, problems: Problems) -> Iterator[tuple[int, Record]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, decode_record(line)
        except (CodecError, OverflowError, RecursionError) as e:
            problems.note(f"{where}, line {number}: {str(e)[:200]}: left out")


def _fitting(
    numbered: list[tuple[int, Record]],
    after: int,
    where: str,
    problems: Problems,
    last_follower: Record | None,
) -> list[Record]:
    """Those of the records that fit behind ``after`` and what follows them."""
    records: list[Record] = []
    t = 0.0
    followers = [*(record for _, record in numbered), last_follower][1:]
    for (number, record), follower in zip(numbered, followers, strict=True):
        if record.seq <= after:
            wrong = f"record {record.seq} out of order"
        elif not is_possible(record, after):
            wrong = f"record {record.seq} at {record.t:g} s: no such number or time is possible"
        elif follower and after < follower.seq < record.seq:
            wrong = f"record {record.seq} before record {follower.seq}"
        elif follower and follower.seq > record.seq and t <= follower.t < record.t:
            wrong = f"record {record.seq} at {record.t:g} s, and the next at {follower.t:g} s"
        else:
            wrong = ""
        if wrong:
            problems.note(f"{where}, line {number}: {wrong}: left out")
            continue
        if record.t < t:
            problems.note(f"{where}, line {number}: record {record.seq}: the time goes back")
        if first_of(record) > after + 1:
            problems.note(f"{where}: {missing(after + 1, first_of(record) - 1)}")
        t = max(t, record.t)
        records.append(record if record.t == t else Record(record.seq, t, record.event))
        after = record.seq
    return records


def missing(first: int, last: int) -> str:
    """That records are not there: ``record 7 is missing``; ``records 7 to 9 are missing``."""
    if first == last:
        return f"record {first} is missing"
    return f"records {first} to {last} are missing"


def upto_t(records: list[Record], t: float) -> int:
    """How many of the records are not after campaign time ``t``."""
    return bisect_right(records, t, key=lambda r: r.t)


def span_of(records: list[Record]) -> Span:
    """The span of at least one record."""
    a, b = records[0], records[-1]
    return Span(first_of(a), b.seq, a.t, b.t, len(records))

"""Decode lines to records: many at once if all are sound, otherwise one by one.

Of a damaged gzip member only those records are recovered that are certain to be intact.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from fuzztui.kernel.log.blocks import RecordRange, SealedBlock, unpack_damaged
from fuzztui.kernel.wire.codec import CodecError, decode_record, record_from_json
from fuzztui.kernel.wire.events import Record, RecordsLost

MAX_PROBLEMS = 100
"""The number of messages about one log."""

_MAX_COUNTED = 10_000
"""Bad lines, or gaps, that are counted in one file."""

_LONGEST_T = 1e9
_LARGEST_GAP = 1 << 32
"""Campaign times (seconds; 30 years) and gaps (records) beyond these limits are damage. A record
with such a number is left out, as it would make all records behind it look out of order."""


class Problems(list[str]):
    """The damage of a log, as messages; bounded, without repeats.

    A problem that many lines or records can have is one message per file, updated with each hit.
    """

    def __init__(self) -> None:
        super().__init__()
        self._many: dict[tuple[str, Kind], _Many] = {}

    def note(self, problem: str) -> None:
        """Add a message, unless it is there already or there are :data:`MAX_PROBLEMS`."""
        if len(self) < MAX_PROBLEMS and problem not in self:
            self.append(problem)

    def note_line(self, where: str, kind: Kind, key: Hashable, place: str, why: str) -> None:
        """Count a line that is left out. ``key`` identifies the line, so that it counts once.

        ``place`` and ``why`` are shown for the first one only.
        """
        self._count(where, kind, key, 1, (place, why))

    def note_missing(self, where: str, first: int, last: int) -> None:
        """Count missing records, from ``first`` to ``last``."""
        example = ("", missing_text(first, last))
        self._count(where, Kind.MISSING, first, last - first + 1, example)

    def note_earlier(self, where: str, seq: int) -> None:
        """Count a record whose time is before that of the previous record."""
        self._count(where, Kind.EARLIER, seq, 1, ("", f"record {seq}"))

    def _count(
        self, where: str, kind: Kind, key: Hashable, size: int, example: tuple[str, str]
    ) -> None:
        many = self._many.get((where, kind))
        if many is None:
            if len(self) >= MAX_PROBLEMS:
                return
            many = self._many[where, kind] = _Many(len(self), *example)
            self.append("")
        if key in many.keys or len(many.keys) >= _MAX_COUNTED:
            return
        many.keys.add(key)
        many.size += size
        self[many.at] = f"{where}: {many.message(kind)}"

    def clear(self) -> None:
        """Remove all messages, because the log was repaired."""
        super().clear()
        self._many.clear()


class Kind(Enum):
    """Problems that many lines or records can have: texts for one and for several."""

    UNREADABLE = ("cannot be read", "cannot be read")
    MISPLACED = ("is out of order", "are out of order")
    MISSING = ("", "are missing")
    EARLIER = (
        "has an earlier time than the one before",
        "have earlier times than those before",
    )


@dataclass(slots=True)
class _Many:
    """The same problem of many lines or records of one file."""

    at: int
    """The index of the message."""
    place: str
    why: str
    """The reason for the first one."""
    keys: set[Hashable] = field(default_factory=set)
    size: int = 0

    def message(self, kind: Kind) -> str:
        count = f"more than {self.size:,}" if len(self.keys) >= _MAX_COUNTED else f"{self.size:,}"
        one, several = kind.value
        single = len(self.keys) == 1
        if kind is Kind.MISSING:
            if single:
                return self.why
            places = f"in {len(self.keys):,} places"
            return f"{count} records {several} {places}; for example, {self.why}"
        if kind is Kind.EARLIER:
            several = f"{count} records {several}; for example, {self.why}"
            return f"{self.why} {one}" if single else several
        if single:
            return f"1 line {self.place} {one} and is left out: {self.why}"
        return f"{count} lines {several} and are left out; for example, {self.place}: {self.why}"


def decode_lines(
    data: bytes,
    after: int,
    where: str,
    problems: Problems,
    *,
    follower: Record | None = None,
    offset: int = 0,
) -> list[Record]:
    """Return the records of complete lines, in order and behind record ``after``.

    Lines that are not a record, out of order or impossible are noted in ``problems`` and left out.
    Missing records are noted, unless a :class:`RecordsLost` takes their numbers.
    ``follower``: the record behind these lines; None if unknown. ``offset``: the position of the
    lines in the file, so that no line is counted twice.
    """
    if not data:
        return []
    numbered: list[tuple[int, Record]] | None = None
    try:
        # One JSON array is parsed in half the time of its lines. Newlines within
        # strings are escaped, so each newline here ends a line.
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
        numbered = [*_one_by_one(data, after, where, problems, offset)]
    return _fitting(numbered, after, where, problems, last_follower=follower, offset=offset)


def first_of(record: Record) -> int:
    """The first number that a record takes: its own, or that of the first lost record."""
    event = record.event
    if type(event) is RecordsLost and 0 < event.first <= record.seq:
        return event.first
    return record.seq


def is_possible(record: Record, after: int) -> bool:
    """Whether this record can follow record ``after`` in a log, with records missing in between."""
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


def _one_by_one(
    data: bytes, after: int, where: str, problems: Problems, offset: int
) -> Iterator[tuple[int, Record]]:
    last = after
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = decode_record(line)
        except (CodecError, OverflowError, RecursionError) as e:
            why = str(e)[:200]
            problems.note_line(where, Kind.UNREADABLE, (offset, number), _behind(last), why)
        else:
            last = record.seq
            yield number, record


def _behind(seq: int) -> str:
    return f"after record {seq}" if seq else "before the first record"


def _fitting(
    numbered: list[tuple[int, Record]],
    after: int,
    where: str,
    problems: Problems,
    *,
    last_follower: Record | None,
    offset: int,
) -> list[Record]:
    """Return the records whose number and time fit those of the records around them."""
    records: list[Record] = []
    t = 0.0
    followers = [*(record for _, record in numbered), last_follower][1:]
    for (number, record), follower in zip(numbered, followers, strict=True):
        wrong, kind = "", Kind.UNREADABLE
        if record.seq <= after:
            wrong, kind = f"record {record.seq}", Kind.MISPLACED
        elif not is_possible(record, after):
            wrong = f"impossible number or time: record {record.seq} at {record.t:g} s"
        elif follower and after < follower.seq < record.seq:
            wrong, kind = f"record {record.seq}, before record {follower.seq}", Kind.MISPLACED
        elif follower and follower.seq > record.seq and t <= follower.t < record.t:
            wrong = f"record {record.seq} at {record.t:g} s, but the next at {follower.t:g} s"
        if wrong:
            problems.note_line(where, kind, (offset, number), _behind(after), wrong)
            continue
        if record.t < t:
            problems.note_earlier(where, record.seq)
        if first_of(record) > after + 1:
            problems.note_missing(where, after + 1, first_of(record) - 1)
        t = max(t, record.t)
        records.append(record if record.t == t else replace(record, t=t))
        after = record.seq
    return records


def missing_text(first: int, last: int) -> str:
    """Text about missing records: ``record 7 is missing``; ``records 7 to 9 are missing``."""
    if first == last:
        return f"record {first} is missing"
    return f"records {first} to {last} are missing"


def upto_t(records: list[Record], t: float) -> int:
    """The number of records that are not after campaign time ``t``."""
    return bisect_right(records, t, key=lambda r: r.t)


def span_of(records: list[Record]) -> RecordRange:
    """The range of the records; at least one."""
    a, b = records[0], records[-1]
    return RecordRange(first_of(a), b.seq, a.t, b.t, len(records))


@dataclass(frozen=True, slots=True)
class Recovered:
    """The sound records of a damaged member; ``whole``: the member had no others."""

    records: list[Record]
    whole: bool


def recover(raw: bytes, block: SealedBlock | None, after: int) -> Recovered:
    """Recover the records behind record ``after`` of a member that begins where ``raw`` does.

    ``block``: the member's header; None if that is damaged.
    """
    data, whole = unpack_damaged(raw, block)
    records = decode_lines(data[: data.rfind(b"\n") + 1], after, "", Problems())
    return Recovered(records, whole)

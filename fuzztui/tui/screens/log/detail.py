"""Details of a record of the log, as lines of spans. Pure."""

from __future__ import annotations

import json

from fuzztui.kernel.model.hosts import host_of
from fuzztui.kernel.wire.codec import encode_record
from fuzztui.kernel.wire.events import Record
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import plain, plain_lines
from fuzztui.tui.labels.details import pair, title
from fuzztui.tui.labels.events import Described


def record_lines(record: Record, described: Described, wall: float, *, raw: bool) -> list[Line]:
    """Return a log record: as the screens describe it, and its fields if ``raw``.

    ``wall``: its Unix time; 0: unknown.
    """
    lines: list[Line] = [
        [TextSpan(plain(described.label), f"bold {described.style}".strip())],
        *([TextSpan(text)] for text in plain_lines(described.text)),
        [],
        pair("time", format.clock(record.t)),
    ]
    if wall:
        lines.append(pair("clock", format.wall_clock(wall, "%Y-%m-%d %H:%M:%S")))
    if described.instance and described.instance != host_of(record):
        lines.append(pair("instance", described.instance))
    if host_of(record):
        lines.append(pair("host", host_of(record)))
    lines.append(pair("record", f"{record.seq:,}"))
    if record.host:
        there = f"record {record.host_seq:,} at {format.clock(record.host_t)} of its own log"
        lines.append(pair("there", there))
    if not raw:
        return [*lines, [], [TextSpan("v shows all fields", "muted")]]
    return [*lines, [], title("fields"), *_fields(record)]


def _fields(record: Record) -> list[Line]:
    """All fields of a record, by their names in the log."""
    try:
        data = json.loads(encode_record(record))
    except ValueError:  # NaN, from a log that another program wrote
        return [[TextSpan("this record cannot be shown", "hang")]]
    lines: list[Line] = []
    for key, value in data.items():
        if isinstance(value, str) and "\n" in value:
            lines.append(pair(key, ""))
            lines += [[TextSpan("  "), TextSpan(text)] for text in plain_lines(value)]
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            lines.append(pair(key, text))
    return lines

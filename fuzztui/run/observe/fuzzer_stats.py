"""``fuzzer_stats``: from ``key : value`` lines to :class:`~fuzztui.kernel.wire.events.Stats`.

Written by AFL 2.5x to 4.3x and by in-process engines. Untrusted text: the last line of a key
counts, and a value that is not a number counts as absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from fuzztui.kernel.base import bounds
from fuzztui.kernel.wire.afl import NOT_SHOWN, OLD_NAMES, other_numbers
from fuzztui.kernel.wire.events import Stats

MAX_SIZE = 64 * 1024
"""Bytes of the file that are read; AFL's has about 2,000."""

MEASURED_S = 30
"""Seconds that an AFL process must have run for its rate to be used: its first file has the rate of
running the seeds once."""

_NUMBER = re.compile(r"([0-9]{1,30})(?:\.[0-9]*)?%?")

_COUNTS: dict[str, tuple[str, Any]] = {
    f.metadata["key"]: (f.name, f.default)
    for f in fields(Stats)
    if "key" in f.metadata and f.type == "Count"
}
"""Key in the file -> field of :class:`Stats`, and the value if the key is missing."""

_KNOWN = NOT_SHOWN.union(f.metadata["key"] for f in fields(Stats) if "key" in f.metadata)


def parse_stats(raw: bytes) -> dict[str, str] | None:
    """Return the file's values by key; None if it is incomplete (AFL rewrites it in place)."""
    # A file longer than MAX_SIZE is cut at its end, a torn one has no final newline: the number in
    # a line that may be cut would be wrong rather than old.
    if not raw.endswith(b"\n") and len(raw) < MAX_SIZE:
        return None
    values: dict[str, str] = {}
    for line in raw.decode("utf-8", "replace").split("\n")[:-1]:
        key, colon, value = line.partition(":")
        if colon:
            name = key.strip()
            values[OLD_NAMES.get(name, name)] = value.strip()
    return values if "execs_done" in values else None


def to_stats(instance: str, values: Mapping[str, str], age: float) -> Stats:
    """Make the event of an instance from the file's values. ``age``: of the values, in seconds."""
    counts: dict[str, Any] = {
        name: _count(values.get(key), none) for key, (name, none) in _COUNTS.items()
    }
    return Stats(
        instance=instance,
        **counts,
        other=_other(values),
        execs_per_sec=_real(values.get("execs_per_sec"), 0.0),
        stability=_real(values.get("stability"), -1.0),
        age=round(bounds.real(age, 0.0), 2),
    )


def _other(values: Mapping[str, str]) -> dict[str, float]:
    """Return the numbers under keys that fuzztui does not know."""
    texts = {
        k: v.rstrip("%") for k, v in values.items() if k not in _KNOWN and _NUMBER.fullmatch(v)
    }
    return other_numbers({k: float(v) if "." in v else int(v) for k, v in texts.items()})


def own_rate(values: Mapping[str, str]) -> float:
    """Return AFL's own rate, for callers that read the file only once; -1 in its first file."""
    if whole(values, "last_update") - whole(values, "start_time") < MEASURED_S:
        return -1.0
    last_minute = _real(values.get("execs_ps_last_min"), -1.0)
    return last_minute if last_minute >= 0 else _real(values.get("execs_per_sec"), -1.0)


def whole(values: Mapping[str, str], key: str) -> int:
    """Return the exact number under ``key``, such as a time; 0 if the value is no number."""
    text = values.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _count(text: str | None, missing: int) -> int:
    match = _NUMBER.fullmatch(text or "")
    return bounds.whole(int(match[1]), missing) if match else missing


def _real(text: str | None, missing: float) -> float:
    # AFL's first write may say inf; old versions say nan when no time has passed.
    try:
        value = float((text or "").rstrip("%"))
    except ValueError:
        return missing
    return bounds.real(value, missing)

"""Parse durations, sizes, budgets and line ranges as users write them."""

from __future__ import annotations

import math
import re

from fuzztui.kernel.base.bounds import LARGEST

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_BYTES = {"": 1, "B": 1, "K": 1024, "KB": 1000, "KiB": 1024, "M": 1 << 20, "MB": 10**6}
_BYTES |= {"MiB": 1 << 20, "G": 1 << 30, "GB": 10**9, "GiB": 1 << 30}

LONGEST_S = 1e10
"""Maximum of a duration, in seconds (300 years): a longer one is a typing error."""

_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhdw])\s*")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_LINES = re.compile(r"(\d+)(?:-(\d+))?")
_MAX_LINES = 10_000_000
_BARE = re.compile(r"\d[\d_]*(?:\.\d+)?")
_TRIALS = re.compile(r"(\d[\d_ ]*)\s*(?:trials?|execs?)")

DURATION_PATTERN = r"\s*([0-9]+(\.[0-9]+)?\s*(ms|[smhdw])\s*)+"
"""A regular expression, of ECMA 262 too, for durations that are written as texts."""
SIZE_PATTERN = rf"\s*[0-9]+(\.[0-9]+)?\s*({'|'.join(filter(None, _BYTES))})?\s*"
BUDGET_PATTERN = rf"({DURATION_PATTERN}|\s*[0-9][0-9_ ]*\s*(trials?|execs?)\s*|0)"

DURATION_HELP = 'a duration such as "90s", "30m", "1h30m" or a number of seconds'
SIZE_HELP = 'a size such as "512MiB", "2G" or a number of bytes'
BUDGET_HELP = 'a duration such as "30m" or "2h", or trials: "50000 trials" or the bare number 50000'


def parse_duration(value: object) -> float:
    """Return the seconds of ``"1h30m"`` or of a number of seconds. Raises ValueError."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if 0 <= value <= LONGEST_S:
            return float(value)
    elif isinstance(value, str):
        parts = list(_DURATION_PART.finditer(value.strip()))
        if parts and "".join(p.group(0) for p in parts) == value.strip():
            seconds = sum(float(p.group(1)) * _SECONDS[p.group(2)] for p in parts)
            if seconds <= LONGEST_S:
                return seconds
    raise _wrong(value, DURATION_HELP, "{}s")


def parse_size(value: object) -> int:
    """Return the bytes of ``"512MiB"`` or of a number of bytes. Raises ValueError."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str):
        m = _SIZE.fullmatch(value.strip())
        if m and m.group(2) in _BYTES:
            size = float(m.group(1)) * _BYTES[m.group(2)]
            if math.isfinite(size):
                return int(size)
    raise _wrong(value, SIZE_HELP)


def parse_ranges(text: str) -> list[range]:
    """Return the line numbers of ``"12,40-60"``; an empty list for "". Raises ValueError."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _LINES.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 0 < first <= last < _MAX_LINES:
            raise ValueError(f"{part!r} is not a line or a range of lines, such as 12 or 40-60")
        found.append(range(first, last + 1))
    return found


def parse_budget(value: object) -> tuple[float, int]:
    """Return ``(seconds, trials)``, one of which is 0. Raises ValueError."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST:
        return 0.0, value
    if isinstance(value, str):
        m = _TRIALS.fullmatch(value.strip())
        if m:
            digits = re.sub(r"[_ ]", "", m.group(1))
            if len(digits) < len(str(LARGEST)) and int(digits) > 0:
                return 0.0, int(digits)
        else:
            try:
                seconds = parse_duration(value)
            except ValueError:
                seconds = 0.0
            if seconds > 0:
                return seconds, 0
    raise _wrong(value, BUDGET_HELP, "{} trials", "{}s")


def _wrong(value: object, wanted: str, *units: str) -> ValueError:
    """The error about a value. ``units``: how a number in quotes could be meant."""
    if units and isinstance(value, str) and _BARE.fullmatch(value.strip()):
        meant = " or ".join(f'"{unit.format(value.strip())}"' for unit in units)
        return ValueError(f"{value!r} has no unit; write {meant}")
    return ValueError(f"{value!a} is not {wanted}")  # letters of other alphabets look like ours

"""Numbers for users: counts, rates, sizes and times in few cells.

``-1`` means "not reported" everywhere in the state and is drawn as a dash. Any number can be drawn,
even an impossible one: no screen may fail on it, and no column may overflow.
"""

from __future__ import annotations

import math
from datetime import datetime

from fuzztui.kernel.base import text

NONE = "–"
clock = text.clock
whole_seconds = text.whole_seconds
_SCALES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BEYOND = 999.5e18
"""Too large for three digits and a unit."""
_MORE = ">999E"


def wall_clock(wall: float, pattern: str) -> str:
    """Format a Unix time as local time by a ``strftime`` pattern; a dash for an impossible time."""
    try:
        return datetime.fromtimestamp(wall).strftime(pattern)
    except (ValueError, OverflowError, OSError):
        return NONE


def _scaled(value: float) -> str:
    for k, (scale, unit) in enumerate(_SCALES):
        if value >= scale:
            text = _significant(value / scale, 3)
            if text == "1000" and k:  # 999,950 is 1.00M, not 1000k
                return "1.00" + _SCALES[k - 1][1]
            return text + unit
    return _significant(value, 3)


def _significant(value: float, digits: int) -> str:
    whole = len(str(int(value)))
    return f"{value:.{max(0, digits - whole)}f}"


def count(n: int) -> str:
    """Return a whole number: exact up to 99,999, then three digits and a unit."""
    if n < 0:
        return NONE
    if n >= _BEYOND:
        return _MORE
    return f"{n:,}" if n < 100_000 else _scaled(n)


def executions(n: int, entries: int) -> str:
    """Return a number of executions: at least one for each entry, if it is older than these."""
    return f"≥{count(entries)}" if 0 <= n < entries else count(n)


def whole(n: float) -> str:
    """Return a number rounded to a whole one, in the form of :func:`count`."""
    return count(round(n))


def rate(per_second: float) -> str:
    """Return a rate; the label next to it has the unit (per second)."""
    if not 0 <= per_second < math.inf:
        return NONE
    if per_second >= _BEYOND:
        return _MORE
    if per_second == 0:
        return "0"
    if per_second < 10:
        return f"{per_second:.1f}" if per_second >= 0.05 else "<0.1"
    return f"{per_second:,.0f}" if per_second < 9999.5 else _scaled(per_second)


def size(n: float) -> str:
    """Return a number of bytes in binary units of one letter."""
    if not n >= 0:
        return NONE
    if n < 1024:
        return f"{n:.0f}B"
    if n < _BEYOND:
        for unit in "KMGTPE":
            n /= 1024
            if n < 999.5:
                return f"{_significant(n, 2)}{unit}"
    return _MORE


def percent(part: float, whole: float) -> str:
    """Return ``part`` of ``whole``; never rounded up to 100% nor down to 0%."""
    if not (0 <= part < _BEYOND and 0 < whole < _BEYOND):
        return NONE
    share = 100 * part / whole
    if share > 9999:
        return ">9999%"
    if 0 < share < 0.1:
        return "<0.1%"
    if 99.9 < share < 100:
        return "99.9%"
    return f"{share:.1f}%" if share < 10 else f"{math.floor(share + 0.5 if share < 99 else share)}%"


def score(share: float | None) -> str:
    """Return a mutation score (0 to 1); never rounded up to 100% nor down to 0%."""
    if share is None:
        return NONE
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{min(100 * share, 99.9 if share < 1 else 100.0):.1f}%"


def share(part: float) -> str:
    """Return a part of 0 to 1 as a percentage: ``55%``; ``0%`` only for 0."""
    return percent(part, 1.0) if part > 0 else "0%"


def span(seconds: float) -> str:
    """Return a duration with two units: ``4s``, ``12m 05s``, ``3h 20m``, ``2d 04h``."""
    s = whole_seconds(seconds)
    if s < 60:
        return f"{s}s"
    if s < 3600:
        return f"{s // 60}m {s % 60:02d}s"
    if s < 86400:
        return f"{s // 3600}h {s // 60 % 60:02d}m"
    return f"{s // 86400}d {s // 3600 % 24:02d}h"


def brief(seconds: float) -> str:
    """Return a duration with one unit, which rarely changes: ``4s``, ``12m``, ``3h``, ``2d``."""
    s = whole_seconds(seconds)
    for unit, letter in ((86400, "d"), (3600, "h"), (60, "m")):
        if s >= unit:
            return f"{s // unit}{letter}"
    return f"{s}s"


_STEPS = (0, 3, 5, 10, 20, 30, 40, 50)


def age(seconds: float) -> str:
    """Return an age in coarse steps, so that fifty ages on a screen need few redraws.

    Steps up to a minute, then as :func:`brief`. Rounded down.
    """
    s = whole_seconds(seconds)
    return f"{max(step for step in _STEPS if step <= s)}s" if s < 60 else brief(s)


def age_from(bound: float, seconds: float) -> str:
    """Return ``<bound`` below ``bound`` seconds, else :func:`age`."""
    return f"<{bound:g}s" if seconds < bound else age(seconds)


def ago(t: float, now: float) -> str:
    """Return the age of ``t`` at ``now``; a dash if ``t`` is negative."""
    return NONE if t < 0 else f"{age(now - t)} ago"

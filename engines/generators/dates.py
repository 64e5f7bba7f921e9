"""Generators of dates and times."""

from __future__ import annotations

import datetime

from fuzztui.engines.generators.scope import generator
from fuzztui.engines.inputs.source import Source


@generator
def gen_date(r: Source, *, low: int = 1970, high: int = 2069) -> datetime.date:
    """A date from the year ``low`` to ``high``; sometimes any possible date."""
    year = r.integer(low, high) if r.below(16) else r.integer(1, 9999)
    month = r.integer(1, 12)
    following = datetime.date(year + month // 12, month % 12 + 1, 1) if year < 9999 else None
    last = 28 if following is None else (following - datetime.timedelta(1)).day
    return datetime.date(year, month, r.integer(1, last))


@generator
def gen_datetime(r: Source, *, low: int = 1970, high: int = 2069) -> datetime.datetime:
    """A date and time; with a time zone in half of the cases, sometimes on the full hour or day."""
    date = gen_date(r, low=low, high=high)
    hour, minute, second = r.integer(0, 23), r.integer(0, 59), r.integer(0, 59)
    if r.below(8) == 0:
        hour, minute, second = r.choose([0, hour]), 0, 0
    zone = None
    if r.boolean():
        zone = datetime.timezone(datetime.timedelta(minutes=15 * r.integer(-48, 56)))
    micro = r.integer(0, 999_999) if r.below(4) == 0 else 0
    return datetime.datetime(
        date.year, date.month, date.day, hour, minute, second, micro, zone, fold=r.below(16) == 0
    )


@generator
def gen_timedelta(r: Source, *, days: int = 400) -> datetime.timedelta:
    """A time difference of up to ``days`` days, positive or negative."""
    return datetime.timedelta(r.integer(-days, days), r.integer(0, 86_399))

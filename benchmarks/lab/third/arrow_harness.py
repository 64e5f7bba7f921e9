"""arrow: a time, its format and its locale on three lines; then printed, moved and compared."""

import os
import time

import arrow

os.environ["TZ"] = "UTC"  # the local time zone is part of the result
time.tzset()
BASE = arrow.Arrow(2024, 2, 29, 12, 30)


def read(text: str) -> list[object]:
    first, form, locale, past = (*text.split("\n", 3), "", "", "")[:4]
    locale = locale or "en"
    at = arrow.get(first, form, locale=locale) if form else arrow.get(first)
    found: list[object] = [at.isoformat(), at.format(form or "YYYY-[W]WW dddd Do a ZZZ", locale)]
    found += [at.humanize(BASE, locale), at.humanize(BASE, locale, granularity=["day", "hour"])]
    found += [list(map(str, at.span("quarter"))), str(at.shift(months=1, weekday=2))]
    if past:
        found.append(str(BASE.dehumanize(past, locale)))
    return found

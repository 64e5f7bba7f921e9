"""dateutil: a date and time read in each order, strictly and in running text."""

from datetime import datetime

from dateutil import parser

DEFAULT = datetime(2003, 9, 25)


def read(text: str) -> list[object]:
    found: list[object] = []
    for options in ({}, {"dayfirst": True}, {"yearfirst": True}, {"fuzzy_with_tokens": True}):
        try:
            found.append(str(parser.parse(text, default=DEFAULT, ignoretz=False, **options)))
        except (ValueError, OverflowError) as e:
            found.append(type(e).__name__)
    try:
        found.append(str(parser.isoparse(text)))
    except ValueError as e:
        found.append(str(e))
    return found

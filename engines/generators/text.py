"""Generators of words, paths, numbers, dates and times, and how often they make a mistake."""

from __future__ import annotations

import datetime
import string
from pathlib import PurePosixPath
from typing import Final

from fuzztui.engines.generators.scope import generator
from fuzztui.engines.inputs.source import Source

ERRONEOUS: Final = 0.003
"""The probability of a mistake in the paper."""


def mistake(r: Source, erroneous: float) -> bool:
    """Draw whether to make a mistake here. ``erroneous``: the probability; 0: nothing is drawn."""
    return erroneous > 0 and r.below(1 << 16) < erroneous * (1 << 16)


_ODD = " \t\n\r\0\x7f\"'\\/<>&%$;,:|äßÉñжλ中あ\u00a0\u200b\u202e\ufeff\U0001f600"


@generator
def gen_word(r: Source, *, low: int = 1, high: int = 10) -> str:
    """A word of ``low`` to ``high`` letters and digits, mostly in lower case."""
    letters = string.ascii_lowercase if r.below(4) else string.ascii_letters + string.digits + "_"
    return r.text(letters, low, high)


@generator
def gen_text(r: Source, *, most: int = 8, erroneous: float = ERRONEOUS) -> str:
    """Up to ``most`` words; a mistake adds characters that programs often handle badly."""
    words = [gen_word(r) for _ in r.more(0, most)]
    if mistake(r, erroneous):
        words.append(r.text(_ODD, 1, 8))
    return " ".join(words)


@generator
def gen_number(r: Source, *, erroneous: float = ERRONEOUS) -> str:
    """A number as text: 7, -12, 3.50, 1e9."""
    if mistake(r, erroneous):
        return r.choose(["", "-", "nan", "inf", "1e999", "0x1f", "1,5", "٣", "--1", "1_000"])
    number = str(r.integer(-1000, 1000) if r.below(4) else r.integer(-(2**63), 2**63 - 1))
    if r.below(4) == 0:
        number += f".{r.text(string.digits, 1, 4)}"
    return number + (f"e{r.integer(-9, 9)}" if r.below(16) == 0 else "")


@generator
def gen_path(
    r: Source,
    *,
    depth: int = 4,
    ends: str = ".txt .csv .json .png .zip",
    erroneous: float = ERRONEOUS,
) -> PurePosixPath:
    """A path of up to ``depth`` parts; its name ends with one of ``ends`` or has no suffix."""
    parts = [gen_word(r) for _ in r.more(0, depth - 1)]
    if mistake(r, erroneous):
        parts.append(r.choose(["..", ".", "", "~", "a" * 300, "con", " "]))
    parts.append(gen_word(r) + r.choose([*ends.split(), ""]))
    return PurePosixPath("/" if r.below(4) == 0 else "", *parts)


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

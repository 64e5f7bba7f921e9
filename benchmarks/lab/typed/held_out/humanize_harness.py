"""humanize: one date, duration or number in words, in one of the library's forms."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import humanize
from humanize.time import Unit

from fuzztui.generators import Source, gen_datetime, gen_number, gen_timedelta, gen_word, generator

FORMS = [
    "apnumber", "clamp", "day", "delta", "fractional", "intcomma", "intword", "list", "metric",
    "ordinal", "precise", "scientific", "size", "time",
]  # fmt: skip


@dataclass
class Saying:
    """What is said, and how; ``when`` takes the place of the clock."""

    form: str
    number: Decimal
    fraction: Fraction
    real: float
    text: str
    delta: timedelta
    moment: datetime
    when: datetime
    unit: Unit
    suppress: list[Unit]
    digits: int
    flag: bool


def put_in_words(s: Saying) -> object:
    unit = s.unit.name.lower()
    number = s.number if s.flag else s.text
    match s.form:
        case "apnumber":
            return humanize.apnumber(s.digits if s.flag else s.text)
        case "clamp":
            low = float(s.fraction)
            return humanize.clamp(s.real, "{:.2f}", low, low + s.digits, "under ", "over ")
        case "day":
            return humanize.naturaldate(s.moment.date()), humanize.naturalday(s.moment)
        case "delta":
            return humanize.naturaldelta(s.delta if s.digits else s.real, s.flag, unit)
        case "fractional":
            return humanize.fractional(float(s.fraction) if s.flag else s.text)
        case "intcomma":
            return humanize.intcomma(number, s.digits if s.digits < 5 else None)
        case "intword":
            return humanize.intword(number, f"%.{s.digits}f")
        case "list":
            return humanize.natural_list([u.name for u in s.suppress])
        case "metric":
            return humanize.metric(s.real, "V" if s.flag else "", s.digits)
        case "ordinal":
            return humanize.ordinal(s.digits if s.flag else s.text, "female" if s.flag else "male")
        case "precise":
            suppress = [u.name.lower() for u in s.suppress]
            return humanize.precisedelta(s.delta, unit, suppress, f"%0.{s.digits}f")
        case "scientific":
            return humanize.scientific(number, s.digits)
        case "size":
            return humanize.naturalsize(s.real, s.flag, s.digits > 6, f"%.{s.digits}f")
        case "time":
            value = s.moment if s.digits > 4 else s.delta
            return humanize.naturaltime(value, s.flag, s.digits % 2 > 0, unit, s.when)


@generator
def gen_decimal(r: Source) -> Decimal:
    return Decimal(gen_number(r, erroneous=0)).scaleb(r.integer(-3, 30))


@generator
def gen_fraction(r: Source) -> Fraction:
    return Fraction(r.integer(-40, 40), r.integer(1, 16))


@generator
def gen_real(r: Source) -> float:
    return r.real(-1000, 1000) * 10.0 ** r.integer(-30, 30)


@generator
def gen_delta(r: Source) -> timedelta:
    exact = timedelta(milliseconds=r.below(1000), microseconds=r.below(1000))
    return gen_timedelta(r, days=r.choose([0, 1, 40, 4000])) + (
        exact if r.boolean() else timedelta()
    )


@generator
def gen_unit(r: Source) -> Unit:
    return r.choose(list(Unit))


@generator
def gen_saying(r: Source) -> Saying:
    moment = gen_datetime(r)
    return Saying(
        form=r.choose(FORMS),
        number=gen_decimal(r),
        fraction=gen_fraction(r),
        real=gen_real(r),
        text=gen_number(r) if r.below(8) else gen_word(r),
        delta=gen_delta(r),
        moment=moment,
        when=moment + gen_delta(r) if r.boolean() else gen_datetime(r),
        unit=gen_unit(r),
        suppress=[gen_unit(r) for _ in r.more(0, 3, continues=0.5)],
        digits=r.below(10),
        flag=r.boolean(),
    )

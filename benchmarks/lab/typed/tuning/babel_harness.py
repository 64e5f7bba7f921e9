"""babel: one number, date, time or duration as a locale writes it, in a width or by a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

from babel import Locale, dates, lists, numbers, units
from babel.dates import DateTimePattern
from babel.numbers import NumberPattern
from babel.plural import PluralRule

from fuzztui.generators import Source, gen_date, gen_datetime, gen_number, gen_timedelta, generator

LOCALES = [
    Locale.parse(name)
    for name in [
        "en_US",
        "de_AT",
        "fr_CA",
        "hi_IN",
        "ar_EG",
        "ru",
        "pl",
        "ja",
        "zh_Hant_TW",
        "he",
        "sv",
    ]
]
WIDTHS = ["short", "medium", "long", "full"]
CURRENCIES = ["EUR", "USD", "JPY", "KWD", "INR"]
UNITS = ["length-meter", "hour", "byte", "celsius", "mass-kilogram", "liter", "person"]


KINDS = [
    "decimal", "pattern", "currency", "compact", "percent", "scientific", "read", "date",
    "datetime", "time", "picture", "delta", "interval", "zone", "parse", "unit", "per", "list",
    "plural",
]  # fmt: skip


@dataclass
class Text:
    """What is written, of which value, and how."""

    kind: str
    locale: Locale
    number: Decimal
    day: date
    moment: datetime
    clock: time
    delta: timedelta
    zone: tzinfo
    pattern: NumberPattern
    picture: DateTimePattern
    rule: PluralRule
    width: str
    flag: bool
    choice: int


def of(options: list[str], t: Text) -> str:
    return options[t.choice % len(options)]


def show(t: Text) -> object:
    match t.kind:
        case "decimal":
            return numbers.format_decimal(t.number, None, t.locale, t.flag)
        case "pattern":
            return t.pattern.apply(t.number, t.locale, of(CURRENCIES, t))
        case "currency":
            return numbers.format_currency(
                t.number,
                of(CURRENCIES, t),
                None,
                t.locale,
                t.flag,
                format_type=of(["standard", "accounting", "name"], t),
            )
        case "compact":
            return (
                numbers.format_compact_decimal(
                    t.number,
                    format_type="long" if t.flag else "short",
                    locale=t.locale,
                    fraction_digits=t.choice,
                ),
                numbers.format_compact_currency(t.number, of(CURRENCIES, t), locale=t.locale),
            )
        case "percent":
            return numbers.format_percent(t.number, None, t.locale, t.flag)
        case "scientific":
            return numbers.format_scientific(t.number, None, t.locale, t.flag)
        case "read":
            return numbers.parse_decimal(
                numbers.format_decimal(t.number, locale=t.locale), t.locale, strict=t.flag
            )
        case "date":
            return dates.format_date(t.day, t.width, t.locale)
        case "datetime":
            return dates.format_datetime(t.moment, t.width, t.zone, t.locale)
        case "time":
            return dates.format_time(t.clock, t.width, t.zone, t.locale)
        case "picture":
            return t.picture.apply(t.moment, t.locale)
        case "delta":
            return dates.format_timedelta(
                t.delta,
                of(["second", "hour", "day", "week", "year"], t),
                0.85,
                t.flag,
                of(["narrow", "short", "long"], t),
                t.locale,
            )
        case "interval":
            return dates.format_interval(
                t.moment,
                t.moment + t.delta,
                of(["yMMMd", "MMMd", "Hm", "yM", None], t),
                t.zone,
                t.flag,
                t.locale,
            )
        case "zone":
            return (
                dates.get_timezone_gmt(t.moment, "short" if t.flag else "long", t.locale),
                dates.get_timezone_name(
                    t.zone,
                    "short" if t.flag else "long",
                    locale=t.locale,
                    zone_variant=of(["generic", "standard", "daylight"], t),
                ),
                dates.get_timezone_location(t.zone, t.locale, t.flag),
            )
        case "parse":
            return dates.parse_date(dates.format_date(t.day, "short", t.locale), t.locale)
        case "unit":
            return units.format_unit(t.number, of(UNITS, t), t.width, locale=t.locale)
        case "per":
            return units.format_compound_unit(
                t.number, of(UNITS, t), t.clock.hour, "duration-hour", locale=t.locale
            )
        case "list":
            return lists.format_list(WIDTHS[: t.choice], "or" if t.flag else "unit", t.locale)
        case "plural":
            return (t.rule(t.number), t.locale.plural_form(t.number))


@generator
def gen_locale(r: Source) -> Locale:
    return r.choose(LOCALES)


@generator
def gen_decimal(r: Source) -> Decimal:
    return Decimal(gen_number(r, erroneous=0))


@generator
def gen_time(r: Source) -> time:
    return gen_datetime(r).timetz()


@generator
def gen_zone(r: Source) -> tzinfo:
    return ZoneInfo(r.choose(["UTC", "Europe/London", "America/Los_Angeles", "Asia/Kolkata"]))


@generator
def gen_pattern(r: Source) -> NumberPattern:
    whole = "#" * r.below(3) + r.choose(["", "#,##", "##,##"]) + "0" * r.integer(1, 3)
    fraction = "." + "0" * r.below(3) + "#" * r.integer(1, 3) if r.boolean() else ""
    exponent = r.choose(["E0", "E+00"]) if r.below(6) == 0 else ""
    mark = r.choose(["", "%", "‰", " ¤", "¤¤¤"])
    return numbers.parse_pattern(whole + fraction + exponent + mark)


@generator
def gen_picture(r: Source) -> DateTimePattern:
    letters = [r.choose(list(dates.PATTERN_CHARS)) for _ in r.more(1, 6)]
    fields = [letter * r.choose(dates.PATTERN_CHARS[letter] or [1, 2, 4]) for letter in letters]
    return dates.parse_pattern(r.choose([" ", "-", ", ", " 'o' "]).join(fields))


@generator
def gen_rule(r: Source) -> PluralRule:
    return PluralRule({
        tag: f"{r.choose('nivwft')} {r.choose(['', '% 10 ', '% 100 '])}"
        f"{r.choose(['=', '!='])} {r.integer(0, 9)}..{r.integer(10, 20)}"
        for tag in ["one", "few", "many"][: r.integer(1, 3)]
    })  # fmt: skip


@generator
def gen_text(r: Source) -> Text:
    return Text(
        r.choose(KINDS), gen_locale(r), gen_decimal(r), gen_date(r), gen_datetime(r),
        gen_time(r), gen_timedelta(r), gen_zone(r), gen_pattern(r), gen_picture(r), gen_rule(r),
        r.choose(WIDTHS), r.boolean(), r.below(12),
    )  # fmt: skip

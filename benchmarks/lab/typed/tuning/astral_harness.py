"""astral: one question about the sun or the moon, for an observer, a day and a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from astral import Depression, LocationInfo, Observer, SunDirection, moon, sun
from astral.location import Location

from fuzztui.generators import Source, gen_date, gen_datetime, gen_word, generator

KINDS = [
    "dawn", "sunrise", "noon", "midnight", "sunset", "dusk", "daylight", "night", "twilight",
    "golden", "blue", "rahukaalam", "all", "angles", "at", "phase", "moonrise", "moonset",
    "moon", "location",
]  # fmt: skip


@dataclass
class Question:
    """What is asked, and everything that the answer may depend on."""

    about: str
    observer: Observer
    place: LocationInfo
    day: date
    moment: datetime
    zone: tzinfo
    direction: SunDirection
    depression: Depression | float
    flag: bool


def answer(q: Question) -> object:
    match q.about:
        case "dawn":
            return sun.dawn(q.observer, q.day, q.depression, q.zone)
        case "sunrise":
            return sun.sunrise(q.observer, q.day, q.zone)
        case "noon":
            return sun.noon(q.observer, q.day, q.zone)
        case "midnight":
            return sun.midnight(q.observer, q.day, q.zone)
        case "sunset":
            return sun.sunset(q.observer, q.day, q.zone)
        case "dusk":
            return sun.dusk(q.observer, q.day, q.depression, q.zone)
        case "daylight":
            return sun.daylight(q.observer, q.day, q.zone)
        case "night":
            return sun.night(q.observer, q.day, q.zone)
        case "twilight":
            return sun.twilight(q.observer, q.day, q.direction, q.zone)
        case "golden":
            return sun.golden_hour(q.observer, q.day, q.direction, q.zone)
        case "blue":
            return sun.blue_hour(q.observer, q.day, q.direction, q.zone)
        case "rahukaalam":
            return sun.rahukaalam(q.observer, q.day, q.flag, q.zone)
        case "all":
            return sun.sun(q.observer, q.day, dawn_dusk_depression=q.depression, tzinfo=q.zone)
        case "angles":
            return (sun.zenith(q.observer, q.moment, q.flag), sun.azimuth(q.observer, q.moment))
        case "at":
            return sun.time_at_elevation(
                q.observer, float(q.observer.latitude) / 3, q.day, q.direction, q.zone, q.flag
            )
        case "phase":
            return moon.phase(q.day)
        case "moonrise":
            return moon.moonrise(q.observer, q.day, q.zone)
        case "moonset":
            return moon.moonset(q.observer, q.day, q.zone)
        case "moon":
            return (moon.zenith(q.observer, q.moment), moon.azimuth(q.observer, q.moment))
        case "location":
            return at_location(Location(q.place), q)


def at_location(location: Location, q: Question) -> object:
    location.solar_depression = q.depression
    local = [location.sunrise, location.dusk, location.moonset, location.time_at_elevation]
    if q.flag:
        return location.sun(q.day), location.solar_elevation(q.moment), repr(location)
    ask = local[q.day.day % len(local)]
    return ask(12.5, q.day) if ask == location.time_at_elevation else ask(q.day, local=False)


@generator
def gen_angle(r: Source, most: int, signs: str) -> float | str:
    """As a number, or in degrees and minutes as on a map."""
    if r.below(4):
        return r.real(-most, most)
    return f"{r.integer(0, most - 1)}°{r.integer(0, 59)}'{r.choose(signs)}"


@generator
def gen_observer(r: Source) -> Observer:
    height = r.real(0, 4000) if r.below(4) else (r.real(-200, 200), r.real(0, 5000))
    return Observer(gen_angle(r, 90, "NS"), gen_angle(r, 180, "EW"), height)


@generator
def gen_zone(r: Source) -> tzinfo:
    if r.boolean():
        return timezone(timedelta(minutes=30 * r.integer(-24, 28)))
    return ZoneInfo(r.choose(["UTC", "Europe/Berlin", "Pacific/Auckland", "America/New_York"]))


@generator
def gen_place(r: Source) -> LocationInfo:
    zone = r.choose(["UTC", "Asia/Kathmandu", "Africa/Cairo", "Pacific/Kiritimati"])
    return LocationInfo(gen_word(r), gen_word(r), zone, r.real(-90, 90), r.real(-180, 180))


@generator
def gen_direction(r: Source) -> SunDirection:
    return r.choose(list(SunDirection))


@generator
def gen_depression(r: Source) -> Depression | float:
    return r.choose(list(Depression)) if r.boolean() else r.real(-1, 25)


@generator
def gen_question(r: Source) -> Question:
    return Question(
        r.choose(KINDS), gen_observer(r), gen_place(r), gen_date(r), gen_datetime(r),
        gen_zone(r), gen_direction(r), gen_depression(r), r.boolean(),
    )  # fmt: skip

"""icalendar: a calendar of typed parts, written, read again and asked for its times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import icalendar as ical

from fuzztui.generators import (
    Source,
    gen_date,
    gen_datetime,
    gen_text,
    gen_timedelta,
    gen_word,
    generator,
)  # fmt: skip


def exchange(calendar: ical.Calendar) -> object:
    text = calendar.to_ical(sorted=len(calendar.subcomponents) % 2 == 0)
    again = ical.Calendar.from_ical(text)
    found: list[object] = [again == calendar, again.to_jcal(), again.calendar_name]
    found += [times(part) for part in again.walk() if isinstance(part, ical.Event | ical.Todo)]
    found += [zone.to_tz().tzname(datetime(2024, 6, 1)) for zone in again.timezones]
    return found


def times(part: ical.Event | ical.Todo) -> object:
    alarms = ical.Alarms(part)
    alarms.set_local_timezone("UTC")
    return part.start, part.end, part.duration, [(a.trigger, a.is_active()) for a in alarms.times]


@generator
def gen_moment(r: Source) -> date | datetime:
    """A day, or a time: in a zone, with an offset or without either."""
    if r.below(3) == 0:
        return gen_date(r)
    moment = gen_datetime(r).replace(microsecond=0)
    if r.boolean():
        zone = r.choose(["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"])
        moment = moment.replace(tzinfo=ZoneInfo(zone))
    return moment


@generator
def gen_recur(r: Source) -> ical.vRecur:
    rule: dict[str, object] = {
        "freq": r.choose(["yearly", "monthly", "weekly", "daily", "hourly"]),
        "interval": r.integer(1, 5),
    }
    if r.boolean():
        rule["byday"] = [
            r.choose(["", "1", "-1"]) + r.choose(["MO", "TH", "SU"]) for _ in r.more(1, 3)
        ]
    if r.boolean():
        rule["bymonth"] = [r.integer(1, 12) for _ in r.more(1, 3)]
    if r.boolean():
        rule["count"] = r.integer(1, 30)
    else:
        rule["until"] = gen_moment(r)
    return ical.vRecur(rule)


@generator
def gen_period(r: Source) -> ical.vPeriod:
    start = gen_datetime(r).replace(microsecond=0)
    length = abs(gen_timedelta(r, days=3))
    return ical.vPeriod((start, length if r.boolean() else start + length))


@generator
def gen_address(r: Source) -> ical.vCalAddress:
    address = ical.vCalAddress(f"mailto:{gen_word(r)}@example.com")
    address.params["cn"] = ical.vText(gen_text(r, most=2))
    address.params["partstat"] = r.choose(["ACCEPTED", "DECLINED", "TENTATIVE", "NEEDS-ACTION"])
    return address


@generator
def gen_geo(r: Source) -> ical.vGeo:
    return ical.vGeo((r.real(-90, 90), r.real(-180, 180)))


@generator
def gen_alarm(r: Source) -> ical.Alarm:
    alarm = ical.Alarm()
    alarm.add("action", r.choose(["DISPLAY", "AUDIO", "EMAIL"]))
    trigger = ical.vDDDTypes(gen_timedelta(r, days=7) if r.below(3) else gen_datetime(r))
    if r.boolean():
        trigger.params["related"] = r.choose(["START", "END"])
    alarm.add("trigger", trigger)
    if r.boolean():
        alarm.add("repeat", r.integer(1, 4))
        alarm.add("duration", abs(gen_timedelta(r, days=1)))
    return alarm


PARTS: dict[str, Callable[[Source], object]] = {
    "summary": gen_text, "description": gen_text, "geo": gen_geo, "rrule": gen_recur,
    "attendee": gen_address, "organizer": gen_address, "exdate": lambda r: [gen_moment(r)],
    "rdate": lambda r: [gen_period(r).dt], "categories": lambda r: [gen_word(r), gen_word(r)],
    "url": lambda r: ical.vUri(f"https://example.com/{gen_word(r)}"),
    "priority": lambda r: r.below(10),
    "recurrence-id": gen_moment, "last-modified": gen_datetime, "class": gen_word,
}  # fmt: skip


def fill(r: Source, part: ical.Component, end: str) -> None:
    part.add("uid", gen_word(r))
    part.add("dtstamp", gen_datetime(r))
    start = gen_moment(r)
    if r.below(16):
        part.add("dtstart", start)
    if end and r.below(4):
        length = abs(gen_timedelta(r, days=9))
        if r.below(16) and not isinstance(start, datetime):
            length = timedelta(length.days)
        after = gen_moment(r) if r.below(16) == 0 else start + length
        part.add(*r.choose([("duration", length), (end, after)]))
    for _ in r.more(0, 5):
        name = r.choose(list(PARTS))
        part.add(name, PARTS[name](r))
    for _ in r.more(0, 2, continues=0.4):
        part.add_component(gen_alarm(r))


@generator
def gen_event(r: Source) -> ical.Event:
    fill(r, event := ical.Event(), "dtend")
    return event


@generator
def gen_todo(r: Source) -> ical.Todo:
    fill(r, todo := ical.Todo(), "due")
    return todo


@generator
def gen_journal(r: Source) -> ical.Journal:
    fill(r, journal := ical.Journal(), "")
    return journal


@generator
def gen_freebusy(r: Source) -> ical.FreeBusy:
    busy = ical.FreeBusy()
    busy.add("uid", gen_word(r))
    busy.add("freebusy", [gen_period(r) for _ in r.more(1, 3)])
    return busy


@generator
def gen_timezone(r: Source) -> ical.Timezone:
    zone = ical.Timezone()
    zone.add("tzid", gen_word(r))
    for kind in (ical.TimezoneStandard, ical.TimezoneDaylight)[: r.integer(1, 2)]:
        change = kind()
        change.add("dtstart", gen_datetime(r).replace(tzinfo=None, microsecond=0))
        change.add("tzname", gen_word(r))
        for name in ("tzoffsetfrom", "tzoffsetto"):
            change.add(name, timedelta(minutes=15 * r.integer(-48, 56)))
        zone.add_component(change)
    return zone


@generator
def gen_calendar(r: Source) -> ical.Calendar:
    calendar = ical.Calendar()
    calendar.add("prodid", gen_word(r))
    calendar.add("version", "2.0")
    makers = [gen_event, gen_event, gen_todo, gen_journal, gen_freebusy, gen_timezone]
    for _ in r.more(1, 4, continues=0.5):
        calendar.add_component(r.choose(makers)(r))
    return calendar

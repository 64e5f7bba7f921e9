"""The log screen: follows, filters, pages through any number of records."""

import pytest
from fakes import running, started
from mutated import mutated

from fuzztui.kernel.wire import events as ev


@pytest.mark.slow
async def test_it_follows_at_the_end_and_stays_elsewhere(drive):
    async with drive(running(), press="5", shows="#96") as d:
        d.log.add(ev.Message("warning", "the newest words"))
        await d.until(lambda: "the newest words" in d.lines()[-2])
        await d.until(lambda: "v shows all fields" in d.text())  # its fields, beside it
        await d.press("k", "k")
        key = d.table.cursor
        d.log.add(ev.Message("info", "newer still"))
        await d.until(lambda: d.app.campaign.seq == len(d.log.records))
        await d.pilot.pause()
        assert d.table.cursor == key
        await d.press("G")
        await d.until_shows("newer still")


@pytest.mark.slow
async def test_figures_are_left_out_until_asked_for(drive):
    async with drive(running(), press="5") as d:
        await d.until(lambda: len(d.table.source) > 0)
        assert "stats" not in d.text()
        for kind, word in (
            ("saved", "entry"), ("commands", ""), ("instances", "hello"),
            ("messages", "campaign"), ("stats", "stats"), ("everything", "stats"),
        ):  # fmt: skip
            await d.press("f")
            await d.until(lambda kind=kind: f"{kind} " in d.lines()[2])
            if word:
                await d.until_shows(word)
        assert len(d.table.source) == len(d.log.records)
    async with drive(mutated(seconds=60)) as d:  # mutants, where there are any
        await d.press("5", "f", "f")
        await d.until(lambda: "mutants " in d.lines()[2])


@pytest.mark.slow
async def test_by_instance_and_by_words(drive):
    async with drive(running(), press="5") as d:
        await d.until(lambda: d.table.current is not None)
        await d.press("i")
        instance = "main"
        await d.until_shows(f"events of {instance}")
        await d.press("i", "slash", *"keyerror")
        await d.until(lambda: len(d.table.source) == 3)
        await d.press("escape")
        await d.until(lambda: len(d.table.source) > 100)


async def test_a_long_log_is_read_by_the_page(drive):
    log = started()
    for n in range(5000):
        log.add(ev.Message("info", f"message number {n}"), dt=0.01)
    async with drive(log, press="5", shows="message number 4999") as d:
        await d.press("g")
        await d.until_shows("message number 1")
        for _ in range(3):
            await d.press("pagedown")
        await d.until_shows("message number 90")
        assert len(d.screen.source._pages) < 8


@pytest.mark.slow
async def test_every_field_of_a_record_is_shown(drive):
    async with drive(running(), press=["5", "v", "f", "slash", *"keyerror"]) as d:
        await d.until(lambda: "category" in d.text())  # a field of the record


@pytest.mark.slow
async def test_a_reader_that_fails_is_said_and_tried_again(drive):
    async with drive(running()) as d:
        broken = d.app._opening.reader

        def fail():
            raise OSError("the disk [/x] is gone")

        object.__setattr__(d.app._opening, "reader", fail)
        await d.press("5")
        await d.until_shows("the disk [/x] is gone")
        object.__setattr__(d.app._opening, "reader", broken)
        d.log.add(ev.Message("info", "it is back"))
        await d.until_shows("it is back")


async def test_one_key_removes_all_filters(drive):
    async with drive(running(), press="5") as d:
        every = d.screen.source.query
        await d.press("f")
        await d.until(lambda: d.table.current is not None)  # whose instance i takes
        await d.press("i", "slash", *"new", "enter")
        filters = ("text", "group", "instance")
        await d.until(
            lambda: all(getattr(d.screen.source.query, f) != getattr(every, f) for f in filters)
        )
        await d.press("escape")
        await d.until(lambda: d.screen.source.query == every)

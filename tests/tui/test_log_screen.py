"""The log screen: follows, filters, pages through any number of records."""

import pytest
from fakes import running, started
from mutated import mutated

from fuzztui.kernel.wire import events as ev


@pytest.mark.slow
async def test_it_follows_at_the_end_and_stays_elsewhere(drive):
    log = running()
    async with drive(log) as d:
        await d.press("5")
        await d.until(lambda: "#96" in d.text())
        log.add(ev.Message("warning", "the newest words"))
        await d.until(lambda: "the newest words" in d.lines()[-2])
        await d.until(lambda: "v shows all fields" in d.text())  # its fields, beside it
        await d.press("k", "k")
        key = d.table.cursor
        log.add(ev.Message("info", "newer still"))
        await d.until(lambda: d.app.campaign.seq == len(log.records))
        await d.pilot.pause()
        assert d.table.cursor == key
        await d.press("G")
        await d.until(lambda: "newer still" in d.text())


@pytest.mark.slow
async def test_figures_are_left_out_until_asked_for(drive):
    async with drive(running()) as d:
        await d.press("5")
        await d.until(lambda: len(d.table.source) > 0)
        assert "stats" not in d.text()
        for kind, word in (
            ("saved", "entry"), ("commands", ""), ("instances", "hello"),
            ("messages", "campaign"), ("stats", "stats"), ("everything", "stats"),
        ):  # fmt: skip
            await d.press("f")
            await d.until(lambda kind=kind: f"{kind} " in d.lines()[2])
            if word:
                await d.until(lambda word=word: word in d.text())
        assert len(d.table.source) == len(d.world.log.records)
    async with drive(mutated(seconds=60)) as d:  # mutants, where there are any
        await d.press("5", "f", "f")
        await d.until(lambda: "mutants " in d.lines()[2])


@pytest.mark.slow
async def test_by_instance_and_by_words(drive):
    async with drive(running()) as d:
        await d.press("5")
        await d.until(lambda: d.table.current is not None)
        await d.press("i")
        instance = "main"
        await d.until(lambda: f"events of {instance}" in d.text())
        await d.press("i", "slash", *"keyerror")
        await d.until(lambda: len(d.table.source) == 3)
        await d.press("escape")
        await d.until(lambda: len(d.table.source) > 100)


async def test_a_long_log_is_read_by_the_page(drive):
    log = started()
    for n in range(5000):
        log.add(ev.Message("info", f"message number {n}"), dt=0.01)
    async with drive(log) as d:
        await d.press("5")
        await d.until(lambda: "message number 4999" in d.text())
        await d.press("g")
        await d.until(lambda: "message number 1" in d.text())
        for _ in range(3):
            await d.press("pagedown")
        await d.until(lambda: "message number 90" in d.text())
        assert len(d.screen.source._pages) < 8


@pytest.mark.slow
async def test_every_field_of_a_record_is_shown(drive):
    async with drive(running()) as d:
        await d.press("5", "v", "f", "slash", *"keyerror")
        await d.until(lambda: "category" in d.text())  # a field of the record


@pytest.mark.slow
async def test_a_reader_that_fails_is_said_and_tried_again(drive):
    log = running()
    async with drive(log) as d:
        broken = d.app._opening.reader

        def fail():
            raise OSError("the disk [/x] is gone")

        object.__setattr__(d.app._opening, "reader", fail)
        await d.press("5")
        await d.until(lambda: "the disk [/x] is gone" in d.text())
        object.__setattr__(d.app._opening, "reader", broken)
        log.add(ev.Message("info", "it is back"))
        await d.until(lambda: "it is back" in d.text())

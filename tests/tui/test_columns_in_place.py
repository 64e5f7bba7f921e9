"""Columns stay where they are when a row is steered, and no counter stands over their titles."""

import re

import pytest
from fakes import running, started
from mutated import found, mutated
from turnlog import ids, midway

from fuzztui.kernel.wire import events as ev
from fuzztui.tui.base.columns import GAP, NARROW

pytestmark = pytest.mark.slow

SIZES = [(80, 24), (120, 40), (220, 50)]


def places(table):
    """The first cell of each column that is shown, by its id."""
    x, found = 1, {}
    for column, width in table._layout.cells:
        found[column.id] = x
        x += width + GAP
    return found


def first_entry(steer):
    return ev.EntryDescribed("main", 0, ["seed"], 5, True, "success", steer)


def mutant(id):
    return {
        "promoted": ev.MutantState("", id, "pending", steer="promoted"),
        "skipped": ev.MutantState("", id, "skipped"),
        "equivalent": ev.MutantState("", id, "equivalent", reason="the same for all inputs"),
    }


WAITING = ids(40)[6]
TABLES = {
    "corpus": (
        running, "2", "main/0",
        [("u", first_entry("promoted")), ("d", first_entry("skipped"))],
    ),
    "mutants": (
        mutated, "4", None,
        [("u", "promoted"), ("d", "skipped"), ("equals_sign", "equivalent")],
    ),
    "queue": (
        midway, "4", WAITING,
        [("u", "promoted"), ("d", "skipped"), ("equals_sign", "equivalent")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
@pytest.mark.parametrize("kind", TABLES)
async def test_steering_a_row_moves_no_column(drive, kind, size):
    make, tab, key, steps = TABLES[kind]
    async with drive(make(), size=size, silent=True, press=[tab]) as d:
        await d.until(lambda: d.table.source)
        if key is None:
            living = (m.id for m in d.app.campaign.mutants.values() if m.state == "alive")
            key = next(living)
        d.table.go_to(key)
        await d.still()
        before = places(d.table)
        assert len(before) > 4
        for number, (pressed, event) in enumerate(steps, 1):
            await d.press(pressed)
            if pressed == "equals_sign":
                await d.press(*"why", "enter")
            await d.until(lambda n=number: len(d.commands) == n)
            await d.until(lambda: d.app.campaign.seq == len(d.log.records))
            await d.pilot.pause()
            if number == 1 and size[0] < NARROW:  # the column of commands was empty
                before = places(d.table)
            assert places(d.table) == before, f"{pressed}: asked"
            d.log.add(ev.CommandApplied(f"c{number}", "main", 9))
            d.log.add(mutant(key)[event] if isinstance(event, str) else event)
            await d.until(lambda: d.app.campaign.seq == len(d.log.records))
            d.table.go_to(key)
            await d.pilot.pause()
            assert places(d.table) == before, f"{pressed}: applied"


@pytest.mark.parametrize("width", [80, 120])
async def test_a_narrow_table_keeps_no_room_for_an_empty_column(drive, width):
    log = started("m", engine="mu2").add(ev.InstanceState("main", "running", 5001))
    found(log, 20)
    async with drive(log, size=(width, 24), press="4") as d:
        await d.until(lambda: d.table.source)
        narrow = places(d.table)
        assert ("steer" in narrow) == (width >= NARROW)
        d.log.add(ev.MutantState("", d.table.cursor, "pending", steer="promoted"))
        await d.until(lambda: "steer" in places(d.table))


@pytest.mark.parametrize("make", [mutated, midway])
async def test_the_counter_stands_over_no_title_at_any_width(drive, make):
    async with drive(make(), size=(220, 40), press="4f") as d:
        shown = set()
        for width in range(40, 221, 3):
            await d.pilot.resize_terminal(width, 40)
            await d.pilot.pause()
            header = d.table.render_line(0).text
            in_view = header.rstrip().removesuffix("›").split()
            for column, cells in d.table._layout.cells:
                x = places(d.table)[column.id]
                if column.title and x + cells <= d.table.size.width - 1:
                    title = header[x : x + cells]
                    assert column.title in title, (width, header)
            shown.update(word for word in in_view if re.fullmatch(r"\d+/\d+", word))
        assert len(shown) == 1  # it is there at most widths, and never cut


async def test_a_counter_without_room_is_shorter(drive):
    async with drive(mutated(), size=(120, 40), press="4") as d:
        d.table.set_caption("x" * 400, "y" * 300)
        await d.pilot.pause()
        assert not {"x", "y"} & set(re.findall(r"x|y{2}", d.table.render_line(0).text))
        d.table.set_caption("x" * 400, "12/34")
        await d.pilot.pause()
        assert " 12/34 " in d.table.render_line(0).text

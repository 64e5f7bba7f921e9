"""The big table by itself: keys, mouse, sorting, widths, wide characters."""

from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual import on

from fuzztui.tui.base.columns import GAP, LEAST, Column, Layout, widths
from fuzztui.tui.base.themed import ThemedApp
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.table import BigTable


@dataclass
class Item:
    key: str
    n: int
    note: str = ""


def columns():
    return [
        Column("key", "key", lambda r: (r.key, "bold"), lambda r: r.key),
        Column("n", "n", lambda r: (str(r.n), "edge"), lambda r: r.n, "right", descending=True),
        Column("note", "note", lambda r: (r.note, ""), flex=True, min=6),
        Column("wide", "wide", lambda r: ("w", ""), needs=100),
    ]


class Demo(ThemedApp):
    def __init__(self, items, **options):
        super().__init__()
        self.items = items
        self.grid = BigTable(columns(), **options)
        self.events = []

    def compose(self):
        yield self.grid

    def on_mount(self):
        self.grid.load(self.items)
        self.grid.focus()

    def action_perform(self, action_id):
        self.perform(action_id)

    def perform(self, action_id):
        name, args = BY_ID[action_id].method
        getattr(self.grid, name)(*args)

    @on(BigTable.Highlighted)
    def _highlighted(self, event):
        self.events.append((type(event).__name__, event.key))

    def lines(self):
        strips = self.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


@asynccontextmanager
async def shown(items, size=(80, 20), **options):
    """A table of these items, and its pilot."""
    app = Demo(items, **options)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


def make(n):
    return {f"k{i:06d}": Item(f"k{i:06d}", i * 7919 % 1000, "note") for i in range(n)}


@pytest.mark.slow
async def test_a_hundred_thousand_rows():
    async with shown(make(100_000)) as (app, pilot):
        assert app.lines()[1].startswith(" k000000")
        await pilot.press("end")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.grid.cursor == "k099999"
        assert app.lines()[-1].startswith(" k099999")
        await pilot.press("pageup", "k", "up")
        await pilot.pause()
        assert app.grid.cursor == "k099978"
        await pilot.press("home", "pagedown", "j", "down")
        assert app.grid.cursor == "k000021"


async def test_the_cursor_is_kept_by_key_through_sorting():
    async with shown(make(500)) as (app, pilot):
        await pilot.press("j", "j")
        await pilot.press("s", "k", "enter")  # by key
        await pilot.press("s", "s", "enter")  # by n, largest first
        await pilot.pause()
        assert app.lines()[0].split()[1:3] == ["n", "▼"]
        assert app.grid.cursor == "k000002"
        assert any("k000002" in line for line in app.lines())
        assert app.grid.rows.reverse
        await pilot.press("S")
        await pilot.pause()
        assert app.lines()[0].split()[1:3] == ["n", "▲"]
        assert app.grid.cursor == "k000002"
        await pilot.press("s", "a", "enter")  # as they came
        assert app.grid.rows.sort_column is None


async def test_clicks_sort_move_and_select():
    async with shown(make(50)) as (app, pilot):
        await pilot.click(offset=(12, 0))
        await pilot.pause()
        assert app.grid.rows.sort_column.id == "n"
        assert app.grid.rows.reverse
        await pilot.click(offset=(12, 0))
        assert not app.grid.rows.reverse
        await pilot.click(offset=(3, 5))
        await pilot.pause()
        key = app.grid.cursor
        assert app.lines()[5].startswith(f" {key}")
        await pilot.click(offset=(3, 5))
        await pilot.press("enter")
        await pilot.pause()
        assert app.events[-2:] == [("Selected", key)] * 2


async def test_only_rows_that_changed_are_painted():
    items = make(1000)
    async with shown(items) as (app, pilot):
        regions = []
        refresh = app.grid.refresh
        app.grid.refresh = lambda *r, **k: (regions.extend(r), refresh(*r, **k))[1]
        items["k000900"] = Item("k000900", 1)
        drawn = []
        line = app.grid._line
        app.grid._line = lambda *a: (drawn.append(a), line(*a))[1]
        app.grid.touch(["k000900"])  # out of sight
        assert regions == drawn == []
        items["k000003"] = Item("k000003", 5, "note")
        app.grid.touch(["k000003"])
        await pilot.pause()
        assert [(r.y, r.height) for r in regions] == [(4, 1)]
        assert regions[0].width < 20
        assert app.lines()[4].split()[1] == "5"
        app.grid.go_to("k000900")
        await pilot.pause()
        assert next(n for n in app.lines() if "k000900" in n).split()[1] == "1"


async def test_the_scrollbar_is_drawn_only_where_it_changes():
    async with shown(make(10_000)) as (app, _):
        bar = app.grid.vertical_scrollbar
        seen = set()
        for row in range(0, 1_000, 5):
            app.grid.move_to(row)
            seen.add(bar.position)
        assert 8 <= len(seen) <= 20  # two cells, of eight parts each
        for row, y in ((9_999, 10_001 - 20), (0, 0)):
            app.grid.move_to(row)
            assert bar.position == app.grid.scroll_y == y


async def test_rows_that_come_in_above_do_not_move_what_is_looked_at():
    items = make(200)
    async with shown(items) as (app, pilot):
        app.grid.sort_by(app.grid.columns[1], True)
        for _ in range(30):
            await pilot.press("j")
        await pilot.pause()
        key = app.grid.cursor
        line = next(i for i, text in enumerate(app.lines()) if key in text)
        for i in range(5):
            items[f"new{i}"] = Item(f"new{i}", 5000)
        app.grid.touch([f"new{i}" for i in range(5)])
        await pilot.pause()
        assert app.grid.cursor == key
        assert key in app.lines()[line]


async def test_when_its_row_goes_the_cursor_stays_where_it_was():
    items = make(10)
    async with shown(items) as (app, pilot):
        await pilot.press("j", "j")
        del items["k000002"]
        app.grid.touch(["k000002"])
        assert app.grid.cursor == "k000003"
        items.clear()
        app.grid.load(items)
        await pilot.pause()
        assert app.grid.cursor is None
        assert app.grid.current is None
        await pilot.press("j", "G", "enter", "s", "escape", "pagedown")
        assert app.events[-1] == ("Highlighted", None)


@pytest.mark.parametrize("above", [0, 5, 40])
async def test_what_is_sent_away_leaves_cursor_and_view_where_they_are(above):
    items = make(100)
    async with shown(items) as (app, pilot):
        app.grid.sort_by(app.grid.columns[1])
        keys = [app.grid.source.key(i) for i in range(100)]
        app.grid.move_to(above)
        await pilot.pause()
        before = app.lines()
        sent = []
        for _ in range(3):
            sent.append(app.grid.cursor)
            app.grid.move_on()
        assert sent == keys[above : above + 3]
        for key in sent:  # answered one by one
            items[key].n = 10_000
            app.grid.touch([key])
        await pilot.pause()
        assert app.grid.cursor == keys[above + 3]
        line = next(i for i, text in enumerate(before) if sent[0] in text)
        assert keys[above + 3] in app.lines()[line]
        # Someone else's row: what the eye is on stays where it is, as ever.
        if above == 40:
            items[keys[0]].n = 10_000
            app.grid.touch([keys[0]])
            await pilot.pause()
            assert keys[above + 3] in app.lines()[line]


async def test_at_the_end_what_is_sent_away_turns_the_cursor_back():
    items = make(10)
    async with shown(items) as (app, _):
        app.grid.move_to(8)
        app.grid.move_on(lambda row: row.key != "k000009")
        assert app.grid.cursor == "k000007"
        app.grid.move_on(lambda row: False)
        assert app.grid.cursor == "k000007"
        app.grid.show_columns(columns())
        app.grid.load({})
        app.grid.move_on()
        assert app.grid.cursor is None


def test_what_is_left_goes_first_to_who_wants_more_then_to_who_takes_all():
    where = Column("where", "where", lambda r: (r, ""), max=10, more=30, give=5)
    kinds = Column("kinds", "kinds", lambda r: (r, ""), max=20, min=6, flex=True)

    def at(room, *wanted):
        return widths([where, kinds], wanted, room + GAP)

    assert at(200, 25, 50) == [25, 175]
    assert at(200, 60, 50) == [40, 160]
    assert at(35, 25, 50) == [15, 20]
    assert at(30, 25, 50) == [10, 20]
    assert at(20, 25, 50) == [10, 10]
    assert at(12, 25, 50) == [6, 6]
    assert at(200, 4, 50) == [5, 195]


async def test_an_empty_table_says_so():
    async with shown({}, empty="nothing [/x] yet\x1b", size=(40, 6)) as (app, _):
        assert "nothing [/x] yet\\e" in "\n".join(app.lines())


async def test_following_the_end():
    items = make(50)
    async with shown(items, follow=True, size=(40, 10)) as (app, pilot):
        assert app.grid.cursor == "k000049"
        items["z"] = Item("z", 1)
        app.grid.touch(["z"])
        await pilot.pause()
        assert app.grid.cursor == "z"
        assert app.lines()[-1].startswith(" z")
        await pilot.press("k")
        items["zz"] = Item("zz", 1)
        app.grid.touch(["zz"])
        assert app.grid.cursor == "k000049"


async def test_scrolling_sideways_when_it_does_not_fit():
    items = {f"k{i}": Item(f"k{i}" * 8, 12345, "n" * 30) for i in range(5)}
    async with shown(items, size=(20, 8)) as (app, pilot):
        assert app.lines()[0].endswith("›")
        assert [line[-1] for line in app.lines()[1:6]] == ["…"] * 5  # what ends there continues
        await pilot.press("l", "l")
        await pilot.pause()
        assert app.lines()[0].startswith("‹")
        for _ in range(9):
            await pilot.press("l")
        await pilot.pause()
        assert not app.lines()[0].endswith("›")
        await pilot.press("h", *["h"] * 12)
        await pilot.pause()
        assert app.lines()[1].startswith(" k0k0")


async def test_a_column_that_needs_room_is_left_out_without():
    for width, there in ((80, False), (120, True)):
        async with shown(make(5), size=(width, 8)) as (app, _):
            assert ("wide" in app.lines()[0]) is there


async def test_wide_and_evil_characters_keep_the_columns():
    items = {"a": Item("日本語", 1, "\x1b[31m[/x]"), "b": Item("plain", 22, "\u202eabc")}
    async with shown(items, size=(60, 8)) as (app, _):
        first, second = app.lines()[1:3]
        assert cell_len(first[: first.index(r"\e[31m[/x]")]) == second.index(r"\u202eabc")


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 60), st.booleans()), min_size=1),
    st.integers(20, 200),
)
def test_widths_use_the_room(specs, room):
    made = [
        Column(str(i), "t", lambda r: ("", ""), min=least, max=least + 20, flex=flex)
        for i, (least, _, flex) in enumerate(specs)
    ]
    out = widths(made, [want for _, want, _ in specs], room)
    assert all(w >= c.min for w, c in zip(out, made, strict=True))
    flexible = [i for i, c in enumerate(made) if c.flex]
    for i, (w, c) in enumerate(zip(out, made, strict=True)):
        assert w <= c.max or i == flexible[0]
    if flexible and out[flexible[0]] > made[flexible[0]].min:
        assert sum(out) + GAP * (len(out) - 1) <= max(room, sum(out[:0]))


def test_layout_grows_and_does_not_shrink():
    layout = Layout(columns())
    assert layout.fit([Item("abc", 1)], 80, None)
    before = {c.id: w for c, w in layout.cells}
    assert layout.fit([Item("abcdefghij", 1)], 80, None)
    after = {c.id: w for c, w in layout.cells}
    assert after["key"] == 10 > before["key"]
    assert not layout.fit([Item("a", 1)], 80, None)
    assert layout.at(2).id == "key"
    assert layout.at(500) is None


def test_a_spare_column_is_there_when_something_is_in_it():
    key = Column("key", "key", lambda i: (i.key, ""), lambda i: i.key)
    note = Column("note", "note", lambda i: (i.key[1:], ""), lambda i: i.key, spare=True)
    layout = Layout([key, note])
    layout.fit([Item("a", 1), Item("b", 1)], 80, None)
    assert [c.id for c, _ in layout.cells] == ["key"]
    assert layout.fit([], 80, note)  # who sorts by it is to see that
    assert [c.id for c, _ in layout.cells] == ["key", "note"]
    layout.fit([Item("ab", 1)], 80, None)
    layout.fit([Item("a", 1)], 80, None)
    assert [c.id for c, _ in layout.cells] == ["key", "note"]


@pytest.mark.parametrize("index", [-5, 0, 3, 10**9])
async def test_moving_is_clamped(index):
    async with shown(make(5), size=(40, 8)) as (app, _):
        app.grid.move_to(index)
        assert app.grid.cursor == f"k00000{min(4, max(0, index))}"
        assert not app.grid.go_to("nowhere")


def test_what_takes_the_room_that_is_left_is_short_of_it_first():
    made = [
        Column("where", "where", lambda r: (r, ""), max=30, give=18),
        Column("types", "types", lambda _: ("x" * 40, ""), min=14, flex=True),
    ]
    assert widths(made, [30, 40], 100) == [30, 68]
    assert widths(made, [30, 40], 50) == [30, 18]
    assert widths(made, [30, 40], 40) == [24, 14]
    assert widths(made, [30, 40], 20) == [18, 14]  # it scrolls sideways


async def test_a_column_may_know_what_to_leave_out():
    async with shown(make(1), size=(40, 8)) as (app, pilot):
        name = Column("key", "key", lambda i: (i.key, ""), max=6, cut=lambda text, n: text[-n:])
        app.grid.show_columns([name])
        app.grid.load({"a": Item("package.Name", 1), "b": Item("Short", 1)})
        await pilot.pause()
        assert [line.split()[0] for line in app.lines()[1:3]] == ["e.Name", "Short"]


def test_without_room_one_column_gives_then_others_are_left_out():
    made = [
        Column("state", "state", lambda r: (r, ""), give=8),
        Column("n", "n", lambda _: ("12345", "")),
        Column("a", "a", lambda _: ("aaaa", ""), lambda _: 0, drop=True),
        Column("b", "b", lambda _: ("bbbb", ""), drop=True),
    ]
    layout = Layout(made)

    def at(room, by=None):
        layout.fit(["failed: no seeds"], room, by)
        return {c.id: width for c, width in layout.cells}

    assert at(60) == {"state": 16, "n": 5, "a": 4, "b": 4}
    assert at(30) == {"state": 10, "n": 5, "a": 4, "b": 4}
    assert at(27) == {"state": 13, "n": 5, "a": 4}
    assert at(16) == {"state": 8, "n": 5}
    assert at(5) == {"state": 8, "n": 5}  # it scrolls sideways
    assert at(5, made[2]) == {"state": 8, "n": 5, "a": 4}  # what it is sorted by stays


async def test_marks_stay_with_their_rows():
    items = make(50)
    async with shown(items) as (app, pilot):
        app.grid.do_table_mark()
        app.grid.move_to(5)
        app.grid.do_table_mark()
        app.grid.move_to(8)
        app.grid.do_table_mark_range()
        await pilot.pause()
        marked = ["k000000", *(f"k{n:06d}" for n in range(5, 9))]
        assert list(app.grid.marks) == marked
        assert [line[0] for line in app.lines()[1:11]] == [*"▌    ▌▌▌▌", " "]
        app.grid.sort_by(app.grid.columns[1], True)
        app.grid.narrow("k000006")
        assert app.grid.marks.hidden(app.grid.source) == 4
        del items["k000005"]
        app.grid.touch(["k000005"])
        assert [row.key for row in app.grid.marked_rows()] == [m for m in marked if m[-1] != "5"]
        assert app.grid.clear_marks()
        assert not app.grid.clear_marks()


async def test_the_pointer_on_a_title_shows_its_meaning():
    async with shown(make(5)) as (app, pilot):
        app.grid.meanings = {"n": "The [number] of it"}
        await pilot.hover(offset=(10, 0))
        assert "The [number] of it" in str(app.grid.tooltip)
        await pilot.hover(offset=(10, 3))
        assert app.grid.tooltip is None


@pytest.mark.parametrize("room", range(24, 50))
def test_a_last_column_of_text_is_cut_with_an_ellipsis_not_by_the_edge(room):
    number = Column("n", "number", lambda r: (r, ""), min=12, max=12)
    text = Column("text", "text", lambda r: (r, ""), min=18, max=40, flex=True)
    layout = Layout((number, text))
    layout.fit(["some words in a row"], room, None)
    assert layout.total <= room
    last, wide = layout.cells[-1]
    assert last is text
    assert wide >= LEAST

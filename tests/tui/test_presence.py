"""Columns without anything to show are left out, whichever rows are in view."""

from dataclasses import dataclass

from fuzztui.tui.base.columns import GAP, Column, widths
from fuzztui.tui.base.presence import Presence
from fuzztui.tui.base.rows import Rows


@dataclass
class Item:
    name: str
    note: str = ""
    by: str = "main"


NAME = Column("name", "name", lambda r: (r.name, ""), lambda r: r.name)
NOTE = Column("note", "note", lambda r: (r.note, ""), spare=True)
BY = Column("by", "by", lambda r: (r.by, ""), varies=True)
COLUMNS = [NAME, NOTE, BY]


def present(rows, presence):
    assert presence.look(rows, 1.0)
    return presence.present


def test_one_row_of_many_keeps_a_column_until_the_filter_hides_it():
    items = {f"k{n}": Item(f"k{n}") for n in range(5000)}
    items["k4711"].note = "seen"
    rows, presence = Rows(COLUMNS), Presence(COLUMNS)
    rows.load(items)
    assert present(rows, presence) == {"note"}
    rows.sort(NAME, reverse=True)
    presence.restart()
    assert present(rows, presence) == {"note"}
    rows.narrow("k3")
    presence.restart()
    assert present(rows, presence) == set()
    rows.narrow("")
    presence.restart()
    assert present(rows, presence) == {"note"}
    items["k4711"].note = ""
    rows.update(["k4711"])
    presence.changed(rows, ["k4711"])
    assert present(rows, presence) == set()


def test_a_column_with_one_text_appears_with_the_second():
    items = {f"k{n}": Item(f"k{n}") for n in range(9)}
    rows, presence = Rows(COLUMNS), Presence(COLUMNS)
    rows.load(items)
    assert present(rows, presence) == set()
    items["new"] = Item("new", by="s1")
    rows.update(["new"])
    presence.changed(rows, ["new"])
    assert present(rows, presence) == {"by"}
    del items["new"]
    rows.update(["new"])
    assert present(rows, presence) == set()


def test_a_column_stays_until_it_is_certain_that_it_is_empty():
    items = {f"k{n}": Item(f"k{n}", note="x" * (n == 0)) for n in range(9000)}
    rows, presence = Rows(COLUMNS), Presence(COLUMNS)
    rows.load(items)
    assert present(rows, presence) == {"note"}
    items["k0"].note = ""
    rows.update(["k0"])
    assert not presence.look(rows, 0.0)
    assert presence.present == {"note"}
    while not presence.look(rows, 0.0):
        pass
    assert presence.present == set()


def test_columns_that_yield_shrink_before_the_flexible_one_is_cut():
    function = Column("f", "f", lambda r: (r, ""), max=30, yields=10)
    change = Column("c", "c", lambda r: (r, ""), min=5, max=100, flex=True)

    def at(room, *wanted):
        return widths([function, change], wanted, room + GAP)

    assert at(60, 30, 20) == [30, 30]
    assert at(45, 30, 20) == [25, 20]
    assert at(30, 30, 20) == [10, 20]
    assert at(25, 30, 20) == [10, 15]

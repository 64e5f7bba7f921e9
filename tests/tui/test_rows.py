"""Rows kept up to date in small steps are what they would be if they were made again."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.tui.base import rows as rows_module
from fuzztui.tui.base.columns import Column
from fuzztui.tui.base.rows import Rows


@dataclass
class Thing:
    name: str
    size: int


NAME = Column("name", "name", lambda t: (t.name, ""), lambda t: t.name)
SIZE = Column("size", "size", lambda t: (str(t.size), ""), lambda t: t.size)
COLUMNS = (NAME, SIZE)

KEYS = [f"k{i}" for i in range(12)]
things = st.builds(Thing, st.sampled_from(["alpha", "Beta", "b"]), st.integers(0, 4))
step = st.one_of(
    st.tuples(st.just("put"), st.dictionaries(st.sampled_from(KEYS), things, max_size=6)),
    st.tuples(st.just("drop"), st.lists(st.sampled_from(KEYS), max_size=3)),
    st.tuples(st.just("sort"), st.sampled_from([None, NAME, SIZE]), st.booleans()),
    st.tuples(st.just("narrow"), st.sampled_from(["", "b", "alp", "b 1", "zzz"])),
)
replaced = st.tuples(
    st.just("replace"),
    st.permutations(KEYS),
    st.dictionaries(st.sampled_from(KEYS), things, max_size=6),
)


def order(rows):
    return [rows.key(i) for i in range(len(rows))]


def expected(model, arrival, rows):
    """The definition: filter, then sort by value and arrival, reversed as a whole."""
    words = rows.filter_text.casefold().split()
    keys = [
        k for k, t in model.items() if all(w in f"{t.name}\n{t.size}".casefold() for w in words)
    ]
    column = rows.sort_column
    keys.sort(key=lambda k: (column.sort(model[k]) if column else 0, arrival.index(k)))
    return keys[::-1] if rows.reverse else keys


@pytest.mark.parametrize("bulk", [1, 4, 200])
@given(steps=st.lists(st.one_of(step, replaced), max_size=14))
def test_any_sequence_of_changes_gives_the_defined_order(bulk, steps):
    before = rows_module.BULK
    rows_module.BULK = bulk
    try:
        model, arrival = {}, []
        rows = Rows(COLUMNS)
        rows.load(model)
        for kind, *rest in steps:
            if kind == "put":
                model.update(rest[0])
                arrival += [k for k in rest[0] if k not in arrival]
                rows.update(sorted(rest[0], reverse=True))  # told in any order
            elif kind == "replace":
                now = {**model, **rest[1]}
                model.clear()
                model.update((k, now[k]) for k in rest[0] if k in now)
                arrival += [k for k in model if k not in arrival]
                rows.on_reordered()
                rows.update(rest[1])
            elif kind == "drop":
                for key in rest[0]:
                    model.pop(key, None)
                rows.update(rest[0])
            elif kind == "sort":
                rows.sort(*rest)
            else:
                rows.narrow(*rest)
            assert order(rows) == expected(model, arrival, rows)
            for i, key in enumerate(order(rows)):
                assert rows.position(key) == i
                assert rows.row(key) is model[key]
            assert all(rows.position(k) is None for k in KEYS if k not in order(rows))
    finally:
        rows_module.BULK = before


def small_steps(monkeypatch, step=1, run=3):
    monkeypatch.setattr(rows_module, "STEP", step)
    monkeypatch.setattr(rows_module, "SHOWN_AT", step)
    monkeypatch.setattr(rows_module, "RUN", run)
    monkeypatch.setattr(rows_module, "AT_ONCE", 0)


sliced = st.one_of(step, st.tuples(st.just("work"), st.integers(1, 4)), st.tuples(st.just("load")))


@pytest.mark.parametrize("run", [2, 100])
@given(steps=st.lists(sliced, max_size=20))
def test_work_in_slices_gives_what_work_at_once_gives(run, steps):
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_steps(monkeypatch, run=run)
        model, arrival = {f"k{i}": Thing("b", i % 3) for i in range(6)}, []
        arrival += model
        rows = Rows(COLUMNS)
        rows.load(model)
        for kind, *rest in steps:
            if kind == "put":
                model.update(rest[0])
                arrival += [k for k in rest[0] if k not in arrival]
                rows.update(sorted(rest[0]), 0.0)
            elif kind == "drop":
                for key in rest[0]:
                    model.pop(key, None)
                rows.update(rest[0], 0.0)
            elif kind == "sort":
                rows.sort(*rest, within=0.0)
            elif kind == "narrow":
                rows.narrow(*rest, within=0.0, first="k3")
            elif kind == "load":
                arrival = [*model]
                rows.load(model, 0.0, "k2")
            else:
                for _ in range(rest[0]):
                    rows.work(0.0)
            for i, key in enumerate(order(rows)):  # what is shown meanwhile is consistent
                assert rows.position(key) == i
                assert rows.row(key) is not None
        assert rows.work()
        assert order(rows) == expected(model, arrival, rows)


def test_what_a_filter_has_found_is_shown_before_it_is_done(monkeypatch):
    small_steps(monkeypatch, run=1000)
    model = {f"k{i:03}": Thing("b" if i % 2 else "alpha", i) for i in range(100)}
    rows = Rows(COLUMNS)
    rows.load(model)
    rows.sort(SIZE, reverse=True)
    rows.narrow("alpha", within=0.0, first="k090")
    seen = []
    while rows.pending:
        rows.work(0.0)
        seen.append(len(rows))
        if rows.pending and len(rows) < 50:
            assert rows.position("k090") == 0  # the row of the cursor from the beginning
    assert sorted(set(seen))[:3] == [2, 3, 5]
    assert seen[-1] == 50


def test_a_row_that_changed_leaves_a_filter_it_no_longer_passes():
    model = {"a": Thing("alpha", 1)}
    rows = Rows(COLUMNS)
    rows.load(model)
    rows.narrow("alpha")
    model["a"] = Thing("beta", 1)
    rows.update(["a"])
    assert order(rows) == []


def test_an_update_says_whether_a_row_has_come_gone_or_moved():
    model = {key: Thing(key, size) for key, size in (("a", 1), ("b", 3))}
    rows = Rows(COLUMNS)
    rows.load(model)
    rows.sort(SIZE)
    model["a"] = Thing("renamed", 1)
    assert not rows.update(["a"])
    model["a"] = Thing("a", 4)
    assert rows.update(["a"])
    model["c"] = Thing("c", 0)
    assert rows.update(["c"])
    del model["b"]
    assert rows.update(["b"])
    assert order(rows) == ["c", "a"]


def test_a_predicate_narrows_too():
    model = {"a": Thing("x", 1), "b": Thing("x", 2)}
    rows = Rows(COLUMNS)
    rows.load(model)
    rows.narrow("x", lambda t: t.size > 1)
    assert order(rows) == ["b"]
    assert rows.total == 2


def test_an_index_out_of_range_is_an_error():
    rows = Rows(COLUMNS)
    with pytest.raises(IndexError):
        rows.key(0)

"""The children of an entry, while entries come in and a queue is renumbered."""

from __future__ import annotations

import pytest
from fakes import Log, running
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.corpus.screen.detail import entry_lines
from fuzztui.features.inputs.screen.lineage import MAX_CHILDREN
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.events import Record
from fuzztui.tui.labels.lineage import Lineage


def entry(n, parent=None, **more):
    src = [] if parent is None else [parent]
    return ev.EntrySaved("main", n, f"queue/id:{n:06}", src, "havoc" if src else "", **more)


@given(st.lists(st.integers(0, 20), max_size=20), st.integers(1, 5))
def test_children_are_those_whose_parent_the_entry_is(parents, batch):
    events = [entry(0), *(entry(n, min(p, n - 1)) for n, p in enumerate(parents, 1))]
    state = State()
    lineage = Lineage(lambda: state)
    lineage.children("main/0")  # the index exists from now on
    records = [Record(i, float(i), e) for i, e in enumerate(events, 1)]
    for at in range(0, len(records), batch):
        lineage.take(apply(state, records[at : at + batch]))
    for key in state.entries:
        expected = [
            e.key
            for e in state.entries.values()
            if (parent := lineage.parent(e)) is not None and parent.key == key
        ]
        assert list(lineage.children(key)) == expected


def test_a_described_entry_is_one_child():
    state = State()
    lineage = Lineage(lambda: state)
    log = Log().add(entry(0), entry(1, 0))
    lineage.take(apply(state, log.records))
    assert list(lineage.children("main/0")) == ["main/1"]
    log.add(ev.EntryDescribed("main", 1, ["edge"]), entry(2, 0))
    lineage.take(apply(state, log.records))
    assert list(lineage.children("main/0")) == ["main/1", "main/2"]


def test_a_large_family_is_cut():
    state = State()
    log = Log().add(entry(0), *(entry(n, 0) for n in range(1, 50)))
    apply(state, log.records)
    lines = entry_lines(state.entries["main/0"], state, Lineage(lambda: state), None)
    named = [line for line in lines if any("main/" in span.text for span in line)]
    assert len(named) == 3 + MAX_CHILDREN  # its name, its file, itself in the tree


@pytest.mark.slow
async def test_the_tree_is_on_the_screen(drive):
    async with drive(running(), size=(160, 60), press="2") as d:
        parent = next(e.src[0] for e in d.app.campaign.entries.values() if e.src)
        assert d.table.go_to(f"main/{parent}")
        d.screen.look()
        await d.until_shows(f"▸ main/{parent}")

"""What comparisons have brought, in the state."""

from __future__ import annotations

from folding import fold
from restored import restored

from fuzztui.features.comparisons.fold import (
    MAX_TEXT,
    MAX_TOKENS,
    comparison_rows,
    comparisons_dict,
    comparisons_reported,
    operation_yields,
    totals_of,
)
from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev

REPORTS = (
    ev.EntrySaved("main", 3, "queue/id:000003"),
    ev.ComparisonsReported("main", {"table": "m:7", "svg": "m:7", "end": "m:9"}),
    ev.ComparisonsReported("main", entries={"3": ["m:7", "'table'"], "4": ["m:7", "'svg'"]}),
    ev.ComparisonsReported("main", entries={"5": ["n:1", "12"]}),
    ev.EntryDescribed("main", 3, ["edge"], edges=9),
)


def test_rows_by_place() -> None:
    state = fold(*REPORTS)
    rows = comparison_rows(state)
    assert [(r.place, [e.key for e in r.entries], r.tokens) for r in rows] == [
        ("m:7", ["main/3", "main/4"], ["table", "svg"]),
        ("n:1", ["main/5"], []),
        ("m:9", [], ["end"]),
    ]
    assert state.entries["main/3"].operand == "'table'"
    assert state.entries["main/3"].edges == 9, "a later description does not drop the operand"
    assert comparisons_dict(state) == {
        "entries": 3, "places": 3, "tokens": 3, "operations": [],
    }  # fmt: skip


def test_the_same_report_again_changes_nothing() -> None:
    once, twice = fold(*REPORTS), fold(*REPORTS, *REPORTS[1:4])
    assert once.learnt == twice.learnt
    assert comparisons_dict(once) == comparisons_dict(twice)


def test_a_checkpoint_keeps_them() -> None:
    state = fold(*REPORTS)
    again = restored(to_json(state))
    assert again.learnt == state.learnt
    assert again.entries == state.entries


def test_nothing_was_reported() -> None:
    assert comparisons_dict(fold(REPORTS[0])) is None


def test_whatever_an_engine_writes_is_bounded() -> None:
    tokens = {f"{n}" + "x" * 500: "m:1" for n in range(MAX_TOKENS + 5)}
    odd = {"-1": ["m:1", "a"], "²": ["m:1", "a"], "9" * 30: ["m:1", "a"], "7": "m:1", "8": [1, 2],
           "6": ["m" * 999, "o" * 999]}  # fmt: skip
    state = State()
    comparisons_reported(state, ev.ComparisonsReported("main", tokens, odd), ChangesBuilder())
    assert len(state.learnt) == MAX_TOKENS
    assert {len(token) for token in state.learnt} == {MAX_TEXT}
    (entry,) = state.entries.values()
    assert (entry.key, len(entry.compared_at), len(entry.operand)) == ("main/6", MAX_TEXT, MAX_TEXT)


def test_operations_by_what_they_brought() -> None:
    state = fold(
        ev.EntrySaved("main", 0, "queue/id:000000"),
        ev.EntrySaved("main", 1, "queue/id:000001", [0], "havoc,rep:2"),
        ev.EntrySaved("main", 2, "queue/id:000002", [0], "compare"),
        ev.EntrySaved("main", 3, "queue/id:000003", [0], "compare"),
        ev.EntrySaved("s1", 0, "queue/id:000000", [3], "compare", "main"),
        ev.ComparisonsReported("main", trials={"compare": 20, "havoc": 900, "other": 3}),
        ev.ComparisonsReported("main", trials={"compare": 30, "havoc": 1000, "other": 3}),
        ev.ComparisonsReported("main", {"table": "m:7"}),
        ev.ComparisonsReported("s1", trials={"compare": 10, "x" * 999: 1, "odd": "2", "less": -5}),
    )
    yields = operation_yields(state)
    rows = [(y.name[:9], y.entries, y.trials) for y in yields]
    assert rows == [
        ("compare", 2, 40), ("havoc", 1, 1000), ("less", 0, 0), ("other", 0, 3), ("x" * 9, 0, 1),
    ]  # fmt: skip
    assert yields[0].rate == 50
    assert totals_of(yields) == (3, 1044)
    assert restored(to_json(state)).trials_by == state.trials_by

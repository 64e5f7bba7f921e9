"""However a log is scanned and paged, its rows are those that match, in order."""

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.events import Record
from fuzztui.tui.labels import log_rows
from fuzztui.tui.labels.events import describe
from fuzztui.tui.labels.log_rows import PAGE, LogSource, Query

EVENTS = [
    ev.Stats("main", 5),
    ev.EntrySaved("main", 3),
    ev.EntrySaved("other", 4),
    ev.FindingSaved("main", "crash", "crashes/x"),
    ev.Message("info", "hello [/x]"),
]


def log_of(picks):
    return [Record(i + 1, float(i), EVENTS[p]) for i, p in enumerate(picks)]


def scan(source, log, steps=None):
    """Do as the screen does, at most ``steps`` chunks."""
    while steps is None or steps > 0:
        due = source.due(len(log))
        if due is None:
            return
        after, count = due
        query = source.query
        found = [
            r.seq
            for r in log[after : after + count]
            if query.matches(describe(r.event), r, query.filter)
        ]
        source.scanned(query, after, count, found)
        steps = None if steps is None else steps - 1


queries = st.builds(
    Query,
    st.sampled_from(["", "events", "finds", "figures", "messages"]),
    st.sampled_from(["", "main", "other"]),
    st.sampled_from(["", "hello", "CRASH x", "[/x]"]),
)


@given(
    st.lists(st.integers(0, 4), max_size=40),
    st.lists(st.integers(0, 4), max_size=20),
    queries,
    st.tuples(st.integers(1, 7), st.integers(0, 5)),
    st.data(),
)
def test_a_scan_finds_what_matches_while_the_log_grows(first, more, query, pace, data):
    chunk, steps = pace
    before = log_rows.CHUNK
    log_rows.CHUNK = chunk
    try:
        source = LogSource(lambda: None)
        source.ask(query)
        log = log_of(first)
        scan(source, log, steps)
        log = log_of(first + more)
        scan(source, log)
        source.bound = data.draw(st.integers(0, len(log)))
        want = [
            r.seq
            for r in log
            if query.matches(describe(r.event), r, query.filter) and r.seq <= source.bound
        ]
        assert [int(source.key(i)) for i in range(len(source))] == want
        for i, seq in enumerate(want):
            assert source.position(str(seq)) == i
        assert source.progress(len(log)) == 1.0
        assert source.due(len(log)) is None
    finally:
        log_rows.CHUNK = before


def test_an_outdated_scan_is_forgotten():
    source = LogSource(lambda: None)
    old = source.query
    assert source.due(100) == (0, 100)
    source.ask(Query(group="finds"))
    source.scanned(old, 0, 100, list(range(1, 101)))
    source.bound = 100
    assert len(source) == 0


def test_pages_come_when_rows_are_asked_for():
    wanted = []
    source = LogSource(lambda: wanted.append(1))
    source.ask(Query(group=""))
    source.bound = 3 * PAGE
    log = log_of([0] * 3 * PAGE)
    key = str(PAGE + 5)
    assert source.row(key) is None
    assert source.row(str(PAGE + 6)) is None
    assert wanted == [1]
    assert source.wanted == {1}
    after, count = source.after(1)
    assert (after, count) == (PAGE, PAGE)
    source.put(1, log[after : after + count])
    assert source.row(key) == log[PAGE + 4]
    assert not source.wanted


def test_the_page_at_the_end_grows():
    source = LogSource(lambda: None)
    source.ask(Query(group=""))
    log = log_of([0] * 10)
    source.bound = 4
    source.put(0, log[:4])
    assert source.row("4") == log[3]
    source.bound = 10
    assert source.row("9") is None
    assert source.after(0) == (4, PAGE - 4)
    source.put(0, log[4:])
    assert source.row("9") == log[8]


def test_a_hole_in_a_damaged_log_is_said_to_be_one():
    source = LogSource(lambda: None)
    source.bound = 10
    log = log_of([0] * 10)
    source.put(0, log[:3] + log[6:])
    row = source.row("5")
    assert row is not None
    assert "missing" in row.event.text


def test_only_so_many_pages_are_kept():
    source = LogSource(lambda: None)
    for number in range(log_rows.PAGES + 5):
        source.put(number, [Record(number * PAGE + 1, 0.0, EVENTS[0])])
    source.bound = PAGE * 100
    assert source.row("1") is None

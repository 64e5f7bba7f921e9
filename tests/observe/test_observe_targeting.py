"""From ``.types`` to the log: never trusted, told as rarely as it says little, and complete."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.model.fold import apply
from fuzztui.model.state import State
from fuzztui.observe import targeting
from fuzztui.observe.directory import DirectoryObserver
from fuzztui.observe.relay import Offsets
from fuzztui.observe.targeting import MAX_SIZE, TypesFileReader, parse
from fuzztui.wire.codec import (
    decode_event,
    decode_record,
    encode_command,
    encode_event,
    encode_record,
)
from fuzztui.wire.commands import PinGoal
from fuzztui.wire.events import (
    CommandApplied,
    CommandIssued,
    GoalsUncovered,
    Record,
    TargetingStats,
)


class Clock:
    now = 1000.0


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(targeting.time, "monotonic", lambda: made.now)
    return made


def row(**more: Any) -> dict[str, Any]:
    return {
        "weight": 1.0,
        "factor": 1.0,
        "picks": 0,
        "matches": 0,
        "misses": 0,
        "new_arms": 0,
        **more,
    }


def data(**more: Any) -> dict[str, Any]:
    return {
        "targeted": 0.5, "steered": False, "pinned": "", "ignored": [], "asked": 10,
        "targets": 7,
        "uncovered": 2, "frontier": 1,
        "types": {"a.B": row(picks=100, distance=0, probability=0.75), "c.D": row()},
        "left": [left("m.py:2:then", True, 4), left("m.py:9:else", False, 0)], **more,
    }  # fmt: skip


def left(location: str, frontier: bool, reached: int) -> dict[str, Any]:
    nearest = [{"name": "a.B", "distance": 1}]
    return {"location": location, "frontier": frontier, "reached": reached, "types": nearest}


class Bench:
    """A file that is replaced, and the fold of what is told of it."""

    def __init__(self, root, clock):
        self.root, self.clock = root, clock
        self.reader = TypesFileReader(str(root), "main")
        self.told: list[TargetingStats | GoalsUncovered] = []
        self.rows: dict[str, Any] = {}

    def write(self, content):
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        part = self.root / ".part"
        part.write_bytes(raw)
        part.replace(self.root / ".types")

    def look(self, last=False):
        news = list(self.reader.look(last=last))
        self.told += news
        for event in news:
            assert decode_event(encode_event(event)) == event
            if isinstance(event, GoalsUncovered):
                self.rows = {} if event.anew else self.rows
                for location in event.gone:
                    del self.rows[location]
                self.rows |= event.left
        return news

    def told_after(self, content, kind):
        """Seconds until an event of that kind, and the event."""
        self.write(content)
        start = self.clock.now
        while True:
            if found := [e for e in self.look() if isinstance(e, kind)]:
                return self.clock.now - start, found[0]
            self.clock.now += 0.25
            assert self.clock.now < start + 3600


@pytest.fixture
def bench(tmp_path, clock):
    return Bench(tmp_path, clock)


def test_everything_is_told_once(bench):
    bench.write(data())
    figures, rows = bench.look()
    assert figures == TargetingStats(
        "main", 0.5, "", 7, 2, 1, ["a.B", "c.D"], [0, -1], [1.0, 1.0], [1.0, 1.0], [750_000, 0],
        [100, 0], [0, 0], [0, 0], [0, 0],
    )  # fmt: skip
    assert (rows.anew, rows.asked, rows.gone) == (True, 10, [])
    assert rows.left["m.py:2:then"] == {"frontier": True, "reached": 4, "types": [["a.B", 1]]}
    bench.clock.now += 1000
    bench.write(data())
    assert bench.look() == bench.look(last=True) == []


def test_what_a_person_sets_is_told_at_once(bench):
    bench.write(data())
    bench.look()
    for changed in (
        {"targeted": 0.6},
        {"pinned": "m.py:2:then"},
        {"types": {"a.B": row(picks=100, weight=4.0)}},
        {"types": {"a.B": row(picks=100, weight=0)}},
        {"pinned": ""},
        {"ignored": ["m.py:2:then"]},
        {"ignored": []},
        {"changed": ["m.py"]},
        {"changed": []},
    ):
        assert bench.told_after(data(**changed), TargetingStats)[0] <= 0.25


def test_finds_are_told_soon_and_counts_the_more_rarely_the_longer_it_runs(bench):
    bench.write(data())
    bench.look()
    after, _ = bench.told_after(data(types={"a.B": row(picks=101, new_arms=1)}), TargetingStats)
    assert after == targeting.FINDS_S
    after, _ = bench.told_after(
        data(uncovered=1, types={"a.B": row(picks=101, new_arms=1)}), TargetingStats
    )
    assert after == targeting.FINDS_S
    after, _ = bench.told_after(
        data(uncovered=1, types={"a.B": row(picks=104, new_arms=1)}), TargetingStats
    )
    assert after == targeting.COUNTS_S
    after, _ = bench.told_after(
        data(uncovered=1, types={"a.B": row(picks=105, new_arms=1)}), TargetingStats
    )
    assert after == targeting.STALE_S
    bench.clock.now += 10_000
    bench.look()
    bench.told_after(data(types={"a.B": row(picks=1, new_arms=1)}), TargetingStats)
    after, _ = bench.told_after(
        data(types={"a.B": row(picks=1, misses=1, new_arms=1)}), TargetingStats
    )
    assert 195 < after < 210


@pytest.mark.slow
def test_an_hour_is_some_events_and_in_the_second_week_a_few(bench):
    picks = 0

    def hour():
        nonlocal picks
        before, end = len(bench.told), bench.clock.now + 3600
        while bench.clock.now < end:
            picks += 5000
            counts = {"a.B": row(picks=picks, probability=0.5), "c.D": row(misses=picks)}
            rows = [left("m.py:2:then", True, picks // 50)]
            bench.write(data(types=counts, asked=picks, left=rows))
            bench.look()
            bench.clock.now += 10
        return len(bench.told) - before

    assert 60 < hour() < 200
    bench.clock.now += 7 * 24 * 3600
    picks *= 7 * 24
    hour()
    assert hour() <= 7


def test_rows_are_told_when_they_change(bench):
    bench.write(data())
    bench.look()
    new = [left("m.py:9:else", True, 0), left("n.py:1:then", False, 0)]
    after, event = bench.told_after(data(left=new, asked=11), GoalsUncovered)
    assert after == targeting.FINDS_S
    assert (event.gone, event.asked, event.anew) == (["m.py:2:then"], 11, False)
    assert list(event.left) == ["m.py:9:else", "n.py:1:then"]
    new[0] = left("m.py:9:else", True, 1)
    after, event = bench.told_after(data(left=new), GoalsUncovered)
    assert after == targeting.COUNTS_S
    assert list(event.left) == ["m.py:9:else"]
    new[0] = left("m.py:9:else", True, 2)
    new[1] = left("n.py:1:then", False, 0)
    assert list(bench.told_after(data(left=new), GoalsUncovered)[1].left) == ["m.py:9:else"]
    bench.clock.now += 100
    new[0] = left("m.py:9:else", True, 3)
    bench.write(data(left=new))
    assert not [e for e in bench.look() if isinstance(e, GoalsUncovered)]
    (event,) = [e for e in bench.look(last=True) if isinstance(e, GoalsUncovered)]
    assert event.left["m.py:9:else"]["reached"] == 3


def test_a_type_that_a_person_weighed_is_never_left_out(bench):
    many = {f"t{i:03d}": row(picks=i, probability=i / 1000) for i in range(300)}
    many["banned"] = row(weight=0)
    bench.write(data(types=many))
    figures, _ = bench.look()
    assert len(figures.names) == targeting.MAX_TYPES
    assert figures.names[0] == "t299"
    assert figures.weights[figures.names.index("banned")] == 0


def test_hundreds_of_rows_at_most(bench):
    rows = [left(f"m.py:{i}:then", False, 0) for i in range(1000)]
    ignored = [row["location"] for row in rows]
    bench.write(data(left=rows, ignored=ignored))
    assert len(bench.look()[0].ignored) == targeting.MAX_LEFT
    assert list(bench.rows) == [f"m.py:{i}:then" for i in range(300)]
    bench.clock.now += 5
    bench.write(data(left=rows[50:], ignored=ignored))
    (event,) = bench.look()
    assert (len(event.gone), len(event.left), len(bench.rows)) == (50, 50, 300)


HOSTILE = [
    b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 200_000, b'{"types": {}}',
    b'{"types": [], "left": {}}',
    b'{"types": {}, "left": ' + b"9" * 5000 + b"}", b" " * (MAX_SIZE + 1),
    json.dumps(data())[:-30].encode(),
]  # fmt: skip


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_such_file_changes_nothing(bench, content):
    assert bench.look() == []
    bench.write(content)
    assert bench.look(last=True) == []
    bench.write(data())
    assert len(bench.look(last=True)) == 2
    bench.write(content)
    assert bench.look(last=True) == []


def test_what_is_no_regular_file(bench, tmp_path):
    file = tmp_path / ".types"
    os.mkfifo(file)
    assert bench.look(last=True) == []
    file.unlink()
    (tmp_path / "elsewhere").write_text(json.dumps(data()))
    file.symlink_to(tmp_path / "elsewhere")
    assert bench.look(last=True) == []
    file.unlink()
    file.mkdir()
    assert bench.look(last=True) == []


def test_figures_that_are_none():
    bad = row(weight=-1, factor=float("nan"), picks=True, matches=-4, misses=1e300, new_arms=10**40,
              distance="x", probability=7)  # fmt: skip
    raw = json.dumps({
        "targeted": float("inf"), "pinned": ["x"], "ignored": [7, "", "l", "y" * 501], "asked": -1,
        "targets": 2.5, "uncovered": None, "changed": [[], "m.py", "y" * 501], "analysis": 7,
        "types": {"a": bad, "": row(), "x" * 201: row(), "b": [], "\ud800": row()},
        "left": [7, {}, {"location": 3}, {"location": "y" * 501}, left("l", 1, 2),
            left("l", True, 3)],
    }).encode()  # fmt: skip
    look = parse("main", raw)
    f = look.stats
    assert (f.targeted, f.pinned, f.targets, f.uncovered) == (0.0, "", 0, 0)
    assert (f.ignored, f.changed, f.analysis) == (["l"], ["m.py"], "")
    assert parse("main", json.dumps(data(ignored="xyz")).encode()).stats.ignored == []
    assert f.names == ["a", "\ud800"]
    assert [x[0] for x in (f.distances, f.weights, f.factors, f.probabilities)] == [-1, 1.0, 1.0, 0]
    assert [x[0] for x in (f.picks, f.matches, f.misses, f.new_arms)] == [0, 0, 0, 0]
    assert (look.asked, list(look.left)) == (0, ["l"])
    assert look.left["l"]["frontier"] is False
    record = Record(1, 0.0, f)
    assert decode_record(encode_record(record)) == record


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["location", "reached", "types", "name", "weight", "distance", "x"]), inner
    ),
    max_leaves=10,
)  # fmt: skip


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["types", "left", *data()]), ANY), ANY, ANY)
def test_nothing_that_is_written_there_does_harm(found, some_types, some_left):
    for content in (found, {**data(), **found}, {**data(), "types": some_types, "left": some_left},
                    {**data(), "types": {"a": some_types}, "left": [some_left]}):  # fmt: skip
        look = parse("main", json.dumps(content).encode())
        if look is not None:
            for event in (look.stats, GoalsUncovered("main", look.asked, look.left)):
                assert decode_event(encode_event(event)) == event


STATES = st.lists(
    st.dictionaries(st.integers(0, 12), st.tuples(st.booleans(), st.integers(0, 40)), max_size=10),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@given(STATES, st.data())
def test_the_changes_add_up_to_what_there_is(tmp_path_factory, states, draw):
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targeting.time, "monotonic", lambda: clock.now)
        bench = Bench(tmp_path_factory.mktemp("types"), clock)
        for state in states:
            rows = [left(f"m.py:{n}:then", *state[n]) for n in sorted(state)]
            bench.write(data(left=rows))
            clock.now += draw.draw(st.sampled_from([0.1, 1.0, 2.5, 6.0]))
            bench.look()
        whole = parse("main", (bench.root / ".types").read_bytes()).left
        clock.now += 10
        bench.look()  # nothing is withheld for longer
        assert bench.rows.keys() == whole.keys()
        for location, now in whole.items():
            before = bench.rows[location]
            assert before["frontier"] == now["frontier"]
            assert before["reached"] <= now["reached"] < max(1, 2 * before["reached"])
        bench.look(last=True)
        assert bench.rows == whole
        assert sum(e.anew for e in bench.told if isinstance(e, GoalsUncovered)) == 1


def test_the_observer_tells_of_them_and_the_last_of_them(tmp_path):
    main = tmp_path / "out" / "main"
    main.mkdir(parents=True)
    observer = DirectoryObserver(tmp_path / "out", State(), Offsets(0, {}), {})
    observer.add("main")
    assert not observer.poll().events
    (main / ".types").write_text(json.dumps(data()))
    kinds = {type(e) for e in observer.observe_final("main").events}
    assert kinds == {TargetingStats, GoalsUncovered}
    (main / ".types").write_text(json.dumps(data(asked=12, types={"a.B": row(picks=101)})))
    (event,) = observer.observe_final("main").events
    assert event.picks == [101]
    observer.close()


def test_an_answer_that_comes_behind_the_figures_does_not_have_the_last_word(tmp_path):
    """A pin that has ended already when the log, which lags behind, tells that it was made."""
    main = tmp_path / "out" / "main"
    main.mkdir(parents=True)
    observer = DirectoryObserver(tmp_path / "out", State(), Offsets(0, {}), {})
    observer.add("main")
    pin = PinGoal("m.py:2:then")
    events = [CommandIssued("c1", encode_command(pin)), *observer.observe_final("main").events]
    (main / ".types").write_text(json.dumps(data()))
    events += observer.observe_final("main").events
    applied = CommandApplied("c1", "main", 5, "it is pinned")
    (main / "events.jsonl").write_text(encode_event(applied) + "\n")
    events += observer.observe_final("main").events
    observer.close()
    state = State()
    apply(state, [Record(n, n, event) for n, event in enumerate(events, 1)])
    assert state.commands["c1"].state == "applied"
    assert state.types["main"].pinned == ""

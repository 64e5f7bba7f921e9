"""Events about types and goals: reported as rarely as they are unimportant, and complete."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, read_reported
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.spoton import report
from fuzztui.engines.spoton.report import TargetingReport
from fuzztui.kernel.wire.codec import decode_event
from fuzztui.kernel.wire.events import GoalsUncovered, TargetingStats


def row(**more: Any) -> dict[str, Any]:
    counts = dict.fromkeys(("picks", "matches", "misses", "new_arms"), 0)
    return {"weight": 1.0, "factor": 1.0, **counts, **more}


def data(**more: Any) -> dict[str, Any]:
    return {
        "targeted": 0.5, "adaptive": False, "steered": False, "pinned": "", "ignored": [],
        "asked": 10, "targets": 7, "uncovered": 2, "frontier": 1, "changed": [], "analysis": "",
        "types": {"a.B": row(picks=100, distance=0, probability=0.75), "c.D": row()},
        "left": [left("m.py:2:then", True, 4), left("m.py:9:else", False, 0)], **more,
    }  # fmt: skip


def left(location: str, frontier: bool, reached: int) -> dict[str, Any]:
    nearest = [{"name": "a.B", "distance": 1}]
    return {"location": location, "frontier": frontier, "reached": reached, "types": nearest}


class Bench:
    """The report of an instance whose running time the test sets, and the fold of its events."""

    def __init__(self, root: Path) -> None:
        self.root, self.now, self.offset = root, 1000.0, 0
        self.told: list[TargetingStats | GoalsUncovered] = []
        self.rows: dict[str, Any] = {}
        self.restart()

    def restart(self) -> None:
        """Another worker."""
        file = self.root / "events.jsonl"
        self.journal = TrialJournal(self.root / ".cur_input", 100)
        self.report = TargetingReport(EventLog(file, "main"), self.journal, read_reported(file))

    def look(self, content: dict[str, Any] | None, *, last: bool = False) -> list[Any]:
        self.journal.counters[j.RUN_MS] = round(self.now * 1000)
        if content is not None:
            self.report.update(content)
        if last:
            self.report.finish()
        file = self.root / "events.jsonl"
        lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
        news: list[Any] = [decode_event(line) for line in lines[self.offset :]]
        self.offset = len(lines)
        self.told += news
        for event in news:
            if isinstance(event, GoalsUncovered):
                self.rows = {} if event.anew else self.rows
                for location in event.gone:
                    del self.rows[location]
                self.rows |= event.left
        return news

    def told_after(self, content: dict[str, Any], kind: type) -> tuple[float, Any]:
        """Seconds until an event of that kind, and the event."""
        start = self.now
        while True:
            if found := [e for e in self.look(content) if isinstance(e, kind)]:
                return self.now - start, found[0]
            self.now += 0.25
            assert self.now < start + 3600


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.journal.close()


def test_everything_is_told_once(bench):
    figures, rows = bench.look(data())
    assert figures == TargetingStats(
        "main", 0.5, "", 7, 2, 1, ["a.B", "c.D"], [0, -1], [1.0, 1.0], [1.0, 1.0], [750_000, 0],
        [100, 0], [0, 0], [0, 0], [0, 0],
    )  # fmt: skip
    assert (rows.anew, rows.asked, rows.gone) == (True, 10, [])
    assert rows.left["m.py:2:then"] == {"frontier": True, "reached": 4, "types": [["a.B", 1]]}
    bench.now += 1000
    assert bench.look(data()) == bench.look(data(), last=True) == []


def test_what_a_person_sets_is_told_at_once(bench):
    bench.look(data())
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
    def after(uncovered: int = 2, **counts: int) -> float:
        content = data(uncovered=uncovered, types={"a.B": row(new_arms=1, **counts)})
        return bench.told_after(content, TargetingStats)[0]

    bench.look(data())
    assert after(picks=101) == report.FINDS_S
    assert after(1, picks=101) == report.FINDS_S
    assert after(1, picks=104) == report.COUNTS_S
    assert after(1, picks=105) == report.STALE_S
    bench.now = 10_000
    after(picks=1)
    assert 195 < after(picks=1, misses=1) < 210


@pytest.mark.slow
def test_an_hour_is_some_events_and_in_the_second_week_a_few(bench):
    picks = 0

    def hour():
        nonlocal picks
        before, end = len(bench.told), bench.now + 3600
        while bench.now < end:
            picks += 5000
            counts = {"a.B": row(picks=picks, probability=0.5), "c.D": row(misses=picks)}
            rows = [left("m.py:2:then", True, picks // 50)]
            bench.look(data(types=counts, asked=picks, left=rows))
            bench.now += 10
        return len(bench.told) - before

    assert 60 < hour() < 200
    bench.now += 7 * 24 * 3600
    picks *= 7 * 24
    hour()
    assert hour() <= 7


def test_rows_are_told_when_they_change(bench):
    bench.look(data())
    new = [left("m.py:9:else", True, 0), left("n.py:1:then", False, 0)]
    after, event = bench.told_after(data(left=new, asked=11), GoalsUncovered)
    assert after == report.FINDS_S
    assert (event.gone, event.asked, event.anew) == (["m.py:2:then"], 11, False)
    assert list(event.left) == ["m.py:9:else", "n.py:1:then"]
    new[0] = left("m.py:9:else", True, 1)
    after, event = bench.told_after(data(left=new), GoalsUncovered)
    assert after == report.COUNTS_S
    assert list(event.left) == ["m.py:9:else"]
    new[0] = left("m.py:9:else", True, 2)
    new[1] = left("n.py:1:then", False, 0)
    assert list(bench.told_after(data(left=new), GoalsUncovered)[1].left) == ["m.py:9:else"]
    bench.now += 100
    new[0] = left("m.py:9:else", True, 3)
    assert not [e for e in bench.look(data(left=new)) if isinstance(e, GoalsUncovered)]
    (event,) = [e for e in bench.look(None, last=True) if isinstance(e, GoalsUncovered)]
    assert event.left["m.py:9:else"]["reached"] == 3


def test_a_type_that_a_person_weighed_is_never_left_out(bench):
    many = {f"t{i:03d}": row(picks=i, probability=i / 1000) for i in range(300)}
    many["banned"] = row(weight=0)
    figures, _ = bench.look(data(types=many))
    assert len(figures.names) == report.MAX_TYPES
    assert figures.names[0] == "t299"
    assert figures.weights[figures.names.index("banned")] == 0


def test_hundreds_of_rows_at_most(bench):
    rows = [left(f"m.py:{i}:then", False, 0) for i in range(1000)]
    ignored = [row["location"] for row in rows]
    assert len(bench.look(data(left=rows, ignored=ignored))[0].ignored) == report.MAX_GOALS
    assert list(bench.rows) == [f"m.py:{i}:then" for i in range(300)]
    bench.now += 5
    (event,) = bench.look(data(left=rows[50:], ignored=ignored))
    assert (len(event.gone), len(event.left), len(bench.rows)) == (50, 50, 300)


def test_names_that_are_too_long_are_left_out(bench: Bench) -> None:
    long = "y" * 501
    content = data(
        pinned=long, ignored=[long, "l"], changed=["m.py", long], analysis="1234abcd",
        types={"a": row(), "x" * 201: row()}, left=[left(long, True, 1), left("l", True, 3)],
    )  # fmt: skip
    figures, rows = bench.look(content)
    assert (figures.pinned, figures.ignored, figures.changed) == ("", ["l"], ["m.py"])
    assert (figures.names, figures.analysis, [*rows.left]) == (["a"], "1234abcd", ["l"])


STATES = st.lists(
    st.dictionaries(st.integers(0, 12), st.tuples(st.booleans(), st.integers(0, 40)), max_size=10),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@given(STATES, st.data())
def test_the_changes_add_up_to_what_there_is(tmp_path_factory, states, draw):
    bench = Bench(tmp_path_factory.mktemp("types"))
    for state in states:
        rows = [left(f"m.py:{n}:then", *state[n]) for n in sorted(state)]
        bench.now += draw.draw(st.sampled_from([0.1, 1.0, 2.5, 6.0]))
        bench.look(data(left=rows))
        if draw.draw(st.booleans()):
            bench.restart()
    whole = {r["location"]: r for r in rows}
    bench.now += 10
    bench.look(data(left=rows))  # nothing is withheld for longer
    assert bench.rows.keys() == whole.keys()
    for location, now in whole.items():
        before = bench.rows[location]
        assert before["frontier"] == now["frontier"]
        assert before["reached"] <= now["reached"] < max(1, 2 * before["reached"])
    bench.look(None, last=True)
    assert all(bench.rows[at]["reached"] == now["reached"] for at, now in whole.items())
    assert sum(e.anew for e in bench.told if isinstance(e, GoalsUncovered)) == 1
    bench.journal.close()


def test_a_new_worker_reports_only_what_has_changed(bench: Bench) -> None:
    bench.look(data())
    for _ in range(100):  # a target that kills its worker at each trial
        bench.restart()
        bench.now += 0.01
        assert bench.look(data(asked=11, types={"a.B": row(picks=100, misses=1)})) == []
    bench.restart()
    bench.now += report.STALE_S
    assert bench.look(None, last=True) == []
    content = data(asked=12, left=[left("m.py:9:else", True, 0)])
    content["types"]["a.B"]["picks"] = 200
    figures, rows = bench.look(content)
    assert figures.picks == [200, 0]
    assert (rows.anew, rows.gone, [*rows.left]) == (False, ["m.py:2:then"], ["m.py:9:else"])


def test_a_new_worker_reads_any_file(bench: Bench) -> None:
    (bench.root / "events.jsonl").write_text(
        '{"k":"type_figures","instance":"main","names":["a.B"],"weights":[]}\n'
        '{"k":"targets_left","instance":"main","gone":["x"],"left":{"a":7,"m.py:2:then":{},'
        '"m.py:9:else":{"frontier":[],"reached":"x","types":{}}}}\n'
    )
    bench.offset = 2
    bench.restart()
    figures, rows = bench.look(data())
    assert figures.names == ["a.B", "c.D"]
    assert [*rows.left] == ["m.py:2:then", "m.py:9:else"]


def test_statistics_are_reported_again_after_an_answer(bench: Bench) -> None:
    bench.look(data())
    bench.report.answered()
    (figures,) = bench.look(data())
    assert figures.pinned == ""

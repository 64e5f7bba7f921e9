"""Which entry covers what first, with a build that only pretends to run programs."""

import asyncio
from pathlib import Path

import pytest

from fuzztui.features.fuzzfirst.coverage_tools import Gcov
from fuzztui.features.fuzzfirst.measured_file import MeasuredFile
from fuzztui.features.gcov.measure import EntryMeasurement
from fuzztui.kernel.base.ranges import decode
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.observe.queues import Found

ORIGIN = Path("/src")


class Build:
    """An input executes the lines that its bytes name."""

    def __init__(self, source: Path) -> None:
        self.source, self.ran, self.reads = source, set(), 0
        self.tool = Gcov()

    def clear(self):
        self.ran.clear()

    async def run(self, data):
        self.ran.update(data)

    def has_counts(self):
        return True

    def user_path(self, path):
        return ORIGIN / Path(path).name

    def files(self):
        self.reads += 1
        rows = [
            {"line_number": n, "count": int(n in self.ran), "function_name": "f",
             "branches": [{"count": int(n in self.ran), "throw": False},
                          {"count": 0, "throw": False}, {"count": 9, "throw": True}]
             if n == 3 else []}
            for n in range(1, 9)
        ]  # fmt: skip
        functions = [{"demangled_name": "f", "start_line": 1, "end_line": 8}]
        yield str(self.source / "a.c"), {"functions": functions, "lines": rows}
        rows = [{"line_number": 20, "count": 0}]
        yield str(self.source / "a.c"), {"functions": [], "lines": rows}


@pytest.fixture
def build(tmp_path):
    (tmp_path / "a.c").write_text("int x;\n")
    return Build(tmp_path)


def measured(build, inputs, known=None):
    events = []
    measurement = EntryMeasurement(build, events.append, known or {})
    measurement.start()
    build.reads = 0
    entries = [Found("main", f"id:{n:06d},time:{n}", bytes(i)) for n, i in enumerate(inputs)]
    asyncio.run(measurement.measure(entries))
    return events


def test_entries_run_together_and_halves_tell_which_was_first(build):
    inputs = [[1, 2], [2], [1], [3, 1], [2], [3], [8], [1]]
    source, *events = measured(build, inputs)
    assert (source.path, source.statements, source.functions) == ("/src/a.c", "1-8,20", ["1-8 f"])
    assert (source.blocks, source.branches) == ([3, 4], [3, 3])
    assert [(e.entry, e.lines, e.branches) for e in events] == [
        (0, {"/src/a.c": "1-2"}, {}),
        (3, {"/src/a.c": "3"}, {"/src/a.c": "0"}),
        (6, {"/src/a.c": "8"}, {}),
    ]
    assert build.reads < 2 * len(inputs)


def test_nothing_new_costs_one_reading(build):
    source, *_ = measured(build, [[1]])
    known = {"/src/a.c": (source.sha, decode("1-8"), {0, 1})}
    assert measured(build, [[1], [2], [3], [8]], known) == []
    assert build.reads == 1
    # The file has changed since: all of it is reported again.
    known = {"/src/a.c": ("other", decode("1-8"), {0, 1})}
    assert len(measured(build, [[1]], known)) == 2


def test_a_program_that_writes_no_counts_is_said(build):
    build.has_counts = lambda: False
    measurement = EntryMeasurement(build, print, {})
    with pytest.raises(SupervisorError, match="no counts"):
        asyncio.run(measurement.measure([Found("main", "id:000000", b"\1")]))


def test_an_entry_that_is_killed_harms_no_other(build):
    """It writes no counts, alone or beside others."""
    run, numbers, events = build.run, [], []
    build.has_counts = lambda: bool(build.ran)

    async def run_or_be_killed(data):
        if 9 not in data:
            await run(data)

    build.run = run_or_be_killed
    measurement = EntryMeasurement(build, events.append, {})
    measurement.start()
    inputs = [[9], [1], [2, 9], [3], [1]]
    entries = [Found("main", f"id:{n:06d}", bytes(i)) for n, i in enumerate(inputs)]
    asyncio.run(measurement.measure(entries, numbers.append))
    found = [(e.entry, e.lines["/src/a.c"]) for e in events[1:]]
    assert found == [(1, "1"), (3, "3")]
    assert sum(numbers) == len(inputs)


def test_a_build_without_coverage_is_said(build):
    build.files = lambda: []
    with pytest.raises(SupervisorError, match=r"target\.build"):
        EntryMeasurement(build, print, {}).start()


def test_a_line_in_several_objects_is_covered_if_any_has_run_it():
    file = MeasuredFile()
    for count in (0, 5, 0):
        row = {"line_number": 2, "count": count, "branches": [{"count": count, "throw": False}]}
        file.add({"functions": [], "lines": [row]})
    assert file.lines == {2: 5}
    assert file.branches == {(2, 0): 5}


def test_a_file_whose_event_would_be_too_long_is_left_out(build):
    events = []
    name = "f" * 60_000
    rows = [{"demangled_name": name, "start_line": n, "end_line": n} for n in range(1, 20)]
    build.files = lambda: [("a.c", {"functions": rows, "lines": []})]
    measurement = EntryMeasurement(build, events.append, {})
    measurement.start()
    assert events == []
    del rows[5:]
    measurement.start()
    assert len(events) == 1

"""Which lines are covered when, as the log tells it."""

import json

from folding import fold
from restored import restored

from fuzztui.features.source.fold import MAX_STATEMENTS, LineCoverage
from fuzztui.kernel.model.checkpoint import CheckpointMark, to_json
from fuzztui.kernel.wire.events import InstanceHello, LinesCovered, SourceFile

A = SourceFile(
    "main", "/p/a.py", "p.a", "aa", "1-9", ["2-9 f", "3-4 f.g"], [2, 3, 2, 5, 7, 8], [2, 4]
)


def taken(state):
    lines = LineCoverage()
    assert lines.take(state)
    return lines


def test_the_first_entry_of_a_line_and_what_its_state_is():
    state = fold(
        A,
        LinesCovered("main", -1, {"/p/a.py": "1-2"}),
        LinesCovered("main", 4, {"/p/a.py": "3-4"}, {"/p/a.py": "1"}),
        LinesCovered("s1", 7, {"/p/a.py": "3-4,7,99"}),
    )
    lines = taken(state)
    file = lines.files["/p/a.py"]
    assert [(f.entry, f.t) for n, f in sorted(file.first.items())] == [
        ("", 2.0), ("", 2.0), ("main/4", 3.0), ("main/4", 3.0), ("s1/7", 4.0),
    ]  # fmt: skip
    assert file.states == {
        1: "covered", 2: "partly", 3: "covered", 4: "covered", 5: "frontier", 6: "never",
        7: "partly", 8: "frontier", 9: "never",
    }  # fmt: skip
    assert [(f.name, f.first, f.last) for f in file.functions] == [("f", 2, 9), ("f.g", 3, 4)]
    # More of the same log: only what is new is taken; an earlier state: all again.
    assert not lines.take(state)
    early = fold(A, LinesCovered("main", -1, {"/p/a.py": "1-2"}))
    later = fold(LinesCovered("main", 9, {"/p/a.py": "5,8"}), state=state)
    assert lines.take(later)
    assert lines.files["/p/a.py"].first[8].entry == "main/9"
    assert lines.take(early)
    assert set(lines.files["/p/a.py"].first) == {1, 2}


def test_another_content_makes_earlier_lines_void():
    state = fold(A, LinesCovered("main", 1, {"/p/a.py": "1-9"}))
    lines = taken(state)
    fold(SourceFile("s1", "/p/a.py", "p.a", "aa", "1"), state=state)
    assert not lines.take(state)
    fold(SourceFile("s1", "/p/a.py", "p.a", "bb", "1-3"), state=state)
    fold(LinesCovered("s1", 2, {"/p/a.py": "2"}), state=state)
    assert lines.take(state)
    assert set(lines.files["/p/a.py"].first) == {2}


def test_instances_that_fuzz_mutants_do_not_count():
    state = fold(
        InstanceHello("m1", "zest", mutant="a:f:math:0:"),
        SourceFile("m1", "/p/a.py", "p.a", "aa", "1-9"),
        LinesCovered("m1", 1, {"/p/a.py": "1"}),
    )
    assert not state.sources
    assert not state.covered


def test_checkpoints_contain_what_is_new():
    state = fold(A, LinesCovered("main", 1, {"/p/a.py": "1"}))
    mark = CheckpointMark.of(state)
    fold(LinesCovered("main", 2, {"/p/a.py": "2"}), state=state)
    later = json.loads(json.dumps(to_json(state, mark)))
    assert (len(later["sources"]), len(later["covered"])) == (0, 1)
    assert restored(json.loads(json.dumps(to_json(state)))) == state


def test_damaged_events_harm_nothing():
    state = fold(
        SourceFile("main", "", "m", "aa", "1"),
        SourceFile("main", "/x", "m", "aa", "zz", ["q", "1-2", "9-x f"], ["x", -1, 1], [None]),
        LinesCovered("main", 1, {"/x": 5, "/y": "1"}),
    )
    assert list(state.sources) == ["/x"]
    file = taken(state).files["/x"]
    assert (file.functions, file.states) == ([], {})


def test_of_too_many_statements_those_of_the_files_that_came_first_are_known():
    paths = [f"/p/{n}.py" for n in range(40)]
    each = MAX_STATEMENTS // 20
    files = [SourceFile("main", path, "p", "aa", f"1-{each}") for path in paths]
    for first in (20, 33):  # looked at earlier or later
        lines = LineCoverage()
        state = fold(*files[:first])
        lines.take(state)
        lines.take(fold(*files[first:], state=state))
        known = [len(lines.files[path].statements) for path in paths]
        assert known == [each] * 20 + [0] * 20

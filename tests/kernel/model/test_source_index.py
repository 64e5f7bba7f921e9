"""What is known of each line, kept up to date: the same as if it were computed from the state."""

import random

from fuzztui.features.source import fold as source_lines
from fuzztui.features.source import tree as source_tree
from fuzztui.features.source.index import SourceIndex, location
from fuzztui.features.targeting.fold import goal_line, goal_place
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import Changes, State
from fuzztui.kernel.wire import events as ev

PATHS = ["/p/pkg/a.py", "/p/pkg/b.py"]


def event(rng):
    path, line = rng.choice(PATHS), rng.randrange(1, 30)
    id = f"m{rng.randrange(20)}"
    match rng.randrange(8):
        case 0:
            return ev.SourceFile(
                "main", path, "m", rng.choice("ab"), "1-20,25", ["2-20 f", "4-9 f.g"],
                [3, 4, 3, 7, 12, 13], [3, 3, 12],
            )  # fmt: skip
        case 1 | 2:
            branches = {path: str(rng.randrange(3))}
            return ev.LinesCovered("main", rng.randrange(9), {path: f"{line}-{line + 3}"}, branches)
        case 3:
            row = {"id": id, "line": 1 + int(id[1:]), "before": "a", "after": "b"}
            return ev.MutantsFound("main", "m", "pkg/a.py", PATHS[int(id[1:]) % 2], [row])
        case 4 | 5:
            state = rng.choice(["killed", "alive", "equivalent", "pending"])
            return ev.MutantState("main", id, state)
        case 6:
            return ev.FindingSaved("main", "crash", f"crashes/{rng.randrange(4)}", rng.randrange(4))
        case _:
            frames = [{"function": "f", "file": path, "line": line}]
            return ev.FindingDescribed(
                "main", "crash", f"crashes/{rng.randrange(4)}", f"s{line}", frames=frames,
                basis={"name": f"E{line}"},
            )  # fmt: skip


def seen(index):
    return {
        path: (
            [*index.nodes(path, path, every=True)],
            index.lines(path) and (index.lines(path).states, index.lines(path).first),
            {k: sorted(v) for k, v in index.mutants.get(path, {}).items()},
            index.findings.get(path, {}),
        )
        for path in index.paths()
    }


def test_changes_one_by_one_are_as_all_at_once():
    rng = random.Random(7)
    for _ in range(12):
        state, index = State(), SourceIndex()
        rows, states = {}, {}
        for seq in range(1, 120):
            changes = apply(state, [ev.Record(seq, float(seq), event(rng))])
            changed = index.take(state, changes)
            for path in index.paths():
                for node in index.nodes(path, path, every=False):
                    rows[node.key] = node
                file = index.lines(path)
                now = dict(file.states) if file is not None else {}
                before = states.get(path, {})
                moved = {n for n in {*now, *before} if now.get(n) != before.get(n)}
                assert moved <= changed.get(path, set()) | before.keys() - now.keys()
                states[path] = now
        fresh = SourceIndex()
        fresh.take(state, Changes(reset=True))
        # A file whose only finding is gone stays, with zeros.
        both = seen(index), seen(fresh)
        for path in fresh.paths():
            assert both[0][path] == both[1][path]
        for path in fresh.paths():
            for node in fresh.nodes(path, path, every=True):
                assert rows[node.key] == node


def test_names_have_no_common_folders():
    state, index = State(), SourceIndex()
    paths = ["/p/u/pkg/a.py", "/p/u/pkg/sub/b.py"]
    events = [ev.SourceFile("main", p, "m", "a", "1") for p in paths]
    apply(state, [ev.Record(n, 1.0, e) for n, e in enumerate(events, 1)])
    index.take(state, Changes(reset=True))
    assert list(index.names().values()) == ["pkg/a.py", "pkg/sub/b.py"]


def test_goals_and_findings_have_places():
    state, index = State(), SourceIndex()
    left = {"pkg/a.py:3:then": {"types": [["int", 1]]}, "x": {}, "pkg/c.py:1:else": {}}
    frames = [
        {"function": "x", "file": "/usr/lib/y.py", "line": 9, "kind": "library"},
        {"function": "f", "file": PATHS[0], "line": 5},
    ]
    events = [
        ev.SourceFile("main", PATHS[0], "m", "a", "1-9"),
        ev.TargetingStats("main", targets=3, uncovered=3),
        ev.GoalsUncovered("main", 1, left),
        ev.FindingSaved("main", "crash", "crashes/a", 1),
        ev.FindingDescribed("main", "crash", "crashes/a", "s", frames=frames, basis={"name": "E"}),
    ]
    changes = apply(state, [ev.Record(n, 1.0, e) for n, e in enumerate(events, 1)])
    changed = index.take(state, changes)
    assert [g.location for g in index.goals_at(PATHS[0], 3)] == ["pkg/a.py:3:then"]
    assert {3, 5} <= changed[PATHS[0]]
    (finding,) = state.findings.values()
    assert location(finding, state) == (PATHS[0], 5)
    assert index.findings_at(PATHS[0], 5) == [finding.key]
    assert goal_line("a:b") is None
    assert goal_place("pkg/a.py:3:then", state) == (PATHS[0], 3)
    assert goal_place("pkg/c.py:1:else", state) is None


def with_finding(state, frames, *, seq=100, number=0):
    file = f"crashes/{number}"
    events = [
        ev.FindingSaved("main", "crash", file, 1),
        ev.FindingDescribed(
            "main", "crash", file, f"s{number}", frames=frames, basis={"name": f"E{number}"}
        ),
    ]
    changes = apply(state, [ev.Record(seq + n, 2.0, e) for n, e in enumerate(events)])
    return changes, list(state.findings.values())[-1]


def test_a_finding_is_at_the_innermost_line_of_the_program():
    header = "/usr/include/x86_64-linux-gnu/bits/stdio2.h"
    frames = [
        {"function": "abort", "file": "./stdlib/abort.c", "line": 79, "kind": "library"},
        {"function": "snprintf", "file": header, "line": 54},
        {"function": "no_line", "file": "/p/x.c"},
        {"function": "parse", "file": "/p/parse.c", "line": 5},
    ]
    state = State()
    _, finding = with_finding(state, frames)
    assert location(finding, state) == ("/p/parse.c", 5)
    _, finding = with_finding(state, frames[:3], seq=200, number=1)
    assert location(finding, state) is None


def test_relative_names_of_earlier_logs_are_looked_for_among_the_sources():
    state, index = State(), SourceIndex()
    frames = [{"function": "f", "file": "../src/a.c", "line": 5}]
    changes, finding = with_finding(state, frames)
    index.take(state, changes)
    assert location(finding, state) is None
    # The build for gcov reports the files after the first findings.
    files = ["/p/src/a.c", "/p/other/a.c", "/p/src/b.c"]
    events = [ev.SourceFile("", file, "", "s", "1-9") for file in files]
    changes = apply(state, [ev.Record(200 + n, 3.0, e) for n, e in enumerate(events)])
    index.take(state, changes)
    assert location(finding, state) == ("/p/src/a.c", 5)
    assert index.findings_at("/p/src/a.c", 5) == [finding.key]
    for name in ("a.c", "..", "", "./src/", "rc/a.c"):  # two files have it, or none
        _, other = with_finding(state, [{**frames[0], "file": name}], seq=300, number=1)
        assert location(other, state) is None


def test_a_line_that_only_a_finding_has_reached_has_its_own_state_and_is_not_covered():
    state, index = State(), SourceIndex()
    path = "/p/a.c"
    events = [
        ev.SourceFile("", path, "", "s", "1-9", ["1-9 f"], [3, 4, 3, 6]),
        ev.LinesCovered("main", 1, {path: "1-3"}),
    ]
    index.take(state, apply(state, [ev.Record(n, 1.0, e) for n, e in enumerate(events, 1)]))
    (before, _) = index.nodes(path, "a.c", every=True)
    assert index.lines(path).states[4] == index.lines(path).states[6] == "frontier"
    frames = [{"function": f, "file": path, "line": n} for f, n in (("g", 8), ("f", 4), ("m", 2))]
    changes, finding = with_finding(state, frames)
    changed = index.take(state, changes)
    states = index.lines(path).states
    assert {n: states[n] for n in (2, 4, 5, 6, 8)} == {
        2: "covered", 4: "finding", 5: "never", 6: "frontier", 8: "finding",
    }  # fmt: skip
    assert {4, 8} <= changed[path]
    assert index.findings_at(path, 8) == [finding.key]
    (after, _) = index.nodes(path, "a.c", every=True)
    assert (after.covered, after.statements) == (before.covered, before.statements) == (3, 9)
    assert (before.frontier, after.frontier) == (2, 1)
    # Once an entry executes the line, it is covered.
    covered = ev.LinesCovered("main", 2, {path: "4"})
    index.take(state, apply(state, [ev.Record(300, 3.0, covered)]))
    assert (states[4], states[8]) == ("covered", "finding")
    fresh = SourceIndex()
    fresh.take(state, Changes(reset=True))
    assert fresh.lines(path).states == states
    assert [*fresh.nodes(path, "a.c", every=True)] == [*index.nodes(path, "a.c", every=True)]


def test_a_hostile_log_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(source_lines, "MAX_STATEMENTS", 3_000)
    monkeypatch.setattr(source_tree, "MAX_INSIDE", 3_000)
    state, index = State(), SourceIndex()
    functions = ["1-2000 f"] * 500
    events = [ev.SourceFile("main", f"/{n}", "m", "a", "1-2000", functions) for n in range(3)]
    events.append(ev.LinesCovered("main", 1, {"/0": "0-999999," * 1000}))
    apply(state, [ev.Record(n, 1.0, e) for n, e in enumerate(events, 1)])
    index.take(state, Changes(reset=True))
    statements = [len(f.statements) for f in index.coverage.files.values()]
    assert sorted(statements) == [0, 0, 2_000]
    assert sum(node.statements for node in index.nodes("/0", "0", every=True)) <= 5_000


def test_mutants_of_a_copy_are_on_the_lines_of_the_target():
    state, index = State(), SourceIndex()
    copy = "/run/mutants/work/tree/pkg/a.py"
    row = {"id": "m", "line": 3, "before": "a", "after": "b"}
    found = ev.MutantsFound("main", "m", "pkg/a.py", copy, [row])
    index.take(state, apply(state, [ev.Record(1, 1.0, found)]))
    assert index.paths() == [copy]
    source = ev.SourceFile("main", PATHS[0], "m", "a", "1-9")
    changed = index.take(state, apply(state, [ev.Record(2, 2.0, source)]))
    assert index.paths() == [PATHS[0]]
    assert index.mutants_at(PATHS[0], 3) == ["m"]
    assert index.place(copy) == PATHS[0]
    assert 3 in changed[PATHS[0]]

"""What is known of each line, kept up to date: the same as if it were computed from the state."""

import random

from fuzztui.model import source_lines, source_tree
from fuzztui.model.fold import apply
from fuzztui.model.source_index import SourceIndex, goal_line, goal_place, location
from fuzztui.model.state import Changes, State
from fuzztui.wire.events import (
    FindingDescribed,
    FindingSaved,
    GoalsUncovered,
    LinesCovered,
    MutantsFound,
    MutantState,
    Record,
    SourceFile,
    TargetingStats,
)

PATHS = ["/p/pkg/a.py", "/p/pkg/b.py"]


def event(rng):
    path, line = rng.choice(PATHS), rng.randrange(1, 30)
    id = f"m{rng.randrange(20)}"
    match rng.randrange(8):
        case 0:
            return SourceFile(
                "main", path, "m", rng.choice("ab"), "1-20,25", ["2-20 f", "4-9 f.g"],
                [3, 4, 3, 7, 12, 13], [3, 3, 12],
            )  # fmt: skip
        case 1 | 2:
            branches = {path: str(rng.randrange(3))}
            return LinesCovered("main", rng.randrange(9), {path: f"{line}-{line + 3}"}, branches)
        case 3:
            row = {"id": id, "line": 1 + int(id[1:]), "before": "a", "after": "b"}
            return MutantsFound("main", "m", "pkg/a.py", PATHS[int(id[1:]) % 2], [row])
        case 4 | 5:
            state = rng.choice(["killed", "alive", "equivalent", "pending"])
            return MutantState("main", id, state)
        case 6:
            return FindingSaved("main", "crash", f"crashes/{rng.randrange(4)}", rng.randrange(4))
        case _:
            frames = [{"function": "f", "file": path, "line": line}]
            return FindingDescribed(
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
            changes = apply(state, [Record(seq, float(seq), event(rng))])
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
    events = [SourceFile("main", p, "m", "a", "1") for p in paths]
    apply(state, [Record(n, 1.0, e) for n, e in enumerate(events, 1)])
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
        SourceFile("main", PATHS[0], "m", "a", "1-9"),
        TargetingStats("main", targets=3, uncovered=3),
        GoalsUncovered("main", 1, left),
        FindingSaved("main", "crash", "crashes/a", 1),
        FindingDescribed("main", "crash", "crashes/a", "s", frames=frames, basis={"name": "E"}),
    ]
    changes = apply(state, [Record(n, 1.0, e) for n, e in enumerate(events, 1)])
    changed = index.take(state, changes)
    assert [g.location for g in index.goals_at(PATHS[0], 3)] == ["pkg/a.py:3:then"]
    assert {3, 5} <= changed[PATHS[0]]
    (finding,) = state.findings.values()
    assert location(finding) == (PATHS[0], 5)
    assert index.findings_at(PATHS[0], 5) == [finding.key]
    assert goal_line("a:b") is None
    assert goal_place("pkg/a.py:3:then", state) == (PATHS[0], 3)
    assert goal_place("pkg/c.py:1:else", state) is None


def test_a_hostile_log_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(source_lines, "MAX_STATEMENTS", 3_000)
    monkeypatch.setattr(source_tree, "MAX_INSIDE", 3_000)
    state, index = State(), SourceIndex()
    functions = ["1-2000 f"] * 500
    events = [SourceFile("main", f"/{n}", "m", "a", "1-2000", functions) for n in range(3)]
    events.append(LinesCovered("main", 1, {"/0": "0-999999," * 1000}))
    apply(state, [Record(n, 1.0, e) for n, e in enumerate(events, 1)])
    index.take(state, Changes(reset=True))
    statements = [len(f.statements) for f in index.coverage.files.values()]
    assert sorted(statements) == [0, 0, 2_000]
    assert sum(node.statements for node in index.nodes("/0", "0", every=True)) <= 5_000


def test_mutants_of_a_copy_are_on_the_lines_of_the_target():
    state, index = State(), SourceIndex()
    copy = "/run/mutants/work/tree/pkg/a.py"
    row = {"id": "m", "line": 3, "before": "a", "after": "b"}
    found = MutantsFound("main", "m", "pkg/a.py", copy, [row])
    index.take(state, apply(state, [Record(1, 1.0, found)]))
    assert index.paths() == [copy]
    source = SourceFile("main", PATHS[0], "m", "a", "1-9")
    changed = index.take(state, apply(state, [Record(2, 2.0, source)]))
    assert index.paths() == [PATHS[0]]
    assert index.mutants_at(PATHS[0], 3) == ["m"]
    assert index.place(copy) == PATHS[0]
    assert 3 in changed[PATHS[0]]

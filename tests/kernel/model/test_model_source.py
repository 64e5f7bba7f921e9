"""What is known about each line of a file."""

from __future__ import annotations

from dataclasses import replace

from fuzztui.features.source.annotated import COVERED, MISSED, SourceText, annotated_files
from fuzztui.kernel.model.state import Finding, Mutant, State
from fuzztui.kernel.wire.frames import LIBRARY, MAX_TEXT

TEXT = "def f(x):\n    if x:\n        return 1\n\x0c    return 2\n"


def mutant(line: int, state: str, path: str = "/src/m.py") -> Mutant:
    return Mutant(
        f"m:f:math:{line}:{state}", "m", "m.py", path, line, "f", "math", "a", "b", 0.0, state=state
    )


def finding(*frames: tuple[str, int, str], key: str = "main/1", first: bool = True) -> Finding:
    rows = [
        {"function": "f", "file": file, "line": line, "kind": kind} for file, line, kind in frames
    ]
    return Finding(key, "main", "crash", key, 0.0, frames=rows, first=first)


def annotated(*things: Mutant | Finding, path: str = "/src/m.py"):
    state = State()
    state.mutants.update({m.id: m for m in things if isinstance(m, Mutant)})
    state.findings.update({f.key: f for f in things if isinstance(f, Finding)})
    (file,) = annotated_files(state, {path: SourceText("m.py", TEXT, {1, 2, 3, 4}, {1, 2})})
    return file


def test_lines_are_those_of_the_language_and_have_their_coverage():
    file = annotated()
    assert [line.number for line in file.lines] == [1, 2, 3, 4]
    assert [line.coverage for line in file.lines] == [COVERED, COVERED, MISSED, MISSED]
    assert (file.covered, file.statements) == (2, 4)


def test_without_a_measurement_the_coverage_is_unknown():
    (file,) = annotated_files(State(), {"/src/m.py": SourceText("m.py", TEXT)})
    assert {line.coverage for line in file.lines} == {""}
    assert file.statements == 0


def test_mutants_are_on_their_lines():
    on_these = mutant(2, "killed"), mutant(2, "alive"), mutant(3, "pending")
    others = mutant(9, "alive"), mutant(1, "alive", "/other.py")
    file = annotated(*on_these, mutant(3, "equivalent"), *others)
    counts = [(line.killed, line.survivors) for line in file.lines]
    assert counts == [(0, 0), (1, 1), (0, 1), (0, 0)]
    assert len(file.mutants) == 4


def test_a_finding_is_where_its_stack_ends_in_the_files():
    deepest = ("/usr/lib/x.py", 3, "own"), ("/src/m.py", 3, LIBRARY), ("/src/m.py", 2, "own")
    file = annotated(finding(*deepest, ("/src/m.py", 1, "own")))
    assert [len(line.findings) for line in file.lines] == [0, 1, 0, 0]
    assert file.findings == 1


def test_only_the_first_finding_of_a_group_counts():
    here = ("/src/m.py", 2, "own")
    assert annotated(finding(here), finding(here, key="main/2", first=False)).findings == 1


def test_a_path_that_is_longer_than_those_in_events():
    path = "/" + "d" * MAX_TEXT + "/m.py"
    assert annotated(finding((path, 2, "own")), path=path).findings == 1
    assert annotated(replace(mutant(2, "alive"), path=path), path=path).lines[1].survivors == 1

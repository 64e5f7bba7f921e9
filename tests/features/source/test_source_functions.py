"""Functions of covered files, and the frontier with what lies behind it."""

import json
from pathlib import Path

import pytest

from fuzztui.features.source.executed import Coverage, FileCoverage, coverage_of
from fuzztui.features.source.functions import (
    frontier,
    function_coverage,
    functions_by_work,
    with_functions,
)
from fuzztui.tools.export.coverage import formatted

PYTHON = """\
class Parser:
    @property
    def state(self):
        return self.first()

    def run(self, text):
        if text == "deep":
            return deep(
                text)
        for part in text:
            if part == "(":
                continue
            else:
                self.state
        return 1


def deep(text):
    def inner():
        return rare()
    return inner()


def rare():
    a = 1
    b = 2
    return a + b
"""


@pytest.fixture
def python(tmp_path: Path) -> Coverage:
    (tmp_path / "a.py").write_text(PYTHON)
    statements = [1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 14, 15, 18, 19, 20, 21, 24, 25, 26, 27]
    ran = {1, 2, 3, 4, 6, 18, 24, 7, 10, 11, 14, 15}
    file = str(tmp_path / "a.py")
    return with_functions(coverage_of({file: ran}, {file: statements}, {}, tmp_path))


def test_functions_of_python_are_counted_without_their_heads(python: Coverage) -> None:
    rows = {f.name: (f.first, f.executed, f.statements) for _, f in functions_by_work(python)}
    assert rows == {
        "rare": (24, 0, 3),
        "deep": (18, 0, 3),
        "deep.inner": (19, 0, 1),
        "Parser.run": (6, 5, 7),
        "Parser.state": (2, 1, 1),
    }
    assert [f.name for _, f in functions_by_work(python)][:3] == ["deep", "rare", "deep.inner"]


def test_the_frontier_is_ranked_by_the_lines_behind_it(python: Coverage) -> None:
    rows = [(row.line, row.function, row.never, row.behind) for row in frontier(python)]
    # Behind the first: its own line, and deep, inner and rare, each once.
    assert rows == [(7, "Parser.run", 1, 8), (11, "Parser.run", 1, 1)]


def test_without_a_source_lines_are_known_and_calls_are_not(tmp_path: Path) -> None:
    file = FileCoverage("gone.c", frozenset({1, 2, 3}), frozenset({1}), conditions={1: (1, 2)})
    assert [(row.line, row.behind) for row in frontier(Coverage([file], tmp_path))] == [(1, 2)]
    assert with_functions(Coverage([file], tmp_path)).files[0].functions == []
    (tmp_path / "gone.c").write_text("not python {")
    assert with_functions(Coverage([file], tmp_path)).files == [file]


def test_functions_that_call_each_other_end() -> None:
    lines = [2, 3, 10, 11]
    functions = [function_coverage(lines, {2}, name, first, first + 1, calls=calls)
                 for name, first, calls in (("main", 2, 1), ("loop", 10, 0))]  # fmt: skip
    file = FileCoverage(
        "a.c",
        frozenset(lines),
        frozenset({2}),
        functions,
        {2: (1, 2)},
        {2: 7},
        {(2, 0): 7, (2, 1): 0},
    )
    text = formatted(Coverage([file], Path("/")), "json")
    assert json.loads(text)["files"]["a.c"]["hits"] == {"2": 7}
    lcov = formatted(Coverage([file], Path("/")), "lcov").splitlines()
    assert {"FN:10,loop", "FNDA:0,loop", "FNDA:1,main", "FNF:2", "FNH:1", "DA:2,7"} <= {*lcov}
    assert {"BRDA:2,0,0,7", "BRDA:2,0,1,0", "BRF:2", "BRH:1"} <= {*lcov}
    xml = formatted(Coverage([file], Path("/")), "cobertura")
    assert 'condition-coverage="50% (1/2)"' in xml
    assert 'branches-valid="2"' in xml

"""The covered lines in the log are those of the real coverage.py on the same corpus."""

import pytest
from coverage_judge import measured
from homes import covered

pytestmark = pytest.mark.slow


def in_log(run):
    """The coverage by file as the log has it: statements, and those that are missing."""
    state, lines = covered(run)
    return state, lines, {
        path: [sorted(f.statements), sorted(f.statements - f.first.keys())]
        for path, f in lines.files.items()
        if f.statements
    }  # fmt: skip


def test_the_lines_in_the_log_are_those_of_coverage_py(home):
    home.headless("600 trials")
    queue = sorted(home.run.glob("out/*/queue/id:*"))
    state, lines, found = in_log(home.run)
    theirs = {file: lines for file, lines in measured(queue).items() if lines[0]}
    assert found == theirs
    (parser,) = [f for path, f in lines.files.items() if path.endswith("_parser.py")]
    assert 0 < parser.covered < len(parser.statements)
    assert {first.entry for first in parser.first.values()} <= {"", *state.entries}
    assert {*parser.states.values()} == {"covered", "partly", "frontier", "never"}
    names = [f.name for f in parser.functions]
    assert "parse_value" in names

    # Continued: an instance reports each line once.
    before = len(state.covered)
    home.headless("1200 trials")
    queue = sorted(home.run.glob("out/*/queue/id:*"))
    state, lines, found = in_log(home.run)
    assert found == {file: lines for file, lines in measured(queue).items() if lines[0]}
    steps = list(state.covered.values())
    assert len(steps) >= before
    for name in state.instances:
        texts = [(p, t) for s in steps if s.instance == name for p, t in s.lines.items()]
        assert len(texts) == len(set(texts))

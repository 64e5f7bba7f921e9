"""``# pragma: no mutate: REASON`` in Python: which lines have no mutants, and what is refused."""

from types import ModuleType

import pytest

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.mutants.operators import DEFAULT_OPERATORS
from fuzztui.engines.mutants.pragmas import PragmaError, python_reasons
from fuzztui.engines.mutants.program import Program

SOURCE = """
def debug(x):  # pragma: no mutate: for developers
    if x:
        return 1

    return "# pragma: no mutate"

y = 1 + 1
z = (1 +   # type: ignore  # PRAGMA: no mutate: one
     2)
if y:  # pragma: no mutate: then
    a = 1
else:
    a = 2
# pragma: no mutate start: table
T = 1 + 1
# pragma: no mutate end
for i in (1,
          2):  # pragma: no mutate: loop
    if i: pass
    # the end
x = 1
"""


def test_a_line_a_block_and_a_range():
    reasons = python_reasons(SOURCE.encode())
    lines = {}
    for line, reason in reasons.items():
        lines.setdefault(reason, []).append(line)
    assert lines == {
        "for developers": [2, 3, 4, 5, 6],
        "one": [9],
        "then": [11, 12],
        "table": [15, 16, 17],
        "loop": [19, 20],
    }


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("x = 1  # pragma: no mutate", "1: .*no reason; write pragma: no mutate: REASON"),
        ("x = 1  # pragma: no mutate:", "1: .*no reason"),
        ("x = 1  # pragma: no mutate block", "1: .*no reason"),
        ("\n# pragma: no mutate start", "2: .*write pragma: no mutate start: REASON"),
        ("# pragma: no mutate: why\nx = 1", "1: .*a line of its own"),
        ("# pragma: no mutate end", "1: .*no start"),
        ("# pragma: no mutate start: a", "1: .*no end"),
        ("# pragma: no mutate start: a\nx = 1  # pragma: no mutate: b", "2: .*from line 1"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(source, problem):
    with pytest.raises(PragmaError, match=f"^{problem}"):
        python_reasons(source.encode())


def test_a_file_that_python_cannot_read_excludes_nothing():
    assert python_reasons(b"x = (1  # pragma: no mutate: why") == {}
    assert python_reasons(b"x = 1\ny = '\xff'  # pragma: no mutate: why\n") == {}


def add(found, name, source):
    module = ModuleType(name)
    code = found.application.compile(name, f"/src/{name}.py", source.encode())
    exec(code, module.__dict__)
    return found.scan()


def program(source):
    application = Application(["subject", "late"], [], EdgeTable(), CoverageMap(), Guard(0.2))
    found = Program(application, DEFAULT_OPERATORS)
    add(found, "subject", source)
    return found


def test_mutants_are_left_out_and_all_others_keep_their_ids():
    source = "def f(a):\n    b = a + 1{}\n    return a - b\n"
    whole, part = program(source.format("")), program(source.format("  # pragma: no mutate: why"))
    assert {(m.line, m.excluded) for m in part.excluded} == {(2, "why")}
    assert {m.line for m in part.mutants} == {3}
    both = [(m.id, m.hash) for m in (*part.excluded, *part.mutants)]
    assert sorted(both) == sorted((m.id, m.hash) for m in whole.mutants)
    assert part.program_sum.mutants == len(part.mutants)


def test_a_campaign_with_a_wrong_pragma_does_not_start():
    with pytest.raises(CannotStart, match=r"/src/subject\.py:1: .*no reason"):
        program("x = 1 + 1  # pragma: no mutate\n")


def test_a_wrong_pragma_of_a_module_that_is_imported_late_excludes_nothing():
    found = program("x = 1 + 1\n")
    fresh = add(
        found, "late", "y = 1 + 1  # pragma: no mutate\nz = 1 + 1  # pragma: no mutate: a\n"
    )
    assert {m.line for m in fresh} == {1, 2}
    assert not found.excluded
    (warning,) = found.warnings
    assert warning.startswith("/src/late.py:1: pragma: no mutate has no reason")

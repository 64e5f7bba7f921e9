"""The two outputs of a differential oracle, beside each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.inputs.screen.side_by_side import MIN_WIDTH, side_by_side

PROGRAMS = """O0 accepted it
  ./calc -O0 /tmp/x
stdout:
1
2
3

O2 accepted it
  ./calc -O2 /tmp/x
stdout:
1
7
3
"""
VALUES = "ours accepted it: returned {'a': [1, 2]}\ntheirs accepted it: returned {'a': [1, 3]}\n"


def rows(report, width=100):
    lines = side_by_side(report, width)
    return None if lines is None else [[span.text.strip() for span in line] for line in lines]


def test_outputs_of_programs_are_aligned_and_the_difference_is_marked():
    found = rows(PROGRAMS)
    assert ["1", "", "1"] in found and ["2", "≠", "7"] in found and ["3", "", "3"] in found


def test_values_are_laid_out():
    found = rows("a accepted it: returned " + repr({n: [n] for n in range(40)}) + "\nb failed: X")
    assert len(found) > 40
    assert rows(VALUES)[-1] == ["{'a': [1, 2]}", "≠", "{'a': [1, 3]}"]


def test_without_room_or_two_sides_there_are_no_columns():
    assert rows(PROGRAMS, MIN_WIDTH - 1) is None
    assert rows("one line") is None and rows("") is None and rows("a\nb\nc") is None


@given(st.text(max_size=300), st.integers(MIN_WIDTH, 200))
def test_any_report_fits(text, width):
    for report in (text, f"a accepted it: returned {text}\nb failed"):
        for line in side_by_side(report, width) or ():
            assert sum(len(span.text) for span in line) <= width
            assert "".join(span.text for span in line).isprintable()

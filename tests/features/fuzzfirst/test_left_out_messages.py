"""Python mutants in docstrings, annotations and messages are left out, and counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.fuzzfirst.source_mutants.generate import generate
from fuzztui.features.fuzzfirst.source_mutants.messages import Messages

SOURCE = '''\
"""A module - with
two lines + more."""
import logging
log = logging.getLogger(__name__)
LIMIT: "int | None" = 3 + 4


class Queue:
    """One line and text."""

    def put(self, a: "A + B", *, b: int = 1 + 2) -> "C - D":
        if a < b: raise ValueError("a < b and more")
        if a == b:
            raise KeyError(a + b, f"é {a + b} or so" % (a - b))
        assert a > b, "a > b"
        log.debug("put %s and %s", a + b, a - b)
        self._logger.warning("é" + str(a * b)); a = a * b
        self.catalogue(a + b)
        text = "not a - docstring"
        return text
'''
LINES = SOURCE.splitlines()


@pytest.mark.parametrize(
    ("number", "before", "after", "left_out"),
    [
        (1, "-", "+", True),
        (1, '"""A module - with', "pass", True),
        (2, "+", "-", True),
        (2, '."""', '."""\nbreak', False),
        (5, "int | None", "", True),
        (5, "3 + 4", "3 - 4", False),
        (9, '"""One line and text."""', "pass", True),
        (11, "A + B", "A - B", True),
        (11, "1 + 2", "1 - 2", False),
        (11, "C - D", "C + D", True),
        (11, '"A + B", *, b: int', "b: int", False),
        (12, "a < b:", "a <= b:", False),
        (12, "a < b and more", "a < b or more", True),
        (12, 'raise ValueError("a < b and more")', "pass", False),
        (14, "KeyError(a + b", "KeyError(a - b", False),
        (14, "{a + b} or", "{a + b} and", True),
        (14, "(a - b)", "(a * b)", True),
        (15, "a > b, ", "a < b, ", False),
        (15, '"a > b"', '"a < b"', True),
        (16, "a + b", "a * b", True),
        (16, 'log.debug("put %s and %s", a + b, a - b)', "pass", True),
        (17, "str(a * b)", "str(a + b)", True),
        (17, "a = a * b", "a = a + b", False),
        (18, "a + b", "a - b", False),
        (19, "a - docstring", "a + docstring", False),
    ],
)
def test_what_is_left_out(number, before, after, left_out):
    line = LINES[number - 1]
    assert line.count(before) == 1
    assert Messages(LINES).contain(number, line, line.replace(before, after)) == left_out


def test_those_left_out_are_counted_and_the_others_keep_their_ids(tmp_path):
    file = tmp_path / "a.py"
    file.write_text(SOURCE)
    found = generate(file)
    file.write_text(SOURCE + "((")  # of a file that is no Python all mutants are made
    whole = generate(file)
    kept = {(m.id, m.after) for m in found.mutants}
    out = [m for m in whole.mutants if (m.id, m.after) not in kept and m.line <= len(LINES)]
    assert found.messages == len(out) > 20
    assert {m.line for m in out} >= {1, 2, 5, 9, 12, 14, 15, 16, 17}
    assert not {m.line for m in out} & {18, 19}
    assert whole.messages == 0


def test_other_languages_have_no_docstrings(tmp_path):
    (tmp_path / "a.c").write_text('int f(int a) { "a text"; return a + 1; }\n')
    assert generate(tmp_path / "a.c").messages == 0


@given(st.text(max_size=80), st.integers(1, 4), st.text(max_size=9), st.text(max_size=9))
def test_any_text_can_be_asked(text, number, before, after):
    Messages(text.split("\n")).contain(number, before, after)

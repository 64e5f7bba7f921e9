"""Changes, states and shares of mutants in few cells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.kernel.model.mutants import NOT_RUN, UNREACHED
from fuzztui.kernel.model.state import MUTANT_STATES
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.base import format
from fuzztui.tui.base.bars import apportion
from fuzztui.tui.base.themes import SEMANTIC
from fuzztui.tui.labels.events import MUTANTS, command_text, describe
from fuzztui.tui.labels.mutants import SIGNS, brief_change, rank, sign


def test_every_state_has_its_own_sign_fill_and_colour():
    assert set(SIGNS) == {*MUTANT_STATES, NOT_RUN, UNREACHED}
    shown = [s for s in SIGNS.values() if s.state != NOT_RUN]  # which are pending before the end
    assert len({s.glyph for s in shown}) == len({s.fill for s in shown}) == 7
    assert all(s.style in SEMANTIC for s in SIGNS.values())
    assert sign("[/x]").glyph == "?"
    assert rank("alive") < rank("pending") < rank("killed") < rank("invalid")


@pytest.mark.parametrize(
    ("before", "after", "brief"),
    [
        ("a < b", "a <= b", "a [< → <=] b"),
        ("a and b", "a or b", "a [and → or] b"),
        ("x += 1", "x -= 1", "x [+= → -=] 1"),
        ("return f(x) + 1", "return f(x) - 1", "f(x) [+ → -] 1"),
        ("return found", "return None", "found → None"),
        ("pos, chr(n)", "()", "pos, chr(n) → ()"),
        ("value", "None", "value → None"),
        ("ok(x)", "not ok(x)", "[+ not] ok(x)"),
        ("-a", "a", "[- -] a"),
        ("print(x)", "", "- print(x)"),
        ("a_very_long_one(of, many, parts) < b", "a_very_long_one(of, many, parts) <= b",
         "…ny, parts) [< → <=] b"),
        ("one_two_three_four(five)", "None", "one_two_thr… → None"),
    ],
)  # fmt: skip
def test_a_change_begins_with_the_news(before, after, brief):
    assert brief_change(before, after) == brief


@given(st.text(max_size=130), st.text(max_size=130))
def test_any_change_is_drawn(before, after):
    assert isinstance(brief_change(before, after), str)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=8), st.integers(0, 200))
def test_a_bar_is_full_and_shows_whoever_is_there(parts, width):
    cells = apportion(parts, width)
    assert all(n >= 0 for n in cells)
    assert sum(cells) == (width if sum(parts) else 0)
    assert all(n == 0 for n, part in zip(cells, parts, strict=True) if part == 0)
    if width >= 2 * len(parts):
        assert all(n > 0 for n, part in zip(cells, parts, strict=True) if part)


@pytest.mark.parametrize(
    ("share", "text"),
    [(None, "–"), (0.0, "0.0%"), (1.0, "100.0%"), (0.99999, "99.9%"), (1e-9, "<0.1%"),
     (0.612, "61.2%")],
)  # fmt: skip
def test_scores_are_not_rounded_to_the_ends(share, text):
    assert format.score(share) == text


def test_events_in_words():
    kill = describe(
        ev.MutantState("main", "m:f:math:0:-", "killed", "main/3", "value", 9, "returned 1, not 2")
    )
    assert kill.text == "m:f:math:0:-  by main/3  (value)  returned 1, not 2"
    assert (kill.label, kill.style, kill.group) == ("kill", "killed", MUTANTS)
    aside = describe(ev.MutantState("main", "m", "skipped", reason="slow", steer="last"))
    assert aside.text == "m  skipped: slow  last"
    found = describe(ev.MutantsFound("main", "m", "m.py", "", [{"id": "a"}, {"id": "b"}]))
    assert found.text == "2 in m.py"
    assert describe(ev.MutantRuns("main", {"a": [1, 1, 1]})).group == "stats"
    assert "mutants 2.0s" in describe(ev.MutationStats("main", mutants_s=2.0)).text


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ({"c": "skip-mutants", "select": "operator=math"}, "skip-mutants operator=math"),
        ({"c": "move-mutants", "select": "a:b", "to": "last", "instance": "s1"},
         "move-mutants a:b to last on s1"),
        ({"c": "mark-equivalent", "select": "a", "because": "dead code"},
         "mark-equivalent a, because dead code"),
        ({"c": "exact-pass", "instance": ""}, "exact-pass"),
    ],
)  # fmt: skip
def test_commands_in_words(command, words):
    assert command_text(command) == words

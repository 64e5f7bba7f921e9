"""The language of filters and selections: screen, command line and engines agree."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.mutants.screen.groups import parse_filter as parse_mutants
from fuzztui.kernel.wire.conditions import FilterKey, exactly, parse_filter, parse_number
from fuzztui.kernel.wire.selection import MAX_SELECTION, SelectionError, of_ids, parse_selection
from fuzztui.tui.base.columns import Column, column_keys
from fuzztui.tui.base.filterbar import ConditionSuggester


@dataclass
class Thing:
    id: str = "a:f:math:0:x"
    file: str = "src/a.py"
    function: str = "Flags.parse_int"
    operator: str = "math"
    line: int = 12
    state: str = "alive"
    runs: int = 20


KEYS = {
    "name": FilterKey(lambda t: t.function),
    "runs": FilterKey(lambda t: f"{t.runs}", lambda t: t.runs),
}


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("name=flags.*", True),
        ("name=flags", False),
        ("name!=other", True),
        ("name=other|*int", True),
        ("runs>10", True),
        ("runs>20 ", False),
        ("runs>=20,runs<=20", True),
        ("runs<0.02k", False),
        ("runs=20", True),
        ('name="flags.parse_int"', True),
    ],
)
def test_conditions(text, passes):
    found = parse_filter(text, KEYS)
    assert not found.problem
    assert found.words == ()
    assert found.passes(Thing()) is passes


@pytest.mark.parametrize("text", ["naem=x", "runs>many", "name>3", "runs=1,oops"])
def test_a_wrong_condition_is_a_problem_and_is_not_applied(text):
    found = parse_filter(text, KEYS)
    assert found.problem
    assert len(found.tests) == text.count("runs=1")


@pytest.mark.parametrize("text", ["runs>", "name=", "runs=20,ru"])
def test_a_condition_that_is_being_typed_is_no_problem(text):
    found = parse_filter(text, KEYS)
    assert not found.problem
    assert found.passes(Thing())


def test_words_beside_conditions():
    found = parse_filter('a==b "runs>3 x" runs>3 c,d', KEYS)
    assert found.words == ("a==b", "runs>3 x", "c,d")
    assert len(found.conditions) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [("10", 10), ("1.5k", 1500), ("2M", 2e6), ("90s", 90), ("5m", 300), ("1:30", 90),
     ("0:10:00", 600), ("5%", 0.05), ("1,000", 1000), ("x", None), ("1x", None), ("", None),
     ("1:x", None), ("9" * 400, None)],
)  # fmt: skip
def test_numbers(text, value):
    assert parse_number(text) == value


def test_the_text_of_the_screen_selects_the_same_in_a_command():
    rows = [Thing(), Thing(state="killed"), Thing(runs=3), Thing(file="b.py")]
    for text in (
        "state=alive function=*parse_* runs>10",
        "file=a.py,runs<5",
        "line>=12 state!=alive",
    ):
        shown = [t for t in rows if parse_mutants(text).passes(t)]
        assert parse_selection(text).of(rows) == shown
        assert 0 < len(shown) < len(rows)


def test_an_engine_cannot_decide_what_only_the_log_knows():
    assert parse_selection("runs>10").of_log
    assert not parse_selection("state=alive line>3").of_log


@pytest.mark.parametrize("text", ["state=alive parse", "runs>many", "sate=alive", "state=", ""])
def test_a_selection_has_no_words_and_no_faults(text):
    with pytest.raises(SelectionError):
        parse_selection(text)


ids = st.text(st.sampled_from('ab:*?[]!,|"= \t<>é#'), min_size=1, max_size=8)


@given(st.sets(ids, min_size=1, max_size=8), st.sets(ids, max_size=8))
def test_ids_select_themselves_alone(wanted, others):
    rows = [Thing(id=id) for id in wanted | others]
    (select,) = of_ids(sorted(wanted))
    selection = parse_selection(select)
    assert {t.id for t in selection.of(rows)} == wanted
    assert set(selection.named or ()) == wanted


def test_many_ids_are_several_selections():
    many = [f"module:function:math:{n}:x" for n in range(3000)]
    parts = of_ids(many)
    assert len(parts) > 1
    assert all(len(part.encode()) <= MAX_SELECTION + 100 for part in parts)
    assert sorted(id for part in parts for id in parse_selection(part).ids) == sorted(many)


@given(ids)
def test_exactly_one_text(text):
    found = parse_filter(f"name={exactly(text)}", {"name": FilterKey(lambda t: t, folded=False)})
    assert found.passes(text)
    assert not found.passes(text + "x")


async def test_completion_of_keys_and_values():
    suggester = ConditionSuggester(
        lambda: ["state", "steer", "runs"], lambda key: {"state": ["alive", "killed"]}.get(key, ())
    )
    for typed, whole in {
        "ste": "steer=",
        "parse st": "parse state=",
        "state=k": "state=killed",
        "state!=alive|k": "state!=alive|killed",
        "runs>1,sta": "runs>1,state=",
        "state=alive": None,
        "": None,
        "zzz": None,
    }.items():
        assert await suggester.get_suggestion(typed) == whole


def test_the_keys_are_the_titles_of_the_columns():
    columns = [
        Column("k", "kept for", lambda t: ("edge", "")),
        Column("n", "size", lambda t: ("1.2k", ""), lambda t: 1234, "right"),
    ]
    keys = column_keys(columns)
    assert parse_filter("kept-for=edge size>1.2k", keys).passes(Thing())
    assert not parse_filter("size>1.3k", keys).passes(Thing())

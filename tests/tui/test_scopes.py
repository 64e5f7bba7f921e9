"""What a scope is said to mean is what its selection, parsed by the engine, means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.mutants.screen.groups import one, parse_filter, scopes
from fuzztui.kernel.model.state import Mutant
from fuzztui.kernel.wire.conditions import FilterCondition
from fuzztui.kernel.wire.selection import Selection, parse_selection


def mutant(n=0, file="a.py", function="f", operator="math", state="alive"):
    return Mutant(f"m:{function}:{operator}:{n}:x", "m", file, "", 1, function, operator,
                  "a", "b", 0.0, state=state)  # fmt: skip


names = st.text(st.sampled_from("ab./_*?[]!,= \t<>é"), min_size=1, max_size=8)
some = st.lists(
    st.builds(
        mutant,
        st.integers(0, 9),
        names,
        names,
        st.sampled_from(["math", "MATH", "boundary"]),
        st.sampled_from(["alive", "killed"]),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.slow
@given(some)
def test_every_scope_means_its_mutant_and_counts_what_it_selects(rows):
    here = rows[0]
    for scope in scopes(here, rows):
        selection = parse_selection(scope.select)
        if selection.id:
            continue
        assert selection.matches(here), scope
        assert scope.count == len(selection.of(rows))
        for state, n in scope.states.items():
            assert n == sum(m.state == state for m in selection.of(rows))


@given(some)
def test_a_scope_is_about_its_own_file_and_function(rows):
    here = rows[0]
    plain = "*?[]!,= \t"
    if any(ch in plain for m in rows for ch in m.file + m.function):
        return  # then a pattern may mean more: its count says so
    for scope in scopes(here, rows):
        for row in parse_selection(scope.select).of(rows):
            if "function=" in scope.select:
                assert row.function == here.function or row.function.endswith("." + here.function)
            if "file=" in scope.select:
                assert row.file == here.file or row.file.endswith("/" + here.file)


def test_names_that_hold_patterns_mean_themselves():
    rows = [mutant(file="a[1]*.py"), mutant(file="a1xx.py"), mutant(file="b,c.py")]
    in_file = next(s for s in scopes(rows[0], rows) if s.title == "all in a[1]*.py")
    assert in_file.select == "file=a[[]1][*].py"
    assert in_file.count == 1
    comma = next(s for s in scopes(rows[2], rows) if s.title == "all in b,c.py")
    assert comma.count == 1


def test_a_bare_mutant_has_only_itself():
    bare = Mutant("m:f:math:0:x", "", "", "", -1, "", "", "", "", 0.0)
    assert [s.select for s in scopes(bare, [bare])] == ["m:f:math:0:x"]


@pytest.mark.parametrize("hostile", ["operator=math", "file=*", " m:f:x:0:y", "", "state=alive,"])
def test_an_id_that_would_select_something_else_is_no_scope(hostile):
    assert one(Mutant(hostile, "", "", "", -1, "", "", "", "", 0.0)) is None


@given(st.text(max_size=40))
def test_any_text_is_a_filter(text):
    found = parse_filter(text)
    accepts = found.accepts("")
    assert accepts is None or accepts(mutant()) in (True, False)


def test_a_filter_is_a_selection_only_when_it_has_no_words():
    assert parse_filter("operator=math,state=alive").as_selection("") == "operator=math,state=alive"
    assert parse_filter("operator=math").as_selection("alive") == "operator=math,state=alive"
    assert parse_filter("").as_selection("alive") == "state=alive"
    assert parse_filter("").as_selection("") == ""
    assert parse_filter("parse operator=math").as_selection("alive") == ""


def test_a_condition_that_is_being_typed_narrows_nothing():
    assert parse_filter("operator=") == parse_filter("")
    assert parse_filter("operator=math,sta").selection == Selection(
        conditions=(FilterCondition("operator", "=", "math"),)
    )
    assert parse_filter("a==b").words == ("a==b",)

"""Types, goals and what is asked about them, in words and in columns."""

import itertools

from aimed import PINNED, figures, left
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.targeting.fold import GoalRow, TypeRow, goal_line
from fuzztui.features.targeting.screen.columns import TypeColumnContext, goal_columns, type_columns
from fuzztui.features.targeting.screen.detail import goal_lines
from fuzztui.features.targeting.screen.labels import (
    brief_location,
    brief_type,
    fewer,
    pending_label,
    short_names,
)
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import (
    DemoteEntry,
    IgnoreGoal,
    PinGoal,
    SetTargetedShare,
    WeighType,
    weight_text,
)
from fuzztui.kernel.wire.targeting import label_in, targeted_op, type_label
from fuzztui.tui.base.source_excerpt import SourceExcerpt
from fuzztui.tui.frame.controls import answer_text
from fuzztui.tui.labels.events import STATS, command_text, describe


def test_names_are_shortened_from_where_they_say_least():
    assert brief_type("datetime.datetime", 17) == "datetime.datetime"
    assert brief_type("a.very.long.package.datetime.datetime", 20) == "…datetime.datetime"
    assert brief_type("email.headerregistry.UniqueDateHeader", 20) == "UniqueDateHeader"
    assert brief_type("AVeryLongNameOfAClassIndeed", 12) == "AVer…sIndeed"
    assert brief_location("package/module.py:12:then", 30) == "package/module.py:12:then"
    assert brief_location("a/b/package/module.py:12:then", 20) == "…/module.py:12:then"
    assert brief_location("a/averylongmodule.py:12:then", 12) == "….py:12:then"


def test_names_are_as_short_as_tells_them_apart():
    assert short_names(["a.b.C", "x.D", "E"]) == {"a.b.C": "C", "x.D": "D", "E": "E"}
    assert short_names(["a.b.C", "z.b.C", "q.C", "C"]) == {
        "a.b.C": "a.b.C", "z.b.C": "z.b.C", "q.C": "q.C", "C": "C",
    }  # fmt: skip
    assert short_names(["a.", "..", ""]) == {"a.": "a.", "..": "..", "": ""}


@given(st.lists(st.text("ab.", max_size=7), max_size=8))
def test_short_names_tell_apart(names):
    short = short_names(names)
    assert short.keys() == set(names)
    assert len(set(short.values())) == len(short)
    assert all(name.endswith(end) for name, end in short.items())


def test_of_a_list_the_first_ones_and_how_many_more():
    listed = "Path 0, datetime 1, stat_result 4"
    assert fewer(listed, 32) == "Path 0, datetime 1 +1"
    assert fewer(listed, 20) == "Path 0 +2"
    assert fewer(listed, 4) == listed
    assert fewer("no known type", 4) == "no known type"


def test_answers_do_not_repeat_the_name_that_was_asked_about():
    pin = PinGoal("m.py:2:then")
    assert answer_text(pin, "m.py:2:then is pinned: a.B 2") == "it is pinned: a.B 2"
    assert answer_text(PinGoal(""), "m.py:2:then is not pinned any more").startswith("m.py")
    assert answer_text(WeighType("a", 2.0), "main: a weighs 2; s1: a.a too") == (
        "main: it weighs 2; s1: a.a too"
    )
    assert answer_text(SetTargetedShare(0.5), "20% -> 50%") == "20% -> 50%"


@given(st.text(max_size=80), st.integers(6, 60))
def test_short_names_are_short(name, room):
    assert len(brief_type(name, room)) <= room
    assert len(brief_location(name, room)) <= room


@given(st.text(max_size=120))
def test_types_in_names_of_entries_are_found_again(name):
    assert (
        label_in(targeted_op(name, 4)) == label_in(f"typed:{type_label(name)}") == type_label(name)
    )
    assert (goal_line(name) or ("", 0))[1] >= 0


def test_what_is_not_aimed_names_no_type():
    assert label_in("havoc,rep:4") == label_in("") == label_in("typed:,rep:2") == ""


def test_columns_of_what_was_never_drawn():
    looks = TypeColumnContext(lambda name: name, lambda _: "", lambda _: "")
    cells = {c.id: c.cell(TypeRow("x"))[0] for c in type_columns(looks)}
    assert (cells["weight"], cells["distance"], cells["picks"]) == ("×1", "–", "0")
    cells = {c.id: c.cell(GoalRow("m.py:3:then", False, 0, 0, ()))[0]
             for c in goal_columns(looks)}  # fmt: skip
    assert (cells["left"], cells["reached"]) == ("· further", "–")
    for every, a, b in (
        (type_columns(looks), TypeRow("x"), TypeRow("y", 3, 0.5, True, 2.0, 0.3, 5, 4, 1, 2)),
        (goal_columns(looks), GoalRow("::", True, 3, 9, (("x", 1),)),
         GoalRow("a.py:7:x", False, 0, 0, ())),
    ):  # fmt: skip
        for column, (one, other) in itertools.product(every, ((a, b), (b, a), (a, a))):
            if column.sort is not None:
                assert column.sort(one) <= column.sort(other) or column.sort(one) >= column.sort(
                    other
                )


def test_source_that_is_indented_with_control_characters_is_drawn_plainly():
    source = SourceExcerpt(3, 3, ("\x1f\x1f  if x:",))
    lines = goal_lines(GoalRow("m.py:3:then", True, 1, 1, ()), {}, "", source, State())
    text = "".join(span.text for line in lines for span in line)
    assert text.isprintable()
    assert "if x:" in text


def test_names_of_many_parts_stay_whole_where_the_last_ones_are_alike():
    a, b = (f"{part}{'.x' * 90}" for part in "ab")
    assert short_names([a, b]) == {a: a, b: b}


def test_the_log_has_words_for_it():
    told = describe(figures("main", 600, pinned=PINNED))
    assert told.text.startswith(
        "29 of 240 goals uncovered, 9 on the frontier  9 types  50% targeted"
    )
    assert told.text.endswith(f"pinned {PINNED}")
    assert told.group == STATS
    assert describe(figures("main", 600, ignored=[PINNED])).text.endswith("50% targeted  1 ignored")
    assert describe(left("main", 5)).text == "29 reported"
    assert command_text(encode_command(WeighType("a.B", 0.5))) == "weigh-type a.B ÷2"
    assert command_text(encode_command(WeighType("a.B", 0.0, "s1"))) == (
        "weigh-type a.B ⊘ banned on s1"
    )
    assert command_text(encode_command(PinGoal("m.py:3:then"))) == "pin-target m.py:3:then"
    assert command_text(encode_command(PinGoal(""))) == "pin-target none"
    assert command_text(encode_command(IgnoreGoal("m.py:3:then"))) == "ignore-target m.py:3:then"
    assert command_text(encode_command(IgnoreGoal("m.py:3:then", False, "s1"))) == (
        "ignore-target m.py:3:then off on s1"
    )
    assert command_text(encode_command(SetTargetedShare(0.55))) == "targeted 55%"
    assert command_text(encode_command(DemoteEntry(4, "main"))) == "demote main/4"
    for wrong in ({"weight": "x"}, {"weight": float("nan")}, {"weight": 10**400}, {}):
        assert command_text({"c": "weigh-type", "type": "a.B", **wrong}) == "weigh-type"
    assert command_text({"c": "targeted", "share": 7}) == "targeted"


def test_wishes_and_weights_in_words():
    assert [weight_text(w) for w in (0, 1, 4, 0.25, 1000, 0.001)] == [
        "⊘ banned", "×1", "×4", "÷4", "×1,000", "÷1,000",
    ]  # fmt: skip
    assert pending_label(WeighType("a.B", 2.0)) == "a.B ×2"
    assert pending_label(PinGoal("")) == "unpin"
    assert pending_label(IgnoreGoal("m.py:3:then")) == "ignore m.py:3:then"
    assert pending_label(IgnoreGoal("m.py:3:then", False)) == "unignore m.py:3:then"
    assert pending_label(SetTargetedShare(0.0)) == "0% targeted"

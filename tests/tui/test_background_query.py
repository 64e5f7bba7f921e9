"""Light terminals are detected, and no byte of an answer becomes a key."""

import re

import pytest
from ptys import Terminal

from fuzztui.tui.base.background_query import (
    HELD_TICKS,
    QUESTION,
    Answers,
    asked,
    is_light,
    light_by_variable,
)
from fuzztui.tui.base.themes import load_themes

ATTRIBUTES = b"\x1b[?62;22c"
LIGHT = b"\x1b]11;rgb:ffff/ffff/dddd\x1b\\"
DARK = b"\x1b]11;rgb:2222/2222/2222\x07"  # as keys, 2 would show the Corpus


@pytest.mark.parametrize(
    ("color", "light"),
    [
        (b"rgb:ffff/ffff/ffff", True), (b"rgb:0/0/0", False), (b"rgb:fd/f6/e3", True),
        (b"rgba:0000/2b2b/3636/ffff", False), (b"#ffffff", True), (b"RGB:F/F/F", True),
        (b"rgb:ffff/ffff", None), (b"rgb:gggg/0/0", None), (b"", None), (b"?", None),
        (b"rgb:fffff/0/0", None),
    ],
)  # fmt: skip
def test_colors(color, light):
    assert is_light(color) is light


@pytest.mark.parametrize(
    ("value", "light"),
    [("0;15", True), ("15;0", False), ("0;default;7", True), ("12;8", False), ("", None),
     ("15;default", None), ("0;99", False)],
)  # fmt: skip
def test_the_variable(value, light):
    assert light_by_variable({"COLORFGBG": value}) is light


@pytest.mark.parametrize("answer", [LIGHT, DARK, b"\x1b]11;rgb:garbage\x07", b""])
def test_answers_in_any_pieces_leave_only_the_keys(answer):
    data = b"ab" + answer + b"\x1b[A" + ATTRIBUTES + b"q"
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1):
            answers = Answers()
            parts = (data[:first], data[first:second], data[second:])
            assert b"".join(map(answers.feed, parts)) + answers.tick() == b"ab\x1b[Aq"
            assert answers.light is {LIGHT: True, DARK: False}.get(answer)
            assert answers.complete.is_set()


@pytest.mark.parametrize("key", [b"\x1b", b"\x1b[", b"\x1b]"])
def test_an_escape_that_begins_no_answer_is_a_key(key):
    answers = Answers()
    assert answers.feed(b"x" + key) == b"x"
    assert answers.tick() == key
    assert answers.tick() == b""


@pytest.mark.parametrize(
    "sequence",
    [b"\x1b[?2026;2$y", b"\x1b[<35;40;20M", b"\x1b[?1u", b"\x1bOP", b"\x1b]52;c;eA==\x07"],
)
def test_other_sequences_pass(sequence):
    answers = Answers()
    parts = [answers.feed(sequence[i : i + 1]) for i in range(len(sequence))]
    assert b"".join(parts) == sequence
    assert not answers.complete.is_set()


def test_half_an_answer_is_dropped_in_the_end():
    answers = Answers()
    assert answers.feed(b"\x1b]11;rgb:ff") == b""
    assert [answers.tick() for _ in range(HELD_TICKS)] == [b""] * HELD_TICKS
    assert answers.feed(b"q") == b"q"


def test_an_endless_answer_is_not_collected():
    answers = Answers()
    data = b"\x1b]11;" + b"x" * 10_000
    passed = b"".join(answers.feed(data[i : i + 10]) for i in range(0, len(data), 10))
    assert len(passed) > len(data) - 100


@pytest.mark.parametrize("term", ["", "dumb", "linux"])
def test_a_terminal_without_answers_is_not_asked(term):
    with asked({"TERM": term}, 0, 1) as query:
        assert query is None


@pytest.fixture
def terminal(run):
    opened = []

    def start(**options):
        env = {"COLORTERM": "truecolor", "NO_COLOR": "", "FUZZTUI_THEME": "", "COLORFGBG": ""}
        env |= options.pop("env", {})
        opened.append(Terminal(run, "live", 0, "remembered", env=env, **options))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def ground(theme):
    """How a terminal is told the background of a theme."""
    color = load_themes()[0][theme].colors["background"]
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"48;2;{red};{green};{blue}".encode()


def closed(t):
    """Leave, and check that the terminal is as it was before."""
    t.press(b"q")
    assert t.ended() == 0
    t.drain()
    assert t.left() == b""
    assert re.search(rb"rgb:|\?62;22c", t.seen) is None  # the terminal has not echoed answers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "theme"),
    [
        (LIGHT + ATTRIBUTES, "daylight"),
        (DARK + ATTRIBUTES, "midwatch"),
        (ATTRIBUTES, "midwatch"),
        (b"\x1b]11;rgb:zz\x07" + ATTRIBUTES, "midwatch"),
        (None, "midwatch"),
    ],
)
def test_the_theme_fits_the_terminal(terminal, answer, theme):
    t = terminal(answer=answer)
    t.until(ground(theme))
    t.until(b"KeyError")
    closed(t)
    other = {"midwatch": "daylight", "daylight": "midwatch"}[theme]
    assert ground(other) not in t.seen


@pytest.mark.slow
def test_the_variable_is_used_where_the_terminal_does_not_answer(terminal):
    t = terminal(env={"COLORFGBG": "0;15"})
    t.until(ground("daylight"))
    closed(t)


@pytest.mark.slow
def test_a_late_answer_changes_the_theme_and_is_not_typed(terminal):
    t = terminal()
    t.until(ground("midwatch"))
    t.until(b"KeyError")
    for part in (LIGHT[:1], LIGHT[1:9], LIGHT[9:] + ATTRIBUTES[:3], ATTRIBUTES[3:]):
        t.press(part)
    t.until(ground("daylight"))
    t.press(b"2")  # and keys work afterwards
    t.until(b"Promote")
    closed(t)


@pytest.mark.slow
def test_an_answer_after_leaving_is_not_given_to_the_shell(terminal):
    t = terminal()
    t.until(QUESTION)
    t.press(b"q")  # at once: before the screens are open
    t.until(b"\x1b[?1000l")  # they close, and wait
    t.press(DARK + ATTRIBUTES)
    assert t.ended() == 0
    assert t.left() == b""


@pytest.mark.slow
def test_keys_typed_before_the_answer_are_not_lost(terminal):
    t = terminal(answer=b"5" + LIGHT + b"2" + ATTRIBUTES)
    t.until(ground("daylight"))
    t.until(b"Promote")
    closed(t)


@pytest.mark.slow
def test_who_has_chosen_a_theme_is_not_asked_about(terminal):
    t = terminal(env={"FUZZTUI_THEME": "contrast"}, answer=LIGHT + ATTRIBUTES)
    t.until(b"KeyError")
    closed(t)
    assert QUESTION not in t.seen

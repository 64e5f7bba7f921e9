"""Nothing that a target chose can move the cursor, hide or reorder text, or be markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fuzztui.tui.base import format
from fuzztui.tui.base.text import fit, plain, plain_lines

# Surrogates included: a log may hold half of a pair.
ANY = st.text(st.characters(exclude_categories=()), max_size=60)


@given(ANY)
def test_every_character_is_printable_and_has_a_cell_of_its_own(text):
    shown = plain(text)
    assert all(ch.isprintable() and cell_len(ch) >= 1 for ch in shown)
    assert cell_len(shown) == sum(cell_len(ch) for ch in shown)
    shown.encode()  # no half of a surrogate pair is left


@given(ANY)
def test_escaping_twice_changes_nothing(text):
    assert plain(plain(text)) == plain(text)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_printable_ascii_is_left_alone(text):
    assert plain(text, 10_000) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", r"\e[31mred"),
        ("a\tb\nc", r"a\tb\nc"),
        ("\x9b2J", r"\x9b2J"),
        ("evil\u202etxt", r"evil\u202etxt"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("half\ud800", r"half\ud800"),
        ("e\u0301", r"e\u0301"),
        ("[/x] [bold]", "[/x] [bold]"),
        ("日本", "日本"),
        ("\x7f", r"\x7f"),
    ],
)
def test_known_cases(text, shown):
    assert plain(text) == shown


def test_long_text_is_cut_before_it_is_looked_at():
    assert len(plain("\x1b" * 10_000_000)) <= 2 * 2000
    assert plain("x" * 3000).endswith("…")


@given(ANY, st.integers(0, 30), st.sampled_from(["left", "right"]))
def test_fit_takes_exactly_the_cells_it_is_given(text, width, align):
    assert cell_len(fit(plain(text), width, align)) == width


@given(ANY, st.integers(1, 30))
def test_what_fits_is_shown_whole(text, spare):
    shown = plain(text)
    assert fit(shown, cell_len(shown) + spare).startswith(shown)
    assert fit(shown, cell_len(shown) + spare, "right").endswith(shown)


@given(ANY)
def test_lines_are_lines(text):
    lines = plain_lines(text)
    assert all(line.isprintable() for line in lines)
    assert len(lines) <= 401


@pytest.mark.parametrize("wall", [1e12, 1e300, -1e300, float("inf"), float("nan")])
def test_an_impossible_time_is_a_dash(wall):
    assert format.wall_clock(wall, "%Y") == format.NONE

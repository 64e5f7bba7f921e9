"""Inputs as people know them: text, generated values and images, bytes, what changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.inputs.screen.hexview import Preview
from fuzztui.features.inputs.screen.input_views import (
    BYTES,
    CHANGES,
    VIEWS,
    InputContent,
    bytes_preview,
    input_lines,
    picture_lines,
)
from fuzztui.features.inputs.screen.pretty import MAX_LINES, laid_out
from fuzztui.kernel.wire.events import InputShown


def content(data: bytes, shown: InputShown | None = None, parent=None) -> InputContent:
    return InputContent(Preview(data, len(data)), shown, parent)


def shown(text: str, form: str = "text", **more) -> InputShown:
    return InputShown("main", "1", form, text, len(text), **more)


def text_of(lines) -> str:
    return "\n".join("".join(span.text for span in line) for line in lines)


def test_text_is_shown_as_text_and_anything_else_as_bytes():
    assert "a = [1]\nb" in text_of(input_lines(content(b"a = [1]\nb"), 80))
    assert "61 20 3d" in text_of(input_lines(content(b"a = [1]\nb"), 80, BYTES))
    assert "ff fe 00" in text_of(input_lines(content(b"\xff\xfe\0\x81" * 9), 80))


def test_choices_are_shown_as_what_the_generator_made():
    made = content(b"\x01\x02", shown("SELECT 1"))
    assert "SELECT 1" in text_of(input_lines(made, 80))
    assert "01 02" in text_of(input_lines(made, 80, BYTES))
    value = content(b"\x01", shown(repr({"k": list(range(60))}), "value"))
    assert "\n    59\n" in text_of(input_lines(value, 40))


def test_what_changed_is_marked():
    parent = content(b"x", shown("SELECT 1"))
    child = content(b"y", shown("SELECT 1, 2"), parent)
    assert "SELECT 1{+, 2+}" in text_of(input_lines(child, 80, CHANGES))
    child = content(b"ab\nxd", parent=content(b"ab\ncd"))
    assert "ab\n[-c-]{+x+}d" in text_of(input_lines(child, 80, CHANGES))
    same = text_of(input_lines(content(b"ab", parent=content(b"ab")), 80, CHANGES))
    alone = text_of(input_lines(content(b"ab"), 80, CHANGES))
    assert "{+" not in same + alone and same != alone


def test_a_picture_has_two_pixels_in_a_cell():
    lines = picture_lines("2x3:" + "ff0000" * 2 + "00ff00" * 2 + "0000ff" * 2)
    assert [[span.style for span in line] for line in lines] == [
        ["#ff0000 on #00ff00"] * 2,
        ["#0000ff"] * 2,
    ]
    for broken in ("", "2x2:00", "0x0:", "99x99:000000", "1x1:00000g", "2x1:000000" + "\x1b"):
        assert picture_lines(broken) == []


def test_the_preview_is_one_line():
    assert bytes_preview(b"a\n\tb  c") == "a b c"
    assert bytes_preview(b"\xff\0\x01\x80") == "ff 00 01 80"
    assert bytes_preview(b"") == ""


def test_the_preview_of_a_text_with_some_bytes_is_text_with_escapes():
    assert bytes_preview(b'{"na\xffme": "a b",\n  1}') == '{"na\\xffme": "a b", 1}'
    assert bytes_preview(b"GIF\xff\xfe\x01\x02\x03") == "47 49 46 ff fe 01 02 03"


@given(st.binary(max_size=200), st.binary(max_size=200), st.sampled_from(VIEWS), st.text())
def test_any_input_can_be_drawn(data, before, view, text):
    for form in ("text", "value", "image", "?"):
        one = content(data, shown(text, form), content(before, shown(text[::2], form)))
        for made in (one, content(data, parent=content(before))):
            assert text_of(input_lines(made, 40, view)).replace("\n", "").isprintable()


@given(st.text(alphabet="ab,'\"\\()[]{} \n:1", max_size=400), st.integers(1, 80))
def test_a_layout_changes_only_blanks(text, width):
    laid = laid_out(text, width)
    assert "".join("".join(laid).split()) == "".join(text.split())


def test_a_layout_is_bounded():
    assert len(laid_out("[" * 100_000, 80)) <= MAX_LINES
    assert laid_out("[1, (2, 3)]", 80) == ["[1, (2, 3)]"]

"""What a generator made, as a text for users."""

import io
import sys

import pytest

from fuzztui.engines.execute.shown import MAX_TEXT, input_text


def test_a_string_is_itself_and_anything_else_its_repr():
    assert (input_text("a\nb").form, input_text("a\nb").text) == ("text", "a\nb")
    assert (input_text([1, "x"]).form, input_text([1, "x"]).text) == ("value", "[1, 'x']")
    assert input_text("\ud800").text.encode()


def test_a_long_text_is_cut_and_its_length_is_known():
    text = input_text("x" * (MAX_TEXT + 5))
    assert (len(text.text), text.length) == (MAX_TEXT, MAX_TEXT + 5)


def test_an_image_has_its_size_and_a_thumbnail():
    image = pytest.importorskip("PIL.Image")
    picture = image.new("RGB", (64, 40), (255, 0, 0))
    data = io.BytesIO()
    picture.save(data, "PNG")
    for value in (picture, data.getvalue()):
        text = input_text(value)
        assert text.form == "image" and "64 x 40" in text.text
        assert text.picture.startswith("32x20:ff0000")
        assert len(text.picture) == len("32x20:") + 6 * 32 * 20
    assert input_text(data.getvalue()[:40]).form in ("image", "value")


def test_without_pillow_an_image_is_bytes(monkeypatch):
    monkeypatch.delitem(sys.modules, "PIL.Image", raising=False)
    assert input_text(b"\x89PNG\r\n\x1a\n").form == "value"

"""Corpus files of libFuzzer and Go."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.tools.export.corpus import GO, NoInput, decoded, encoded, name_of


@given(st.binary(), st.booleans())
def test_an_input_comes_back_from_gos_format(data: bytes, text: bool) -> None:
    content = encoded(data, GO, text=text)
    assert content.isascii()
    assert content.count(b"\n") == 2
    assert decoded(content) == data


@given(st.binary())
def test_a_plain_file_is_the_input(data: bytes) -> None:
    content = encoded(data, "libfuzzer")
    assert content == data
    assert name_of(data, "libfuzzer") == hashlib.sha1(data).hexdigest()
    if not data.startswith(b"go test"):
        assert decoded(content) == data


# What strconv.Quote of Go writes.
@pytest.mark.parametrize(
    ("line", "data"),
    [
        ('[]byte("0")', b"0"),
        (r'string("\x00\a\t\"\\\xff")', b'\x00\a\t"\\\xff'),
        (r'string("\u00e9\U0001F600é")', "é😀é".encode()),
        (r'[]byte("\101\x42")', b"AB"),
        ("string(`a\\n`)", b"a\\n"),
    ],
)
def test_files_that_go_has_written(line: str, data: bytes) -> None:
    assert decoded(f"go test fuzz v1\n{line}\n".encode()) == data


@pytest.mark.parametrize(
    "lines",
    ["int(3)", '[]byte("a")\nint(2)', "", '[]byte("a"', r'string("\q")', r'string("\ud800")'],
)
def test_other_values_are_no_input(lines: str) -> None:
    with pytest.raises(NoInput):
        decoded(f"go test fuzz v1\n{lines}\n".encode())

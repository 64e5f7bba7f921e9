"""What is copied does in a shell what it says, whatever a target called its files."""

import os
import subprocess

import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuzztui.tui.base import shell

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(NAMES)
@example("a b'c")
@example("x\n; touch /tmp/pwned; \x1b[201~")
@example(os.fsdecode(b"\xff\xfe not utf-8"))
@settings(max_examples=examples(60))
def test_a_word_is_pasteable_and_means_the_name(name):
    word = shell.word(name)
    assert word.isprintable()
    out = subprocess.run(["bash", "-c", f"printf %s {word}"], stdout=subprocess.PIPE, check=True)
    assert out.stdout == os.fsencode(name)


@pytest.mark.parametrize("name", ["\ud800", "a\udc00\ud800b"])
def test_half_of_a_surrogate_pair_is_no_crash(name):
    shell.word(name).encode()


def test_commands_and_paths():
    assert shell.command(["fuzztui", "repro", "my run"]) == "fuzztui repro 'my run'"
    assert shell.path("/a b/c") == "/a b/c"
    assert shell.path("/a\x1b") == r"$'/a\x1b'"

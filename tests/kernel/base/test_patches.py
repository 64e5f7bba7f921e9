"""Diffs as bytes."""

from __future__ import annotations

from fuzztui.kernel.base.patches import patch_bytes, unified_diff


def test_bytes_that_are_not_utf_8_are_those_of_the_file():
    assert b"\n-\xff\n+\xfe\n" in patch_bytes(unified_diff("a.c", b"\xff\n", b"\xfe\n"))


def test_a_text_that_no_file_has_is_escaped():
    assert patch_bytes("-\ud800\n+x\n") == b"-\\ud800\n+x\n"

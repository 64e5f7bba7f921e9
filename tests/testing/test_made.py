"""A generator's input from its choices, without a campaign."""

from __future__ import annotations

import json
from pathlib import Path

from fuzztui.engines.inputs.constants import ConstantPool, digest_of
from fuzztui.engines.inputs.source import Source
from fuzztui.testing import made


def pair(r: Source) -> tuple[int, str]:
    return r.integer(0, 1000), r.text("abcdefgh", 1, 4)


def test_the_same_choices_make_the_same_input() -> None:
    assert made(pair, b"\x00\x05\x01\x02\x03") == (5, "cd")
    assert made(pair, b"") == made(pair, b"")


def test_a_strategy_and_a_type_are_generators() -> None:
    from hypothesis import strategies as st

    assert made(st.integers(3, 3), b"\x00\x00") == 3
    assert isinstance(made(bool, b"\x01\x01"), bool)


def test_constants_are_those_of_the_file(tmp_path: Path) -> None:
    constants = {"str": [{"value": "abba"}]}
    file = tmp_path / "constants.json"
    file.write_text(json.dumps({"constants": constants, "digest": digest_of(constants)}))
    pool = ConstantPool.read(file)
    for choices in (b"\x00\x05\x01\x00\x00\x00", b"\x01\x01\x01\x01\x01\x01"):
        plain = Source(choices, 100, bytes, pool)
        assert made(pair, choices, file) == pair(plain)

"""What an engine records of an input for an exported test."""

import json

import pytest

from fuzztui.run.campaign import load
from fuzztui.run.inprocess.ask import ask

TARGET = """
import time

class Value:
    def __init__(self, n):
        self.parts = list(range(n))
        self.when = time.time_ns()

def short(data):
    return Value(3)

def long(data):
    return Value(500)
"""


@pytest.mark.slow
def test_what_varies_is_left_out_or_said(tmp_path):
    """Lines of a long description are compared by one hash: no part of them can be left out."""
    (tmp_path / "target.py").write_text(TARGET)
    (tmp_path / "input").write_bytes(b"x")
    (tmp_path / "request.json").write_text(json.dumps({"inputs": [str(tmp_path / "input")]}))
    found = {}
    for name in ("short", "long"):
        file = tmp_path / f"{name}.toml"
        file.write_text(
            f'[target]\nfunction = "target:{name}"\npath = ["."]\n[engine]\nkind = "zest"\n'
        )
        answers = ask(load(file).campaign, ["--record", str(tmp_path / "request.json")])
        (found[name],) = [a["recorded"][1]["value"] for a in answers if "recorded" in a]
    assert found["short"]["without"] == ["when"] and found["short"]["described"]
    assert found["long"]["unseen"] == ["what varies"] and "text" not in found["long"]

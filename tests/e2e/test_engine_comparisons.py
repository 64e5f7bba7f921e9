"""Whole runs in which operands of comparisons must be put into inputs."""

from pathlib import Path
from typing import Any

import pytest
from engine_lab import Lab, events, names, stats

from fuzztui.engines.loop.comparisons import COMPILING
from fuzztui.engines.loop.work import work_of

pytestmark = pytest.mark.slow

COMPUTED = '''
import hashlib
def word(n):
    return hashlib.sha256(b"%d" % n).hexdigest()[:12]
NAMES = {word(n): n for n in range(500)}
def target(text: str) -> int:
    """No constant of the code is a key; a text of twelve hex digits is not found by chance."""
    head, _, rest = text.partition(":")
    if head in NAMES:
        if rest == word(1000 + NAMES[head]):
            if len(text) > 40 and text.endswith(word(2000)):
                return 3
            return 2
        return 1
    return 0
'''
DRAWN = """
from app import target
def make(source):
    parts = [source.text("0123456789abcdef", 0, 40) for _ in range(3)]
    return f"{parts[0]}:{parts[1]}{parts[2]}"
"""


def outcome(lab: Lab, instance: str, **keys: Any) -> tuple[int, Path]:
    """The edges of a run of 20,000 trials, and its directory."""
    keys = {"budget_trials": 20_000, "sync_dir": str(lab.root / "alone"), **keys}
    seeds = [str(lab.write("seeds/one", "abc:xyz"))] if "target" not in keys else []
    engine = {"seeds": seeds, **keys.pop("engine", {})}
    spec = lab.spec("app:target", instance, engine=engine, **keys)
    assert lab.run(spec) == 0
    return int(stats(spec.parent)["edges_found"]), spec.parent


def test_keys_that_are_computed(lab: Lab) -> None:
    lab.write("app.py", COMPUTED)
    without, _ = outcome(lab, "without", engine={"comparisons": False})
    edges, directory = outcome(lab, "main")
    assert without == 2
    assert edges >= without + 3
    reports = events(directory, "comparisons_reported")
    tokens = {token: place for e in reports for token, place in e.get("tokens", {}).items()}
    assert len(tokens) > 20
    assert set(tokens.values()) <= {f"app:{line}" for line in range(7, 13)}
    opened = {k: v for e in reports for k, v in e.get("entries", {}).items()}
    made = {str(int(n[3:9])) for n in names(directory, "queue") if ",op:compare" in n}
    assert set(opened) == made != set()
    assert {place for place, _ in opened.values()} <= set(tokens.values())
    assert int(stats(directory)["auto_dict_entries"]) >= len(tokens)
    trials = [e["trials"] for e in reports if e.get("trials")]
    assert all(set(by) <= {"compare", "havoc", "splice", "structure", "other"} for by in trials)
    assert [sum(by.values()) for by in trials] == sorted({sum(by.values()) for by in trials})
    assert 18_000 < sum(trials[-1].values()) <= 20_000, "reported when they grow by a tenth"
    assert trials[-1]["compare"] >= len(made)


def test_in_the_choice_that_drew_the_operand(lab: Lab) -> None:
    lab.write("app.py", COMPUTED)
    lab.write("drawn.py", DRAWN)
    target = {"generator": "drawn:make", "include": ["app"]}
    without, _ = outcome(lab, "without", engine={"comparisons": False}, target=target)
    edges, directory = outcome(lab, "main", target=target)
    assert without == 2
    assert edges > without
    assert [n for n in names(directory, "queue") if ",op:compare" in n]


def test_a_target_that_dies_when_it_is_recorded(lab: Lab) -> None:
    """Such a run is in the journal: the next worker does not repeat it."""
    lab.write("app.py", (
        "import os, sys\n"
        "def target(data: bytes) -> int:\n"
        "    code = sys._getframe().f_code\n"
        "    hooks = [c for c in code.co_consts if type(c).__name__ == 'method']\n"
        "    if data == b'0' and hooks: os._exit(3)\n"
        "    return len(data) > 3\n"
    ))  # fmt: skip
    _, directory = outcome(lab, "main", budget_trials=500, engine={"seeds": []})
    assert int(stats(directory)["execs_done"]) == 500
    (entry,) = (directory / ".unrecorded").read_text().split()
    (name,) = [n for n in names(directory, "queue") if int(n[3:9]) == int(entry)]
    assert (directory / "queue" / name).read_bytes() == b"0"
    assert not (directory / ".unsafe").exists()
    assert len(events(directory, "message")) == 1


def test_entries_are_recorded_again_in_a_small_share_of_the_trials(lab: Lab) -> None:
    lab.write("app.py", 'def target(text: str) -> bool:\n    return "needle" in text\n')
    _, directory = outcome(lab, "main")
    trials = [e["trials"] for e in events(directory, "comparisons_reported") if e.get("trials")]
    assert 50 < trials[-1]["compare"] < 2_000


def test_other_trials_pay_for_the_hooks_of_a_large_function(lab: Lab) -> None:
    arms = "".join(f"    if text == 'needle {n}':\n        return {n}\n" for n in range(300))
    lab.write("app.py", f"def target(text: str) -> int:\n{arms}    return -1\n")
    _, directory = outcome(lab, "main", budget_trials=6_000)
    made = [name for name in names(directory, "queue") if ",op:compare" in name]
    first = min(int(name.partition("execs:")[2].partition(",")[0]) for name in made)
    edges = int(stats(directory)["total_edges"])
    assert first > edges * COMPILING / work_of(1) > 100


PROPERTY = """
import hashlib
from hypothesis import given, strategies as st
from app import target
@given(st.text(), st.binary(), st.integers())
def test_target(text, data, number):
    target(text, data, number)
"""
GIVEN = """
import hashlib
def word(n):
    return hashlib.sha256(b"%d" % n).hexdigest()[:12]
def target(text, data, number):
    if text == word(1):
        return 1
    if data == bytes.fromhex(word(2)):
        return 2
    if number == int(word(3), 16):
        return 3
    return 0
"""


def test_in_what_a_strategy_draws(lab: Lab) -> None:
    lab.write("app.py", GIVEN)
    lab.write("test_app.py", PROPERTY)
    target = {"function": "test_app:test_target", "include": ["app"]}
    without, _ = outcome(lab, "without", engine={"comparisons": False}, target=target)
    edges, _ = outcome(lab, "main", target=target)
    assert edges == without + 3

"""The gates of ``score``: what is a new survivor, and when a score says nothing."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from pathlib import Path

import pytest

from fuzztui.cli.gates import judge, new_survivors, read_baseline
from fuzztui.cli.output import BELOW_THRESHOLD, DONE, FAILED, USAGE, CliError
from fuzztui.cli.score import state_of


def row(n: int, state: str, after: str = "b", function: str = "f") -> dict[str, object]:
    return {"id": f"m:{function}:math:{n}:+", "file": "m.py", "line": n, "function": function,
            "operator": "math", "before": "a", "after": after, "state": state}  # fmt: skip


def baseline(path: Path, *rows: dict[str, object]) -> Path:
    file = path / "baseline.json"
    file.write_text(json.dumps({"mutants": rows}))
    return file


def gates(**given: object) -> Namespace:
    return Namespace(**{"fail_under": None, "max_invalid": 10.0, **given})


def test_survivors_that_are_not_in_the_baseline(tmp_path: Path) -> None:
    old = baseline(tmp_path, row(0, "alive"), row(1, "killed", "c"), row(2, "pending", "d"))
    now = state_of(
        {
            "mutants": [
                row(5, "alive"),  # the same change, after an edit that has moved it
                row(6, "alive", "c"),  # was killed
                row(7, "pending", "d"),
                row(8, "pending", "e"),  # of new code
                row(9, "killed", "x"),
                row(10, "equivalent", "y"),
            ]
        }
    )
    new = new_survivors(now.mutants.values(), read_baseline(old, "--fail-new"))
    assert [m.after for m in new] == ["c", "e"]
    assert judge(now, gates(), read_baseline(old, "--fail-new")) == BELOW_THRESHOLD


def test_an_accepted_survivor_is_not_new(tmp_path: Path) -> None:
    old = read_baseline(baseline(tmp_path), "--fail-new")
    now = state_of({"mutants": [row(0, "alive"), row(1, "equivalent", "c")]})
    assert judge(now, gates(), old) == BELOW_THRESHOLD
    now = state_of({"mutants": [{**row(0, "alive"), "accepted": True}]})
    assert judge(now, gates(), old) == DONE


def test_a_second_mutant_with_the_same_change_is_new(tmp_path: Path) -> None:
    old = read_baseline(baseline(tmp_path, row(0, "alive")), "--fail-new")
    now = state_of({"mutants": [row(0, "alive"), row(1, "alive"), row(0, "alive", function="g")]})
    assert [m.line for m in new_survivors(now.mutants.values(), old)] == [1, 0]


def test_fewer_survivors_pass(tmp_path: Path) -> None:
    old = read_baseline(baseline(tmp_path, row(0, "alive"), row(1, "alive", "c")), "--fail-new")
    assert judge(state_of({"mutants": [row(1, "alive", "c")]}), gates(), old) == DONE


def test_a_harness_that_breaks_mutants_does_not_pass(tmp_path: Path) -> None:
    old = read_baseline(baseline(tmp_path, row(0, "alive")), "--fail-new")
    broken = state_of({"mutants": [row(0, "killed"), *(row(n, "invalid") for n in range(1, 9))]})
    assert judge(broken, gates(), old) == FAILED
    assert judge(broken, gates(fail_under=80.0), None) == FAILED
    assert judge(broken, gates(fail_under=80.0, max_invalid=90.0), None) == DONE
    assert judge(broken, gates(), None) == DONE  # no gate was asked for


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"mutants": 3}', '{"mutants": [3]}', '{"mutants": [{"state": "alive"}]}',
     '{"mutants": [{"state": "alive", "file": 1, "function": "", "operator": "", "before": "",'
     ' "after": ""}]}', "[" * 9999, "\udcff"],
)  # fmt: skip
def test_a_file_that_is_no_baseline(tmp_path: Path, text: str) -> None:
    file = tmp_path / "baseline.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(CliError) as caught:
        read_baseline(file, "--fail-new")
    assert caught.value.code == USAGE


def test_a_baseline_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", tmp_path / "nowhere", tmp_path):
        with pytest.raises(CliError):
            read_baseline(file, "--fail-new")
    monkeypatch.setattr("fuzztui.cli.gates.MAX_BASELINE_BYTES", 10)
    with pytest.raises(CliError):
        read_baseline(baseline(tmp_path, row(0, "alive")), "--fail-new")


@pytest.mark.parametrize("given", ["-1", "101", "x", "nan", "1e999"])
def test_a_threshold_that_is_none(cli, given: str) -> None:
    said = cli("score", "run", f"--fail-under={given}", code=USAGE)
    assert "is not a percentage from 0 to 100" in said.err

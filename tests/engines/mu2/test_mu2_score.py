"""``--score`` of targets that are not easily imported twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fuzztui


def score(
    directory: Path, program: str, jobs: int = 1, inputs: tuple[bytes, ...] = (b"abc",)
) -> dict[str, dict[str, Any]]:
    """The mutants of ``prog:parse`` by id."""
    options = ("--jobs", str(jobs), "--score", str(directory / "corpus"))
    output = engine(directory, program, *options, inputs=inputs)
    result = json.loads(output.splitlines()[-1])["result"]
    return {m["id"]: m for m in result["mutants"]}


def engine(
    directory: Path, program: str, *options: str, inputs: tuple[bytes, ...], trials: int = 0
) -> bytes:
    """Run mu2 on ``prog:parse``, and return its output; ``inputs`` are in corpus/, the seeds."""
    directory.mkdir(exist_ok=True)
    (directory / "prog.py").write_text(program)
    (directory / "corpus").mkdir()
    for n, data in enumerate(inputs):
        (directory / "corpus" / str(n)).write_bytes(data)
    target = {"function": "prog:parse", "path": [str(directory)], "include": ["prog"]}
    kind = {"kind": "mu2", "seeds": [str(directory / "corpus")], "exact": True}
    spec = {
        "proto": 1, "instance": "main", "dir": str(directory), "sync_dir": str(directory),
        "seed": 7, "budget_trials": trials, "budget_s": 0, "engine": kind, "target": target,
    }  # fmt: skip
    (directory / "spec.json").write_text(json.dumps(spec))
    return subprocess.run(
        [sys.executable, "-P", "-m", "fuzztui.engines", str(directory / "spec.json"), *options],
        env={**os.environ, "PYTHONPATH": str(Path(fuzztui.__file__).parent.parent)},
        capture_output=True,
        timeout=60,
        check=True,
    ).stdout


def test_a_program_that_cannot_be_imported_twice_kills_none_of_its_static_mutants(
    tmp_path: Path,
) -> None:
    (tmp_path / "registry.py").write_text(
        "names = []\ndef register(name):\n"
        "    if name in names: raise RuntimeError('registered twice')\n    names.append(name)\n"
    )
    found = score(
        tmp_path,
        "import registry\nregistry.register('prog')\nUNUSED = 10 + 5\n"
        "def parse(data):\n    return len(data) > 2\n",
    )
    assert found["prog:UNUSED:math:0:-"]["state"] == "invalid"
    assert "RuntimeError" in found["prog:UNUSED:math:0:-"]["detail"]
    assert found["prog:parse:negate:0:<="]["state"] == "killed"


def test_an_import_that_the_mutant_breaks_is_a_kill(tmp_path: Path) -> None:
    found = score(
        tmp_path,
        "SIZE = 10 + 5\nassert SIZE == 15\ndef parse(data):\n    return len(data) > 2\n",
    )
    broken = found["prog:SIZE:math:0:-"]
    assert (broken["state"], broken["oracle"]) == ("killed", "exception")
    assert "AssertionError" in broken["detail"]


def test_an_import_that_the_mutant_makes_endless_runs_out_of_fuel(tmp_path: Path) -> None:
    found = score(
        tmp_path,
        "class Size:\n    most = 64.0\n    while most > 1:\n        most = most / 2\n"
        "def parse(data):\n    return len(data) > Size.most\n",
    )
    endless = found["prog:Size.most:math:0:*"]
    assert (endless["state"], endless["oracle"]) == ("killed", "timeout")
    assert "did not end" in endless["detail"]


def test_an_empty_value_made_at_import_kills_only_if_it_differs(tmp_path: Path) -> None:
    """The type of what ``_same`` and ``_full`` return is known only when they run."""
    found = score(
        tmp_path,
        "def _same():\n    return dict()\n"
        "def _full():\n    return dict(a=1)\n"
        "SAME, FULL = _same(), _full()\ndel _same, _full\n"
        "def parse(data):\n    return len(data) > len(SAME) + len(FULL)\n",
        inputs=(b"a", b"ab"),
    )
    assert found["prog:_same:returns:0:empty"]["state"] == "alive"
    full = found["prog:_full:returns:0:empty"]
    assert (full["state"], full["oracle"]) == ("killed", "value")


AT_IMPORT = (
    "def _scale(n):\n    return n * 3\n"
    "FACTOR = _scale(2)\n"
    "def parse(data):\n    return len(data) * FACTOR\n"
)


def test_mutants_of_a_function_that_ran_at_import_are_imported(tmp_path: Path) -> None:
    found = score(tmp_path, AT_IMPORT)
    states = {m["state"] for name, m in found.items() if name.startswith("prog:_scale:")}
    assert states == {"killed"}


def test_the_exact_pass_imports_them_too(tmp_path: Path) -> None:
    engine(tmp_path, AT_IMPORT, inputs=(b"a", b"abc"), trials=100)
    events = map(json.loads, (tmp_path / "events.jsonl").read_text().splitlines())
    killed = {e["id"] for e in events if e["k"] == "mutant_state" and e["state"] == "killed"}
    assert "prog:_scale:returns:0:none" in killed


@pytest.mark.slow
def test_more_processes_come_to_the_same(tmp_path: Path) -> None:
    program = (
        "import os\nSIZE = 10 + 5\n"
        "def parse(data):\n"
        "    n = 0\n"
        "    for c in data:\n"
        "        if c > 50 and n < 7: n += c - 49\n"
        "    if n < 0: os._exit(3)\n"
        "    return n, len(data) > SIZE\n"
    )
    inputs = (b"", b"1", b"2" * 5, b"ab", b"x" * 20)
    one = score(tmp_path / "one", program, 1, inputs)
    three = score(tmp_path / "three", program, 3, inputs)
    states = {id_: (m["state"], m["oracle"]) for id_, m in one.items()}
    assert states == {id_: (m["state"], m["oracle"]) for id_, m in three.items()}
    assert ("killed", "died") in states.values()


def test_a_kill_that_does_not_happen_again_costs_no_other_input_its_turn(tmp_path: Path) -> None:
    """The first input makes the mutant slow, not endless; the second tells it apart."""
    program = (
        "SLOW = 1 - 1\n"
        "def parse(data):\n"
        "    n = 0\n"
        "    while n < SLOW * 5000: n += 1\n"
        "    return data == b'b' and n\n"
    )
    found = score(tmp_path, program, 1, (b"a", b"b"))
    assert found["prog:SLOW:math:0:+"]["oracle"] == "value"


def test_what_a_fresh_program_does_once_is_no_difference(tmp_path: Path) -> None:
    program = (
        "UNUSED = 10 + 5\n"
        "TABLE = []\n"
        "def parse(data):\n"
        "    while len(TABLE) < 100_000: TABLE.append(len(TABLE))\n"
        "    return TABLE[len(data)]\n"
    )
    found = score(tmp_path, program, 1, (b"a", b"bb", b"ccc"))
    assert found["prog:UNUSED:math:0:-"]["state"] == "alive"

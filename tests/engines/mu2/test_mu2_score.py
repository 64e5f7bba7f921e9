"""``--score`` of targets that are not easily imported twice."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from caching_programs import CACHING, INPUTS, ONCE

import fuzztui


def score(
    directory: Path,
    program: str,
    jobs: int = 1,
    inputs: tuple[bytes, ...] = (b"abc",),
    include: Sequence[str] = ("prog",),
) -> dict[str, dict[str, Any]]:
    """The mutants of ``prog:parse`` by id."""
    options = ("--jobs", str(jobs), "--score", str(directory / "corpus"))
    output = engine(directory, program, *options, inputs=inputs, include=include)
    result = json.loads(output.splitlines()[-1])["result"]
    return {m["id"]: m for m in result["mutants"]}


def engine(
    directory: Path,
    program: str,
    *options: str,
    inputs: tuple[bytes, ...],
    trials: int = 0,
    include: Sequence[str] = ("prog",),
) -> bytes:
    """Run mu2 on ``prog:parse``, and return its output; ``inputs`` are in corpus/, the seeds."""
    directory.mkdir(exist_ok=True)
    (directory / "prog.py").write_text(program)
    (directory / "corpus").mkdir(exist_ok=True)
    for n, data in enumerate(inputs):
        (directory / "corpus" / str(n)).write_bytes(data)
    target = {"function": "prog:parse", "path": [str(directory)], "include": [*include]}
    kind = {"kind": "mu2", "seeds": [str(directory / "corpus")], "exact": True}  # fmt: skip
    spec = {
        "proto": 1, "instance": "main", "dir": str(directory), "sync_dir": str(directory),
        "seed": 7, "budget_trials": trials, "budget_s": 0, "engine": kind, "target": target,
    }  # fmt: skip
    (directory / "spec.json").write_text(json.dumps(spec))
    return asked(directory, *options)


def asked(directory: Path, *options: str) -> bytes:
    """Run the engine of the directory, and return its output."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "fuzztui.engines", str(directory / "spec.json"), *options],
        env={**os.environ, "PYTHONPATH": str(Path(fuzztui.__file__).parent.parent)},
        capture_output=True,
        timeout=60,
        check=True,
    ).stdout


def events(directory: Path, kind: str) -> list[dict[str, Any]]:
    lines = (directory / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["k"] == kind]


def states(directory: Path, state: str) -> set[str]:
    return {e["id"] for e in events(directory, "mutant_state") if e["state"] == state}


def warnings(directory: Path) -> list[str]:
    return [e["text"] for e in events(directory, "message") if e["level"] != "info"]


@pytest.mark.slow
def test_a_program_that_cannot_be_imported_twice_kills_none_of_its_static_mutants(tmp_path):
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


def test_an_import_that_the_mutant_breaks_is_a_kill(tmp_path):
    found = score(
        tmp_path,
        "SIZE = 10 + 5\nassert SIZE == 15\ndef parse(data):\n    return len(data) > 2\n",
    )
    broken = found["prog:SIZE:math:0:-"]
    assert (broken["state"], broken["oracle"]) == ("killed", "exception")
    assert "AssertionError" in broken["detail"]


@pytest.mark.slow
def test_an_import_that_the_mutant_makes_endless_runs_out_of_fuel(tmp_path):
    found = score(
        tmp_path,
        "class Size:\n    most = 64.0\n    while most > 1:\n        most = most / 2\n"
        "def parse(data):\n    return len(data) > Size.most\n",
    )
    endless = found["prog:Size.most:math:0:*"]
    assert (endless["state"], endless["oracle"]) == ("killed", "timeout")
    assert "did not end" in endless["detail"]


@pytest.mark.slow
def test_an_empty_value_made_at_import_kills_only_if_it_differs(tmp_path):
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


@pytest.mark.slow
def test_mutants_of_a_function_that_ran_at_import_are_imported(tmp_path):
    found = score(tmp_path, AT_IMPORT)
    states = {m["state"] for name, m in found.items() if name.startswith("prog:_scale:")}
    assert states == {"killed"}


@pytest.mark.slow
def test_the_exact_pass_imports_them_too(tmp_path):
    engine(tmp_path, AT_IMPORT, inputs=(b"a", b"abc"), trials=100)
    assert "prog:_scale:returns:0:none" in states(tmp_path, "killed")


@pytest.mark.slow
def test_a_mutant_that_no_input_infects_may_be_reached(tmp_path):
    program = "def parse(data):\n    return len(data) >= 0, len(data) > 9 and len(data) < 12\n"
    found = score(tmp_path, program)
    states = {id_.partition("parse:")[2]: (m["state"], m["reached"]) for id_, m in found.items()}
    assert states["boundary:0:>"] == ("pending", True)
    assert states["boundary:2:<="] == ("pending", False)


@pytest.mark.slow
def test_a_score_that_is_out_of_time_is_a_lower_bound(tmp_path):
    constants = "".join(f"C{n} = {n} + 1\n" for n in range(40))
    program = f"import time\ntime.sleep(0.1)\n{constants}\ndef parse(data):\n    return C0, C1\n"
    options = ("--score", str(tmp_path / "corpus"), "--within", "0.5", "--jobs", "1")
    output = engine(tmp_path, program, *options, inputs=(b"a",))
    result = json.loads(output.splitlines()[-1])["result"]
    assert result["exact"] is False
    assert result["killed"] < 2 or any(m["state"] == "pending" for m in result["mutants"])


@pytest.mark.slow
def test_the_score_is_of_the_mutants_that_the_run_has_found(tmp_path):
    """Also those of modules that are imported only when the target is called."""
    (tmp_path / "prog").mkdir()
    (tmp_path / "prog" / "late.py").write_text("def double(n):\n    return n * 2\n")
    program = (
        "def parse(data: bytes):\n    if data[:1] == b'a':\n        from prog import late\n"
        "        return late.double(len(data))\n    return len(data)\n"
    )
    (tmp_path / "prog" / "__init__.py").write_text(program)
    engine(tmp_path, program, inputs=(b"abc", b"b"), trials=50)
    events = map(json.loads, (tmp_path / "events.jsonl").read_text().splitlines())
    found = {m["id"] for e in events if e["k"] == "mutants_found" for m in e["mutants"]}
    assert any("late" in id_ for id_ in found)
    (tmp_path / "corpus" / "0").unlink()  # no input imports it now
    options = ("--jobs", "1", "--score", str(tmp_path / "corpus"))
    result = json.loads(asked(tmp_path, *options).splitlines()[-1])["result"]
    assert {m["id"] for m in result["mutants"]} == found


@pytest.mark.slow
def test_more_processes_come_to_the_same(tmp_path):
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


@pytest.mark.slow
def test_a_kill_that_does_not_happen_again_costs_no_other_input_its_turn(tmp_path):
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


@pytest.mark.slow
def test_what_a_fresh_program_does_once_is_no_difference(tmp_path):
    program = (
        "UNUSED = 10 + 5\n"
        "TABLE = []\n"
        "def parse(data):\n"
        "    while len(TABLE) < 100_000: TABLE.append(len(TABLE))\n"
        "    return TABLE[len(data)]\n"
    )
    found = score(tmp_path, program, 1, (b"a", b"bb", b"ccc"))
    assert found["prog:UNUSED:math:0:-"]["state"] == "alive"


LATE = (
    "def parse(data):\n"
    "    try:\n"
    "        import lib.broken\n"
    "    except ValueError:\n"
    "        pass\n"
    "    if data:\n"
    "        from lib import late\n"
    "        return late.double(len(data))\n"
)


@pytest.mark.slow
def test_modules_imported_by_calls_have_the_same_mutants_everywhere(tmp_path):
    (tmp_path / "lib").mkdir()
    files = {"__init__": "", "late": "def double(n):\n    return n * 2\n"}
    files["broken"] = "A = 1 + 1\nraise ValueError\n"
    for name, text in files.items():
        (tmp_path / "lib" / f"{name}.py").write_text(text)
    include = ["prog", "lib"]
    scored = score(tmp_path, LATE, include=include)
    late = "lib.late:double:math:0://"
    assert scored[late]["state"] == "killed"
    listed = engine(tmp_path, LATE, "--mutants", inputs=(b"abc",), include=include)
    assert [m["id"] for m in json.loads(listed)["mutants"]] == [*scored]
    engine(tmp_path, LATE, inputs=(b"abc",), trials=20, include=include)
    found = [m["id"] for e in events(tmp_path, "mutants_found") for m in e["mutants"]]
    assert found == [*scored]
    assert late in states(tmp_path, "killed")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["memo", "table", "singleton"])
def test_the_exact_pass_kills_what_score_kills(tmp_path, name):
    engine(tmp_path, CACHING[name], inputs=INPUTS, trials=600)
    output = engine(tmp_path, CACHING[name], "--score", str(tmp_path / "queue"), inputs=INPUTS)
    scored = json.loads(output.splitlines()[-1])["result"]["mutants"]
    assert states(tmp_path, "killed") == {m["id"] for m in scored if m["state"] == "killed"}
    assert not warnings(tmp_path)


ANOTHER_FIRST_RUN = (
    "_lines = iter(['x'])\n_cache = {}\n"
    "def first():\n    for line in _lines:\n        return len(line) + 41\n    return 0\n"
    "def size(data):\n"
    "    if data not in _cache:\n        _cache[data] = len(data) * 2\n"
    "    return _cache[data]\n"
    "def parse(data):\n"
    "    if data[:2] == b'ab':\n        return size(data)\n    return first() > 1\n"
)


@pytest.mark.slow
def test_an_input_whose_first_run_differs_does_not_end_the_campaign(tmp_path):
    engine(tmp_path, ANOTHER_FIRST_RUN, inputs=(b"x", b"abc"), trials=300)
    # The cache is put back, so that its mutants are judged in place.
    assert "prog:size:math:0://" in states(tmp_path, "killed")
    assert not any("size" in warning for warning in warnings(tmp_path))
    plotted = (tmp_path / "fuzzer_stats").read_text()
    assert re.search(r"^execs_done +: 3\d\d$", plotted, re.M)


KEPT_BY_MUTANTS = (
    "_kept = {}\n"
    "def note(n):\n"
    "    if n > 100:\n"
    "        _kept[n] = n\n"
    "    return n\n"
    "def parse(data):\n"
    "    return [note(c) + 1 for c in data], len(_kept), [c < 200 for c in data]\n"
)


@pytest.mark.slow
def test_what_only_a_mutant_keeps_is_put_back(tmp_path):
    inputs = (b"a", b"abc", b"\x01\xff")
    scored = score(tmp_path, KEPT_BY_MUTANTS, inputs=inputs)
    assert scored["prog:note:negate:0:<="]["state"] == "killed"
    engine(tmp_path, KEPT_BY_MUTANTS, inputs=inputs, trials=200)
    assert "prog:note:negate:0:<=" in states(tmp_path, "killed")
    assert not warnings(tmp_path)
    assert not (tmp_path / "isolation.json").exists()


@pytest.mark.slow
def test_code_that_runs_once_even_after_an_import_is_counted_apart(tmp_path):
    (tmp_path / "keeper.py").write_text("kept = {}\n")
    program = (
        "import keeper\n"
        "def fill():\n    return 2 * 3\n"
        "def parse(data):\n"
        "    if 0 not in keeper.kept:\n"
        "        keeper.kept[0] = fill()\n"
        "    return clean(data), keeper.kept[0]\n"
        "def clean(data):\n    return len(data) + 1\n"
    )
    scored = score(tmp_path, program)
    assert scored["prog:fill:math:0://"]["state"] == "invalid"
    assert scored["prog:parse:negate:0:in"]["state"] == "invalid"
    assert scored["prog:clean:math:0:-"]["state"] == "killed"
    engine(tmp_path, program, inputs=(b"abc",), trials=50)
    (warning,) = warnings(tmp_path)
    assert "prog:fill" in warning
    invalid = {id_ for id_, m in scored.items() if m["state"] == "invalid"}
    assert states(tmp_path, "invalid") == invalid
    assert "prog:clean:math:0:-" in states(tmp_path, "killed")


@pytest.mark.slow
def test_code_that_only_some_later_input_runs_once_is_found(tmp_path):
    program = ONCE.replace("if next(", 'if data[:1] == b"!" and next(')
    inputs = (b"a", b"!b", *(b"c%d" % n for n in range(38)))
    mutants = {"prog:_check:math:0://", "prog:_check:negate:0:=="}
    scored = score(tmp_path, program, inputs=inputs)
    assert {scored[id_]["state"] for id_ in mutants} == {"killed"}
    assert scored["prog:parse:math:0:-"]["state"] == "killed"
    engine(tmp_path, program, inputs=inputs, trials=60)
    (warning,) = warnings(tmp_path)
    assert "prog:_check" in warning
    assert mutants < states(tmp_path, "killed")

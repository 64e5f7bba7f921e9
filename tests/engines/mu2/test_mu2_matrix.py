"""``--score DIR --matrix FILE``: all kills of all inputs, and the rows that are used again."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fuzztui
from fuzztui.features.corpus.matrix import CorpusMatrix

pytestmark = pytest.mark.slow

PROGRAM = """
LIMIT = 10 + 5
def size(data):
    return len(data) > 2
def parse(data):
    if data[:1] == b"n":
        raise ValueError(data)
    n = 0
    while n < len(data):
        n += 1
    return n > LIMIT, size(data)
"""
INPUTS = {"a": b"abc", "b": b"de", "c": b"nil", "d": b"0123456789"}


class Corpus:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.program(PROGRAM)
        (path / "corpus").mkdir()
        target = {"function": "prog:parse", "path": [str(path)], "include": ["prog"]}
        target["expected"] = ["ValueError"]
        spec = {
            "proto": 1, "instance": "main", "dir": str(path), "sync_dir": str(path), "seed": 7,
            "budget_trials": 0, "budget_s": 0, "engine": {"kind": "mu2", "seeds": []},
            "target": target,
        }  # fmt: skip
        (path / "spec.json").write_text(json.dumps(spec))

    def program(self, text: str) -> None:
        (self.path / "prog.py").write_text(text)

    def add(self, *names: str) -> None:
        for name in names:
            (self.path / "corpus" / name).write_bytes(INPUTS[name])

    def score(self, *options: str) -> dict[str, Any]:
        argv = [sys.executable, "-P", "-m", "fuzztui.engines", str(self.path / "spec.json")]
        argv += ["--score", str(self.path / "corpus"), *options]
        env = {**os.environ, "PYTHONPATH": str(Path(fuzztui.__file__).parent.parent)}
        done = subprocess.run(argv, env=env, capture_output=True, timeout=100, check=True)
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])["result"]
        return result

    def matrix(self, *options: str) -> tuple[dict[str, Any], CorpusMatrix]:
        file = self.path / "matrix.json"
        result = self.score("--matrix", str(file), *options)
        file.write_text(json.dumps(result["matrix"]))
        return result, CorpusMatrix.of(result["matrix"])


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


def kills(matrix: CorpusMatrix) -> dict[str, dict[str, str]]:
    """Without static mutants: which inputs are known to kill them depends on the order."""
    return {
        Path(row.file).name: {m: o for m, o in row.kills.items() if m not in matrix.first_only}
        for row in matrix.rows
    }


def states(result: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    return {m["id"]: (m["state"], m["reached"]) for m in result["mutants"]}


def test_a_row_has_what_the_input_kills_alone(corpus: Corpus) -> None:
    corpus.add(*INPUTS)
    result, matrix = corpus.matrix("--jobs", "2")
    assert result["exact"]
    assert states(result) == states(corpus.score())
    assert matrix.first_only == {"prog:LIMIT:math:0:-"}
    assert matrix.killed == {m["id"] for m in result["mutants"] if m["state"] == "killed"}
    rows = kills(matrix)
    assert {o for row in rows.values() for o in row.values()} >= {"value", "exception", "timeout"}
    for name in INPUTS:
        for other in INPUTS:
            (corpus.path / "corpus" / other).unlink(missing_ok=True)
        corpus.add(name)
        alone = corpus.score()
        killed = {m["id"]: m["oracle"] for m in alone["mutants"] if m["state"] == "killed"}
        killed.pop("prog:LIMIT:math:0:-", "")
        assert killed == rows[name]


def test_rows_are_used_again_until_the_program_changes(corpus: Corpus) -> None:
    corpus.add("a", "b", "c")
    first, before = corpus.matrix()
    # A row of the file that no run would give: it is taken as it is.
    file = corpus.path / "matrix.json"
    data = json.loads(file.read_text())
    row = next(r for r in data["rows"] if r["file"].endswith("/b"))
    lost = row["kills"].pop("value")
    file.write_text(json.dumps(data))
    _, again = corpus.matrix()
    assert lost
    assert not any(o == "value" for o in kills(again)["b"].values())
    assert kills(again)["a"] == kills(before)["a"]

    corpus.add("d")
    file.write_text(json.dumps(first["matrix"]))
    more, grown = corpus.matrix()
    assert kills(grown)["a"] == kills(before)["a"]
    assert kills(grown)["d"]
    file.unlink()
    fresh, whole = corpus.matrix()
    assert kills(grown) == kills(whole)
    assert states(more) == states(fresh)

    corpus.program(PROGRAM.replace("> 2", "> 1"))
    data["rows"][0]["kills"] = {}
    file.write_text(json.dumps(data))
    _, edited = corpus.matrix()
    assert all(kills(edited).values())


def test_rows_of_other_constants_are_not_used(corpus: Corpus) -> None:
    """The choices in an input select constants, so that it is another input with others."""
    corpus.add("a")
    file, constants = corpus.path / "spec.json", corpus.path / "constants.json"
    spec = json.loads(file.read_text())
    spec["engine"]["constants_file"] = str(constants)
    file.write_text(json.dumps(spec))
    constants.write_text("[1]")
    result, _ = corpus.matrix()
    kept = corpus.path / "matrix.json"
    kept.write_text(
        json.dumps({**result["matrix"], "rows": [{**result["matrix"]["rows"][0], "kills": {}}]})
    )
    assert not kills(corpus.matrix()[1])["a"]
    constants.write_text("[2]")
    assert kills(corpus.matrix()[1])["a"]


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1}', "[" * 5000])
def test_a_damaged_file_is_no_matrix(corpus: Corpus, text: str) -> None:
    corpus.add("a")
    (corpus.path / "matrix.json").write_text(text)
    _, matrix = corpus.matrix()
    assert kills(matrix)["a"]


@pytest.mark.parametrize(
    "part",
    [
        {"isolated": [9999]},
        {"isolated": 5},
        {"invalid": [[9999, "why"]]},
        {"invalid": {"a": 1}},
        {"first_only": [[0]]},
    ],
    ids=str,
)
def test_a_damaged_part_makes_it_no_matrix(corpus: Corpus, part: dict[str, Any]) -> None:
    corpus.add("a")
    whole = states(corpus.matrix()[0])
    file = corpus.path / "matrix.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **part}))
    assert states(corpus.matrix()[0]) == whole


def test_a_mutant_whose_isolated_killer_is_gone_runs_on_all_inputs(corpus: Corpus) -> None:
    corpus.program(
        "import os\n"
        "def parse(data):\n"
        "    if len(data) > 3:\n"
        "        if data[:1] == b'n':\n"
        "            os.kill(os.getpid(), 9)\n"
        "        return 1\n"
        "    return 0\n"
    )
    for name, data in (("first", b"nil"), ("second", b"abc")):
        (corpus.path / "corpus" / name).write_bytes(data)
    assert corpus.matrix()[0]["mutants"][0]["oracle"] == "died"
    (corpus.path / "corpus" / "first").unlink()
    assert states(corpus.matrix()[0]) == states(corpus.score())


def test_the_part_within_a_time_limit_is_a_lower_bound(corpus: Corpus) -> None:
    corpus.add(*INPUTS)
    corpus.program(PROGRAM.replace("    n = 0\n", "    import time; time.sleep(0.2)\n    n = 0\n"))
    result, matrix = corpus.matrix("--within", "1")
    assert not result["exact"]
    assert len(matrix.rows) < len(INPUTS)


def test_first_kills_are_a_start_for_a_cover_and_for_nothing_else(corpus: Corpus) -> None:
    file = corpus.path / "matrix.json"
    corpus.add("a", "b", "c")
    whole = kills(corpus.matrix()[1])
    file.unlink()
    first, few = corpus.matrix("--kills", "first")
    assert states(first) == states(corpus.score())
    killers = {name for name, row in kills(few).items() if row}
    assert 0 < sum(map(len, kills(few).values())) < sum(map(len, whole.values()))

    cover, more = corpus.matrix("--kills", "cover")
    assert states(cover) == states(first)
    assert {name: kills(more)[name] for name in killers} == {n: whole[n] for n in killers}
    corpus.add("d")
    grown = states(corpus.matrix("--kills", "cover")[0])
    assert grown == states(corpus.score())
    # The killer is gone: its mutants have not run on all other inputs.
    file.write_text(json.dumps(first["matrix"]))
    for name in killers:
        (corpus.path / "corpus" / name).unlink()
        assert states(corpus.matrix("--kills", "first")[0]) == states(corpus.score())
        corpus.add(name)
        file.write_text(json.dumps(first["matrix"]))
    (corpus.path / "corpus" / "d").unlink()
    assert kills(corpus.matrix()[1]) == whole


def test_what_a_run_out_of_time_did_not_judge_is_judged_by_the_next(corpus: Corpus) -> None:
    corpus.add("a", "b")
    file = corpus.path / "matrix.json"
    result, matrix = corpus.matrix("--kills", "first")
    data = result["matrix"]
    whole = states(result)
    killed = next(n for n, id_ in enumerate(matrix.mutants) if whole[id_][0] == "killed" and n)
    data["isolated"] = [killed]  # as if the time had been over before it ran
    data["rows"] = [{**row, "kills": {}} for row in data["rows"]]
    file.write_text(json.dumps(data))
    again = states(corpus.matrix("--kills", "first")[0])
    assert again[matrix.mutants[killed]] == whole[matrix.mutants[killed]]
    data["invalid"] = [[0, "it cannot be run"]]
    file.write_text(json.dumps(data))
    assert states(corpus.matrix()[0])[matrix.mutants[0]][0] == "invalid"

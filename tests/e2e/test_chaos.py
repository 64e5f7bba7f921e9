"""A few rounds of ``benchmarks/chaos.py``: nothing is lost, doubled or left behind."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHAOS = Path(__file__).parents[2] / "benchmarks/chaos.py"
FAULTS = (
    "supervisor", "monitor", "worker", "any", "all", "start", "screen-int", "screen-term",
    "screen-hup", "terminal", "nap",
)  # fmt: skip


@pytest.mark.slow
def test_campaigns_survive_some_rounds(tmp_path):
    results = tmp_path / "results.jsonl"
    command = [
        sys.executable, CHAOS, "--rounds", "6", "--series", "3", "--engine", "zest,mu2",
        "--parallel", "2", "--seed", "15", "--limit", "300", "--results", results,
        "--keep", tmp_path / "kept", *(word for name in FAULTS for word in ("--fault", name)),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert {(r["engine"], r["round"]) for r in rows} == {
        (engine, number) for engine in ("zest", "mu2") for number in (-1, 0, 1, 2)
    }, done.stderr
    assert all(row["resumed_s"] > 0 for row in rows if row["round"] >= 0)
    broken = [v for row in rows for v in row["violations"]]
    assert broken == [], done.stdout

    again = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False)
    assert "0 series" in again.stdout
    assert len(results.read_text().splitlines()) == len(rows)

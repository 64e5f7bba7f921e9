"""Cells of an experiment on a cluster: the same rows as here, each once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from dask_cluster import Cluster

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "experiments/discovery_bound.py"

pytestmark = pytest.mark.slow


def run(at: Path, name: str, *options: str, code: int = 0):
    argv = [sys.executable, PROGRAM, "--smoke", "--trials", "600", "--repeat", "2"]
    argv += ["--results", f"{name}.jsonl", *options]
    done = subprocess.run(argv, cwd=at, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode in (code, 1), done.stderr  # 1: the bound did not hold
    assert "Traceback" not in done.stderr, done.stderr
    file = at / f"{name}.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    for row in rows:
        row.pop("run")
    return sorted(rows, key=lambda row: row["seed"]), done.stderr


def test_the_same_rows_on_a_cluster(tmp_path):
    here, _ = run(tmp_path, "here")
    assert len(here) == 2
    cluster = Cluster(tmp_path / "cluster", workers=1)
    try:
        tls = os.path.dirname(cluster.tls.key)
        (tmp_path / "cluster.toml").write_text(
            f'[cluster]\nscheduler = "{cluster.address}"\ntls = "{tls}"\n'
        )
        there, err = run(tmp_path, "there", "--cluster", "cluster.toml")
        assert there == here
        assert "[2/2" in err
        again, err = run(tmp_path, "there", "--cluster", "cluster.toml")
        assert again == here, "what is there is not measured again"
        assert "[1/" not in err.replace("[1/1] checking", "")
    finally:
        cluster.close()


def test_a_cell_that_fails_and_a_cluster_that_does_not_exist(tmp_path):
    rows, err = run(tmp_path, "bad", "--cluster", "local", "--python", "/bin/false")
    assert rows == []
    _, err = run(tmp_path, "none", "--cluster", "nowhere.toml", code=1)
    assert "nowhere.toml" in err

"""Each benchmark and experiment runs: its smoke mode takes its whole path, with tiny budgets."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = {"afl_tree.py", "plots.py", "readme.py"}
"""Programs there that measure nothing."""

PROGRAMS = sorted(
    file
    for folder in ("benchmarks", "experiments")
    for file in (ROOT / folder).glob("*.py")
    if file.name not in TOOLS and "__main__" in file.read_text()
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("afl-fuzz") is None, reason="afl++ is not installed"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
    pytest.mark.skipif(
        not Path("/usr/include/stb/stb_image.h").exists(), reason="libstb-dev is not installed"
    ),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_smoke(program, tmp_path):
    results = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, program, "--smoke", "--results", results],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    if "cannot be downloaded" in said:
        pytest.skip("a source package cannot be downloaded here")
    assert done.returncode == 0, said
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert rows
    assert {row["run"]["benchmark"] for row in rows} == {program.stem}
    # Hypothesis keeps what it knows of sources where it runs.
    left = {path.name for path in tmp_path.iterdir()} - {results.name, ".hypothesis"}
    assert not left, "the working directory is the user's"

"""Smoke runs of benchmarks and experiments: the whole path of a program, with tiny budgets."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from skipped import needs_afl

ROOT = Path(__file__).resolve().parents[2]
TOOLS = {"afl_tree.py", "plots.py", "readme.py"}
"""Programs there that measure nothing."""

NEEDS = (
    needs_afl("afl-fuzz", "cc"),
    pytest.mark.skipif(
        not Path("/usr/include/stb/stb_image.h").exists(), reason="libstb-dev is not installed"
    ),
)


def programs(folder: str) -> list[Path]:
    """The programs of ``benchmarks`` or ``experiments``."""
    return sorted(
        file
        for file in (ROOT / folder).glob("*.py")
        if file.name not in TOOLS and "__main__" in file.read_text()
    )


def smoke(program: Path, folder: Path) -> None:
    """Run the program in ``folder``; its rows are named after the program."""
    results = folder / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, program, "--smoke", "--results", results],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    if "cannot be downloaded" in said:
        pytest.skip("a source package cannot be downloaded here")
    assert done.returncode == 0, said
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert rows
    assert {row["run"]["benchmark"] for row in rows} == {program.stem}
    # Hypothesis keeps what it knows of sources where it runs.
    left = {path.name for path in folder.iterdir()} - {results.name, ".hypothesis"}
    assert not left, "the working directory is the user's"

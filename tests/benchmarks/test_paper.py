"""``experiments/paper.py``: which tables ``--only`` chooses."""

import subprocess
import sys
from pathlib import Path

PAPER = Path(__file__).parents[2] / "experiments/paper.py"


def test_names_of_tables_may_have_blanks_and_come_twice(tmp_path: Path) -> None:
    argv = [sys.executable, str(PAPER), "--report", "--output", str(tmp_path), "--only"]
    done = subprocess.run([*argv, "text, mu2,text"], capture_output=True, text=True, check=True)
    assert done.stdout.count("Not measured yet.") == 2

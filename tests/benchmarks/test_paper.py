"""``experiments/paper.py``: which tables ``--only`` chooses, and what ``--archive`` packs."""

import subprocess
import sys
import tarfile
from pathlib import Path

from experiment_modules import experiment

paper = experiment("paper")
PAPER = Path(__file__).parents[2] / "experiments/paper.py"


def test_names_of_tables_may_have_blanks_and_come_twice(tmp_path: Path) -> None:
    argv = [sys.executable, str(PAPER), "--report", "--output", str(tmp_path), "--only"]
    done = subprocess.run([*argv, "text, mu2,text"], capture_output=True, text=True, check=True)
    assert done.stdout.count("Not measured yet.") == 2


def test_the_archive_has_the_logs_of_campaigns_and_checksums(tmp_path: Path) -> None:
    output = tmp_path / "paper"
    run = output / "runs/experiments/text-60s/lua/text-1"
    (run / "log").mkdir(parents=True)
    (run / "out").mkdir()
    kept = {"tables.md": output, "campaign.toml": run, "000001.jsonl": run / "log"}
    for name, folder in kept.items():
        (folder / name).write_text(name)
    (run / "out" / "input").write_text("not needed")
    paper.archive(tmp_path / "all.tar.gz", output)
    with tarfile.open(tmp_path / "all.tar.gz") as packed:
        names = {name.removeprefix("fuzztui-tables/") for name in packed.getnames()}
    at = "rows/runs/experiments/text-60s/lua/text-1"
    assert {name for name in names if name.startswith("rows/")} == {
        "rows/tables.md", f"{at}/campaign.toml", f"{at}/log/000001.jsonl",
    }  # fmt: skip
    assert {"SHA256SUMS", "packages.txt", "sources.tar"} <= names

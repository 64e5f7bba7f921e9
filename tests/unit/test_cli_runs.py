"""Which directories are runs, and which one is meant."""

import subprocess
import sys

import pytest

from fuzztui.cli import main
from fuzztui.cli.runs import find_run, is_run
from fuzztui.cli.words import NOT_RUNNING, Failure


def run_at(path, begun=True):
    (path / "log").mkdir(parents=True)
    (path / "supervisor").mkdir()
    if begun:
        (path / "log" / "tail-000000000001.jsonl").touch()
    return path


def test_a_directory_with_a_log_in_it_is_no_run_for_that(tmp_path):
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "access.txt").touch()
    assert not is_run(tmp_path)
    assert is_run(run_at(tmp_path / "a", begun=False))
    kept = tmp_path / "kept"  # by a watch: there is no supervisor
    (kept / "log").mkdir(parents=True)
    (kept / "log" / "campaign.jsonl.gz").touch()
    assert is_run(kept)


def test_the_latest_is_one_that_has_begun(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    begun = run_at(tmp_path / "runs/first")
    never = run_at(tmp_path / "runs/second", begun=False)
    assert find_run(None) == begun
    assert find_run(type(begun)("second")) == never, "by its name alone"
    with pytest.raises(Failure, match="third: there is no such run directory"):
        find_run(type(begun)("third"))
    assert main(["status", str(never)]) == NOT_RUNNING
    assert "has never begun; start it: fuzztui" in capsys.readouterr().err
    assert main(["replay", "first", "--json"]) == NOT_RUNNING
    assert "first: the log is empty" in capsys.readouterr().err, "by its name alone, too"


@pytest.mark.parametrize(
    "argv", [["status"], ["ctl", "run", "pause"], ["replay", "run"], ["operators"], ["c.toml"]]
)
def test_a_command_loads_only_what_it_needs(argv):
    """Half of what a command costs is loading: Textual, launchers, asyncio are for others."""
    code = (
        "import sys; from fuzztui.cli.parser import parse; parse(sys.argv[1:])\n"
        "print(*sys.modules, sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *argv], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "fuzztui.cli.runs" in loaded
    assert not loaded & {"textual", "numpy", "fuzztui.supervise.engines", "fuzztui.engines.core"}
    if argv[0] != "c.toml":
        assert not loaded & {"asyncio", "psutil", "fuzztui.supervise.daemon"}

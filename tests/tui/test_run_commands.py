"""What users copy about a run on another machine is for that machine."""

from pathlib import Path

from fuzztui.kernel.remote.mirrored import Origin
from fuzztui.tui.labels.details import repro_command
from fuzztui.tui.labels.run_files import path_there, run_command, set_origin


def test_a_run_here():
    run = Path("/tmp/run")
    assert repro_command(run, run / "out/a b") == "fuzztui repro /tmp/run '/tmp/run/out/a b'"
    assert path_there(run, "/tmp/run/out/x") == "/tmp/run/out/x"


def test_a_run_on_another_machine(tmp_path):
    set_origin(tmp_path, Origin("ann@box", "/home/me/runs/my run"))
    assert path_there(tmp_path, f"{tmp_path}/out/x") == "/home/me/runs/my run/out/x"
    assert path_there(tmp_path, f"{tmp_path}-other/x") == f"{tmp_path}-other/x"
    line = run_command(tmp_path, ["fuzztui", "replay", str(tmp_path)])
    assert line == """ssh ann@box 'fuzztui replay '"'"'/home/me/runs/my run'"'"''"""

"""Inputs that are run on the present target, within a time."""

import pytest
from lab_clock import LabClock

from fuzztui.run.campaign import load
from fuzztui.run.inprocess.replay import replay


@pytest.mark.parametrize(("ran", "cut"), [(3, 2), (5, 0)])
def test_inputs_for_which_no_time_is_left_are_counted(tmp_path, monkeypatch, ran, cut):
    clock = LabClock()
    monkeypatch.setattr("fuzztui.run.inprocess.replay.time", clock)

    def progress(done: int) -> None:
        clock.now += done >= ran

    (tmp_path / "target.py").write_text("def run(data):\n    return len(data)\n")
    file = tmp_path / "fuzz.toml"
    file.write_text('[target]\nfunction = "target:run"\npath = ["."]\n[engine]\nkind = "zest"\n')
    inputs = [tmp_path / str(n) for n in range(5)]
    for input_file in inputs:
        input_file.write_text("x")
    campaign, until = load(file).campaign, clock.now + 1
    found = replay(campaign, inputs, tmp_path, tmp_path / "main", progress, until=until)
    assert (sorted(found.cells), found.cut, found.failed) == ([*range(ran)], cut, {})

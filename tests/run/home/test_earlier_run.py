"""Which run of the same target was there before another one."""

import pytest

from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.events import CampaignEnded, CampaignStarted
from fuzztui.run.home.earlier import earlier_run


def run_of(path, wall, target="lib:parse", engine="zest"):
    (path / "supervisor").mkdir(parents=True)
    writer = LogWriter(path / "log")
    writer.append(CampaignStarted(path.name, engine, target, wall=wall), 0.0)
    writer.append(CampaignEnded("finished"), 9.0)
    writer.close()
    return path


def test_the_last_one_before_it_of_the_same_target_and_engine(tmp_path):
    first, second, third = (run_of(tmp_path / name, wall) for name, wall in
                            (("c", 100.0), ("a", 200.0), ("b", 300.0)))  # fmt: skip
    run_of(tmp_path / "other", 250.0, target="lib:other")
    run_of(tmp_path / "mu2", 260.0, engine="mu2")
    assert earlier_run(third) == second
    assert earlier_run(second) == first
    assert earlier_run(first) is None


def test_a_run_that_cannot_be_read_is_left_out(tmp_path):
    first, broken, last = (run_of(tmp_path / f"r{n}", float(n)) for n in (1, 2, 3))
    for file in (broken / "log").iterdir():
        file.write_bytes(b"\x00 no record\n")
    (tmp_path / "empty" / "log").mkdir(parents=True)
    (tmp_path / "empty" / "supervisor").mkdir()
    assert earlier_run(last) == first
    with pytest.raises((LogError, OSError)):
        earlier_run(tmp_path / "nowhere")

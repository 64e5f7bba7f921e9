"""Runs for lists of runs; no campaign of whoever runs the tests is in them."""

import pytest

from fuzztui.home import listing
from fuzztui.log.writer import LogWriter
from fuzztui.wire.events import CampaignEnded, CampaignStarted, CampaignState, FindingSaved, Stats


@pytest.fixture(autouse=True)
def _apart(monkeypatch, tmp_path):
    monkeypatch.setattr(listing, "supervised_runs", list)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def make_run():
    """Make a run of a directory: its campaign, as many records as asked for, its end."""

    def make(path, *, wall=1e9, state="finished", finds=0, stats=3, name="c", kind="zest"):
        (path / "supervisor").mkdir(parents=True)
        (path / "log").mkdir()
        writer = LogWriter(path / "log")
        writer.append(CampaignStarted(name, kind, "lib:f", 7, instances=["main"], wall=wall), 0.0)
        writer.append(CampaignState("running"), 0.1)
        for n in range(1, stats + 1):
            writer.append(Stats("main", n * 100, 50.0, n, edges=n * 10, edges_total=99), float(n))
        for n in range(finds):
            writer.append(FindingSaved("main", "crash", f"crashes/id:{n}"), stats + 1.0)
        if state in ("finished", "stopped", "failed"):
            writer.append(CampaignEnded(state, "why"), stats + 2.0)
            writer.close(at_rest=True)
        else:
            writer.close()
        return path

    return make

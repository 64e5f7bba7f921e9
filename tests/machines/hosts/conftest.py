"""A hub of this machine, which has not been started."""

import pytest

from fuzztui.machines.hosts.hub import Hub
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, prepare_run

CAMPAIGN = """
[engine]
kind = "zest"
instances = 1
[target]
function = "target_here:f"
[hosts]
{hosts}
"""


@pytest.fixture
def hub_of(tmp_path):
    """Makes the hub of a campaign on these hosts."""

    def make(hosts: str) -> Hub:
        (tmp_path / "target_here.py").write_text("def f(data: bytes): ...\n")
        (tmp_path / "c.toml").write_text(CAMPAIGN.format(hosts=hosts))
        prepare_run(tmp_path / "run")
        run = RunDir(tmp_path / "run")
        loaded = load(tmp_path / "c.toml", [f"campaign.output={run.path}"])
        return Hub(loaded, run, lambda _: None, lambda _: None)

    return make

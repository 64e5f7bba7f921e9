"""Loading a campaign's target for exported tests: what cannot be loaded is one kind of error."""

from __future__ import annotations

import pytest

from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.testing import replay

CAMPAIGN = """
[campaign]
name = "c"
budget = "10s"

[engine]
kind = "zest"

[target]
function = "lib.py:f"
include = ["lib"]
"""


def test_a_package_whose_tables_fail_is_named(tmp_path, monkeypatch):
    (tmp_path / "lib.py").write_text("def f(data: bytes) -> None:\n    pass\n")
    file = tmp_path / "campaign.toml"
    file.write_text(CAMPAIGN)

    def fails(*_):
        raise SupervisorError("feature tide: spec: RuntimeError: boom")

    monkeypatch.setattr(replay, "write_spec", fails)
    with pytest.raises(replay.CannotReplay, match="feature tide"):
        replay.Replay.of(file, tmp_path / "corpus")

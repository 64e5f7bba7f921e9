"""Runs for lists of runs; no campaign of whoever runs the tests is in them."""

import pytest

from fuzztui.run.home import listing


@pytest.fixture(autouse=True)
def _apart(monkeypatch, tmp_path):
    monkeypatch.setattr(listing, "supervised_runs", list)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

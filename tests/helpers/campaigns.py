"""A campaign as its file would give it, for tests that need no file."""

from __future__ import annotations

from pathlib import Path

from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.table import feature_tables


def campaign(**changes) -> Campaign:
    fields = {
        "file": Path("/c.toml"),
        "name": "c",
        "output": Path("/run"),
        "seed": 7,
        "budget_s": 0.0,
        "budget_trials": 0,
        "stop_crashes": 0,
        "stop_idle_s": 0.0,
        "kind": "zest",
        "instances": 1,
        "target": {"python": "/usr/bin/python3"},
        "engine": {"kind": "zest"},
        "tables": dict.fromkeys(feature_tables()),
    }
    return Campaign(**{**fields, **changes})

"""``fuzztui comparisons``."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from run_logs import run_with

from fuzztui.cli import main
from fuzztui.kernel.wire import events as ev

run_of = partial(run_with, at_rest=False)
START = ev.CampaignStarted("c", "zest", "m:f")
REPORTS = (
    ev.EntrySaved("main", 3, "queue/id:000003"),
    ev.ComparisonsReported("main", {"\x1b[31mred": "m:7"}, {"3": ["m:7", "'\x1b]0;title'"]}),
)


def test_table(tmp_path: Path, cli) -> None:
    out = cli("comparisons", run_of(tmp_path / "run", START, *REPORTS)).out
    assert "\x1b" not in out, "text from the target is escaped"
    row = out.splitlines()[1].split()
    assert row[:3] == ["m:7", "1", "1"]


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["comparisons", str(run_of(tmp_path / "run", START, *REPORTS)), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["places"] == [
        {
            "place": "m:7",
            "entries": [{"entry": "main/3", "operand": "'\x1b]0;title'", "edges": None}],
            "tokens": ["\x1b[31mred"],
        }
    ]


def test_nothing_reported(tmp_path: Path, cli, capsys) -> None:
    assert main(["comparisons", str(run_of(tmp_path / "run", START))]) == 1
    assert "engine.comparisons" not in capsys.readouterr().err
    (tmp_path / "run" / "campaign.toml").write_text(
        '[campaign]\nname = "c"\n[target]\nfunction = "m:f"\n'
        '[engine]\nkind = "zest"\ncomparisons = false\n'
    )
    assert "engine.comparisons = false" in cli("comparisons", tmp_path / "run", code=1).err
    assert cli("comparisons", run_of(tmp_path / "two", START), "--json").json["places"] == []

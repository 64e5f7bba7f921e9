"""The package of docs/features.md: event, command, undo, column and facts, live and in a replay."""

import json
import re
import shutil
from pathlib import Path

import pytest
from homes import Home
from terminal import Terminal
from waiting import wait_until

from fuzztui.cli.runs import standing
from fuzztui.run.campaign.load import load

PAGE = Path(__file__).parents[2] / "docs/features.md"
_BLOCK = re.compile(r"^## [^\n]*`(note_feature/\w+\.py)`\n```python\n(.*?)^```$", re.M | re.S)
FILES = dict(_BLOCK.findall(PAGE.read_text()))
"""The files of the package, as the page shows them."""


def install(site: Path, entry: str = "note_feature:FEATURE") -> None:
    """As ``pip install --target`` of the package would."""
    (site / "note_feature").mkdir(parents=True)
    for name, text in FILES.items():
        (site / name).write_text(text)
    info = site / "note_feature-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: note-feature\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[fuzztui.features]\nnote = {entry}\n")


@pytest.fixture
def site(home: Home, tmp_path: Path) -> Path:
    site = tmp_path / "site"
    home.env["PYTHONPATH"] = str(site)
    return site


def test_the_package_is_small():
    assert len(FILES) == 3
    assert sum(len(text.splitlines()) for text in FILES.values()) < 150


def row_of_main(text: str) -> str:
    """The instance's row in the table; entries may push the note's events off the screen."""
    return next((line for line in text.splitlines() if line.startswith(" main  ")), "")


@pytest.mark.slow
def test_a_note_on_an_instance(home: Home, site: Path, terminal) -> None:
    install(site)
    run = str(home.run)
    home.file.write_text(home.file.read_text() + "instances = 2\n[note]\nmax_notes = 1\n")
    refused = home("check", str(home.file), "--set", "note.max_notes=0", code=2) + home.stderr
    assert "note.max_notes: 0 is too small" in refused
    home.detach()
    wait_until(lambda: len(home.status()["instances"]) == 2)
    live: Terminal = terminal(run)
    home("ctl", run, "note", "slow since the upgrade", "--instance", "main")
    live.wait(lambda text: "slow since the upgrade" in row_of_main(text))
    live.wait("notes 1")  # the line of the Overview
    assert json.loads(home("status", run, "--json"))["features"] == {"note": {"notes": 1}}
    assert "note      notes 1\n" in home("status", run)
    assert 'fuzztui_feature_figure{campaign="e2e",' in home("metrics", run)
    live.keys("Enter")
    live.wait("note  slow since the upgrade")  # the instance's details
    live.keys("Escape")
    home("ctl", run, "note", "look again", "--instance", "main")
    live.wait(lambda text: "look again" in row_of_main(text))
    home("ctl", run, "undo")
    live.wait(lambda text: "slow since the upgrade" in row_of_main(text))

    refused = home("ctl", run, "note", "x" * 201, "--instance", "main", code=2) + home.stderr
    assert "longer than 200 characters" in refused
    more = home("ctl", run, "note", "x", "--instance", "s1", code=1)
    assert "note.max_notes is 1" in more + home.stderr
    unknown = home("ctl", run, "note", "x", "--instance", "nobody", code=1)
    assert "rejected" in unknown + home.stderr

    home("ctl", run, "stop")
    replay: Terminal = terminal(run)
    replay.wait("slow since the upgrade")
    events = home("events", run, "--kind", "instance_noted")
    assert [line.split()[2] for line in events.splitlines()] == ["note", "note", "note"]


@pytest.mark.slow
def test_a_run_opens_without_the_package(home: Home, site: Path) -> None:
    install(site)
    home.file.write_text(home.file.read_text() + "[note]\nmax_notes = 5\n")
    run = str(home.run)
    home.detach()
    home("ctl", run, "note", "seen", "--instance", "main")
    home("ctl", run, "note", "seen again", "--instance", "main")
    home("ctl", run, "stop")
    shutil.rmtree(site)
    assert "instance_noted" in home("events", run)
    assert standing(home.run).state.unknown == {"instance_noted": 2}
    home("report", run)
    frozen = home.run / "campaign.toml"
    home("check", str(frozen))
    assert "[note] has no effect: no installed package adds that table" in home.stderr
    assert load(frozen).frozen["note"] == {"max_notes": 5}


@pytest.mark.parametrize("argv", [["status", "."], ["ctl", ".", "pause"], ["ctrl"], ["e2e.toml"]])
def test_a_broken_package_is_named(home: Home, site: Path, argv: list[str]) -> None:
    install(site, "note_feature:MISSING")
    home(*argv, code=1)
    assert "fuzztui.features: note of note-feature cannot be imported" in home.stderr

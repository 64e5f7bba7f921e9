"""Engine kinds: every one does what the supervisor relies on, and another package can add one."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzztui.engines.conformance import violations
from fuzztui.engines.kinds import KINDS, UnknownKind, kind_named, plugin_names
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.wire.events import EntryDescribed, InstanceHello
from fuzztui.run.campaign.schema import tables_for
from fuzztui.run.supervise.launchers import launcher_for

ROOT = Path(__file__).parents[2]
TOY = ROOT / "tests/helpers/toy_engine.py"
CAMPAIGN = """\
[campaign]
name = "toys"
output = "run"
budget = "300 trials"

[target]
function = "tomllib:loads"
expected = ["tomllib.TOMLDecodeError"]

[engine]
kind = "toy"
appended = 5
"""


def install(directory: Path, entry: str = "toy_engine:KIND", source: str = "") -> Path:
    """As ``pip install`` of a package with that one module would. Returns the directory."""
    directory.mkdir()
    (directory / "toy_engine.py").write_text(source or TOY.read_text())
    info = directory / "toy_engine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-engine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[fuzztui.engines]\ntoy = {entry}\n")
    return directory


@pytest.fixture
def toy(tmp_path, monkeypatch):
    install(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    importlib.invalidate_caches()
    yield
    sys.modules.pop("toy_engine", None)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_known_everywhere(kind):
    assert "kind" in [key.name for key in tables_for(kind)["engine"]]
    assert launcher_for(kind).says_hello
    assert (ROOT / f"docs/{kind}.md").is_file() or f'"{kind}"' in (
        ROOT / "docs/campaign.md"
    ).read_text()
    assert list((ROOT / "sample_campaigns").glob(f"*-{kind}.toml"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_conforms(kind, tmp_path):
    assert violations(kind, tmp_path) == []


@pytest.mark.slow
def test_the_toy_conforms(toy, tmp_path):
    assert violations("toy", tmp_path) == []


def test_another_packages_kind_has_the_keys_of_its_row(toy):
    assert plugin_names() == ["toy"]
    (key,) = [k for k in tables_for("toy")["engine"] if k.name == "appended"]
    assert (key.type, key.default, key.minimum, key.maximum) == ("integer", 3, 1, 100)
    assert "generator" not in [k.name for k in tables_for("toy")["target"]]
    assert "oracle" not in tables_for("toy")


def test_a_broken_plugin_is_named(tmp_path, monkeypatch):
    install(tmp_path / "site", "toy_engine:NOTHING")
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(UnknownKind, match="toy_engine:NOTHING"):
        kind_named("toy")
    with pytest.raises(UnknownKind, match="nope"):
        kind_named("nope")


@pytest.mark.slow
def test_another_packages_engine_runs_under_the_supervisor(tmp_path):
    install(tmp_path / "site")
    assert len(TOY.read_text().splitlines()) < 100
    (tmp_path / "campaign.toml").write_text(CAMPAIGN)
    done = subprocess.run(
        [Path(sys.executable).with_name("fuzztui"), "campaign.toml", "--headless"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 10), done.stderr
    reader = LogReader(tmp_path / "run")
    reader.refresh()
    events = [record.event for record in reader.records()]
    assert [e.engine for e in events if isinstance(e, InstanceHello)] == ["toy"]
    assert any(isinstance(e, EntryDescribed) for e in events)

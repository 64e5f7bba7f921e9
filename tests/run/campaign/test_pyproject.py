"""A campaign in ``pyproject.toml``: the same campaign, and the same errors at their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzztui.cli import main
from fuzztui.cli.output import USAGE, CliError
from fuzztui.cli.samples import campaign_or_project
from fuzztui.run.campaign import CampaignError, load
from fuzztui.run.campaign.files import nearest_file

PROJECT = '''\
[project]
name = "lib"
description = """
[tool.fuzztui.target]
function = "not:this"
"""
[tool.other]
rows = [
    [1, 2],
[3]]
[tool.fuzztui.campaign]
budget = "5m"
[tool.fuzztui.target]
function = "tomllib:loads"  # the target
path = ["src"]
[tool."fuzztui".engine]
kind = "mu2"
schedule = "full"
[tool.last]
engine.kind = "afl"
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    file = tmp_path / "pyproject.toml"
    file.write_text(PROJECT)
    return file


def test_it_is_the_campaign_of_a_file(project: Path) -> None:
    own = project.with_name("fuzztui.toml")
    own.write_text(
        '[campaign]\nname = "lib"\nbudget = "5m"\n[target]\nfunction = "tomllib:loads"\n'
        'path = ["src"]\n[engine]\nkind = "mu2"\nschedule = "full"\n'
    )
    loaded, same = load(project), load(own)
    assert loaded.frozen == same.frozen
    assert loaded.given | {"campaign.name"} == same.given
    assert loaded.campaign.verdicts == str(project.parent / "fuzztui.verdicts.toml")
    # The frozen copy of a run has the tables of any campaign.
    own.write_text(loaded.toml())
    assert load(own).frozen == loaded.frozen


def test_lines_of_keys(project: Path) -> None:
    loaded = load(project, ["campaign.seed=3"])
    assert loaded.origin("target.function") == f"{project}:14"
    assert loaded.origin("engine.schedule") == f"{project}:18"
    assert loaded.origin("engine.operators") == f"{project}:16"
    assert loaded.origin("campaign.seed") == "--set campaign.seed=3"


@pytest.mark.parametrize(
    ("old", "new", "line", "key"),
    [
        ('"full"', '"half"', 18, "engine.schedule"),
        ("schedule", "shedule", 18, "engine.shedule"),
        ('"5m"', '"5 parsecs"', 12, "campaign.budget"),
        ("[tool.fuzztui.campaign]", "[tool.fuzztui.campain]", 11, "campain"),
        ('[tool."fuzztui".engine]', "[tool.fuzztui.motor]", 16, "motor"),
        ("[tool.last]", "[tool.fuzztui]\nstop = 3\n[tool.last]", 20, "stop"),
    ],
)
def test_errors(project: Path, old: str, new: str, line: int, key: str) -> None:
    project.write_text(PROJECT.replace(old, new))
    with pytest.raises(CampaignError) as caught:
        load(project)
    assert (f"{project}:{line}", key) in [(p.origin, p.key) for p in caught.value.problems]


@pytest.mark.parametrize("text", ["", "[tool]\nfuzztui = 3\n", "tool = 3\n", "[tool.other]\n"])
def test_a_project_without_a_campaign(project: Path, text: str) -> None:
    project.write_text(text)
    with pytest.raises(CampaignError) as caught:
        load(project)
    assert [p.origin for p in caught.value.problems] == [str(project)]


def test_a_project_without_a_name(project: Path) -> None:
    project.write_text(PROJECT.replace('name = "lib"', "name = 3"))
    assert load(project).campaign.name == project.parent.name


@pytest.mark.slow
def test_many_tables_of_other_tools(project: Path) -> None:
    others = "".join(f"[tool.other.t{n}]\nkey = [\n  {n},\n]\n" for n in range(300))
    project.write_text(others + PROJECT.replace("[tool.other]", "[tool.other.last]"))
    assert load(project).origin("engine.kind") == f"{project}:{4 * 300 + 17}"


def test_the_nearest_file_is_found(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = project.parent / "src/deep"
    below.mkdir()
    assert nearest_file(below) == project
    monkeypatch.chdir(below)
    assert campaign_or_project(None) == project
    assert campaign_or_project(Path("mine.toml")) == Path("mine.toml")
    (below.parent / "pyproject.toml").write_text("")  # the nearest, though it has no campaign
    assert main(["check", "--no-run"]) == USAGE
    monkeypatch.setattr("fuzztui.cli.samples.nearest_file", lambda directory: None)
    with pytest.raises(CliError):
        campaign_or_project(None)


def test_a_campaign_file_comes_before_the_project_beside_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    below = project.parent / "src"
    monkeypatch.chdir(project.parent)
    written = project.with_name("campaign.toml")
    written.write_text(PROJECT.replace("tool.fuzztui.", "").replace('tool."fuzztui".', ""))
    assert nearest_file(below) == written
    assert campaign_or_project(None) == written
    assert str(written) in capsys.readouterr().err
    (below / "pyproject.toml").write_text(PROJECT)
    assert nearest_file(below) == below / "pyproject.toml"


def test_without_any_file_the_message_names_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for argv in (["run"], ["check"], ["ci"], ["mutants", "list"], ["targets"]):
        assert main(argv) == USAGE
        message = capsys.readouterr().err
        assert "campaign.toml" in message
        assert "pyproject.toml" in message
        assert str(tmp_path) in message
    for argv in (["mutants", "show"], ["mutants", "rank"]):
        assert main(argv) == USAGE


def test_mutants_of_the_nearest_campaign(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file that is loaded is the nearest one: its engine has no mutants."""
    monkeypatch.chdir(project.parent)
    file = project.with_name("campaign.toml")
    file.write_text('[engine]\nkind = "afl"\n[target]\ncommand = "true @@"\nseeds = "src"\n')
    for argv in (["mutants", "list"], ["mutants", "export"], ["targets"]):
        assert main(argv) == USAGE
        message = capsys.readouterr().err
        assert f"{file}:" in message


def test_commands_without_a_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    assert main(["check", "--no-run"]) == 0
    project.write_text(PROJECT.replace('"full"', '"half"'))
    assert main(["run"]) == USAGE
    assert main(["ci"]) == USAGE

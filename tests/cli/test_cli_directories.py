"""A directory in place of a campaign file: a run is shown, for others the error says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzztui.cli import directories, main
from fuzztui.cli.output import DONE, USAGE

CAMPAIGN = '[engine]\nkind = "zest"\n[target]\nfunction = "json:loads"\ninclude = ["json"]\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_at(path: Path) -> Path:
    for name in ("log", "supervisor"):
        (path / name).mkdir(parents=True)
    (path / "campaign.toml").write_text(CAMPAIGN)
    return path


@pytest.fixture
def attached(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The runs that were attached to."""
    runs: list[Path] = []

    def attach(options) -> int:
        runs.append(options.run.resolve())
        return DONE

    monkeypatch.setattr(directories, "attach", attach)
    return runs


def test_a_run_is_shown(here, attached, monkeypatch):
    run = run_at(here / "runs" / "a")
    assert main(["runs/a"]) == DONE
    assert main(["run", str(run)]) == DONE
    monkeypatch.chdir(run)
    assert main(["."]) == DONE
    assert main(["./", "--theme", "ember"]) == DONE
    assert attached == [run] * 4


@pytest.mark.parametrize(
    "option", ["--headless", "--detach", "--new", "--json", "--set=campaign.budget=3s"]
)
def test_options_of_a_start_need_the_campaign_file(option, here, attached, capsys):
    run_at(here / "a")
    assert main(["a", option]) == USAGE
    assert not attached
    message = capsys.readouterr().err
    assert f"fuzztui a/campaign.toml {option.partition('=')[0]}" in message


def make_project(path: Path) -> None:
    (path / "campaign.toml").write_text(CAMPAIGN)


def make_afl(path: Path) -> None:
    (path / "main" / "queue").mkdir(parents=True)
    (path / "main" / "fuzzer_stats").write_text("start_time : 1\n")


def make_runs(path: Path) -> None:
    run_at(path / "b")
    run_at(path / "a")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (make_project, "it's/campaign.toml"),
        (make_afl, "fuzztui watch 'it'\"'\"'s'"),
        (make_runs, "fuzztui 'it'\"'\"'s/a'"),
        (lambda path: None, "fuzztui init 'it'\"'\"'s'"),
    ],
    ids=["project", "afl", "runs", "empty"],
)
def test_what_to_do_with_another_directory(make, words, here, cli):
    (here / "it's").mkdir()
    make(here / "it's")
    for argv in (["it's"], ["run", "it's"], ["check", "it's"], ["ci", "it's"]):
        assert words in cli(*argv, code=USAGE).err


def test_check_names_the_campaign_file_of_a_run(here, cli):
    run_at(here / "a")
    assert "a/campaign.toml" in cli("check", "a", code=USAGE).err

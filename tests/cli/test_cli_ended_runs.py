"""Starting a campaign again whose run has ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_logs import run_with

from fuzztui.cli import main
from fuzztui.cli.origins import has_begun, remember
from fuzztui.cli.output import DONE, NOT_RUNNING
from fuzztui.cli.runs import with_output
from fuzztui.kernel.wire import events as ev
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import prepare_run

TOML = '[campaign]\nbudget = "5s"\n[target]\nfunction = "tomllib:loads"\n[engine]\nkind = "zest"\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The campaign file, where the user stands; no other run is seen."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "c.toml"
    path.write_text(TOML)
    return path


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The runs that were started or resumed, without a supervisor."""
    runs: list[Path] = []

    def start(run: Path, toml: str, **more: object) -> None:
        runs.append(run)
        (run / "campaign.toml").write_text(toml)
        run_with(
            run, ev.CampaignStarted("c", "zest", "t", 0, wall=1e9), ev.CampaignState("running")
        )

    monkeypatch.setattr("fuzztui.cli.run.start", start)
    return runs


def ended(file: Path, state: str, execs: int) -> Path:
    """A run of the file whose time is used up."""
    loaded = load(file)
    run = loaded.campaign.output
    prepare_run(run)
    remember(run, loaded.campaign)
    (run / "campaign.toml").write_text(with_output(loaded, run).toml())
    return run_with(
        run,
        (0.0, ev.CampaignStarted("c", "zest", "t", 0, budget_s=5.0, wall=1e9)),
        (0.1, ev.InstanceState("main", "running")),
        (0.1, ev.CampaignState("running")),
        *([(5.0, ev.Stats("main", execs=execs))] if execs else []),
        (6.0, ev.CampaignEnded(state, "the end")),
    )


@pytest.mark.parametrize("state", ["finished", "failed", "stopped"])
def test_a_run_that_executed_nothing_blocks_no_further_start(state, file, started):
    run = ended(file, state, 0)
    assert main([str(file), "--detach"]) == DONE
    assert started == [run.with_name("c-2")]
    assert has_begun(run.with_name("c-2"))
    # The next command continues that one, which has budget left.
    assert main([str(file), "--detach"]) == DONE
    assert started == [run.with_name("c-2")] * 2


def test_a_place_that_is_named_is_kept(file, started):
    """The next command with the same options would not find another run."""
    run = ended(file, "finished", 0)
    assert main([str(file), "--detach", "--set", f"campaign.output={run}"]) == NOT_RUNNING
    assert not started


def test_detach_tells_scripts_that_nothing_was_started(file, started, cli, capsys):
    run = ended(file, "finished", 100)
    message = cli(file, "--detach", code=NOT_RUNNING).err
    assert "campaign.budget" in message
    assert f"fuzztui attach {run}" in message
    assert "ctl" not in message
    assert not started
    assert main([str(file), "--detach", "--set", "campaign.budget=1h"]) == DONE
    assert started == [run]
    assert f"ctl {run} stop" in capsys.readouterr().err


def test_without_detach_the_result_is_that_of_the_run(file, started):
    ended(file, "finished", 100)
    assert main([str(file), "--headless"]) == DONE
    assert not started

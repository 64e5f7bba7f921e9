"""The table ``[notify]`` of a campaign file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzztui.run.campaign.load import load
from fuzztui.run.campaign.model import CampaignError, write_frozen

FILE = """
[target]
function = "json:loads"
[engine]
kind = "{kind}"
[notify]
{lines}
"""


def loaded(path: Path, lines: str, kind: str = "zest"):
    file = path / "c.toml"
    file.write_text(FILE.format(kind=kind, lines=lines))
    return load(file, cwd=path)


def script(path: Path) -> Path:
    file = path / "hook"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("kind", ["zest", "mu2", "text", "spoton"])
def test_the_program_is_relative_to_the_file_or_on_the_path(tmp_path: Path, kind: str) -> None:
    hook = script(tmp_path)
    notify = loaded(tmp_path, 'command = "./hook a b"', kind).campaign.table("notify")
    assert notify["command"] == [str(hook), "a", "b"]
    assert notify["on"] == ["findings", "stall", "end"]
    assert Path(
        loaded(tmp_path, 'command = ["sh"]').campaign.table("notify")["command"][0]
    ).is_absolute()


def test_without_the_table_nothing_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(FILE.format(kind="zest", lines="").replace("[notify]", ""))
    assert load(file).campaign.table("notify") == {}
    assert "notify" not in load(file).toml()


@pytest.mark.parametrize(
    ("lines", "keys"),
    [
        ("", ["command"]),
        ('command = "./nowhere"', ["command"]),
        ('command = "sh"\non = ["crash"]', ["on"]),
        ('command = "sh"\non = []', ["on"]),
        ('command = "sh"\nmax_per_hour = 0', ["max_per_hour"]),
        ('command = ""\nstall = "x"\nstal = 3', ["command", "stall", "stal"]),
    ],
)
def test_errors_name_their_keys(tmp_path: Path, lines: str, keys: list[str]) -> None:
    with pytest.raises(CampaignError) as raised:
        loaded(tmp_path, lines)
    assert [p.key for p in raised.value.problems] == [f"notify.{key}" for key in keys]


def test_a_run_continues_if_the_program_is_gone(tmp_path: Path) -> None:
    hook = script(tmp_path)
    run = tmp_path / "run"
    for part in ("supervisor", "log", "out"):
        (run / part).mkdir(parents=True)
    write_frozen(loaded(tmp_path, 'command = "./hook"'), run)
    hook.unlink()
    assert load(run / "campaign.toml").campaign.table("notify")["command"] == [str(hook)]

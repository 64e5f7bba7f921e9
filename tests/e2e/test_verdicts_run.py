"""Verdicts about findings of real campaigns: during a run, after it, and in the next one."""

import json
from pathlib import Path

import pytest
from homes import Home, logged, write_seeds
from waiting import wait_until

from fuzztui.cli.output import DONE, FAILED, FINDINGS, USAGE
from fuzztui.features.verdicts.file import read_verdicts
from fuzztui.kernel.wire.events import Message

pytestmark = pytest.mark.slow

APP = """
def check(data):
    if data[:1] == b"a":
        raise KeyError
    if data[:1] == b"b":
        raise IndexError
"""
MENDED = """
# A line more: the other bug's line moves.
def check(data):
    if data[:1] == b"b":
        raise IndexError
"""
CAMPAIGN = """
[campaign]
name = "e2e"
output = "run"
seed = 1
budget = "2000 trials"
[target]
function = "app:check"
[engine]
kind = "zest"
seeds = ["seeds"]
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.file.write_text(CAMPAIGN)
    (tmp_path / "app.py").write_text(APP)
    write_seeds(tmp_path, "a", "b", "c")
    return home


def groups(home: Home, run: Path) -> dict[str, tuple[str, str]]:
    """Verdict and file by title."""
    rows = json.loads(home("status", str(run), "--json"))["findings"]
    return {row["title"]: (row["verdict"], row["first"]) for row in rows}


def test_known_fixed_and_a_regression(home: Home) -> None:
    verdicts = home.path / "e2e.verdicts.toml"
    first, second, third = (home.path / name for name in ("run", "run-2", "run-3"))
    home(str(home.file), "--headless", code=FINDINGS)
    found = groups(home, first)
    assert {title: verdict for title, (verdict, _) in found.items()} == {
        "KeyError": "new", "IndexError": "new",
    }  # fmt: skip
    # After the end, from a shell: by the finding, and by the signature.
    home("ctl", str(first), "judge", found["IndexError"][1], "known", "--note", "issue 12")
    signature = next(s for s in _signatures(home, first) if s.startswith("KeyError"))
    home("ctl", str(first), "judge", signature, "fixed")
    assert sorted(v.verdict for v in (read_verdicts(verdicts) or {}).values()) == ["fixed", "known"]
    home(str(home.file), "--headless", code=DONE)  # the ended run: nothing is open
    # The fix: the next run finds only the known bug, in a line that has moved.
    (home.path / "app.py").write_text(MENDED)
    home(str(home.file), "--headless", "--new", code=DONE)
    assert {t: v for t, (v, _) in groups(home, second).items()} == {"IndexError": "known"}
    # The bug comes back.
    (home.path / "app.py").write_text(APP.replace("\ndef", "\n\n\ndef"))
    home(str(home.file), "--headless", "--new", code=FINDINGS)
    assert {t: v for t, (v, _) in groups(home, third).items()} == {
        "IndexError": "known", "KeyError": "regression",
    }  # fmt: skip


def _signatures(home: Home, run: Path) -> list[str]:
    rows = json.loads(home("status", str(run), "--json"))["findings"]
    return [row["signature"] for row in rows]


def test_while_the_campaign_runs(home: Home) -> None:
    home(str(home.file), "--detach", "--set", "campaign.budget=10m")
    try:
        # Saved first, and described then.
        wait_until(lambda: [bool(f["signature"]) for f in home.status()["findings"]] == [True] * 2)
        key = home.status()["findings"][0]["first"]
        out = home("ctl", str(home.run), "judge", key, "wont-fix", code=DONE)
        assert "applied" in out
        assert home.status()["findings"][0]["verdict"] == "wont-fix"
        # Edited by a person, also with a mistake.
        file = home.path / "e2e.verdicts.toml"
        good = file.read_text()
        file.write_text(good + "[[finding]\n")
        wait_until(lambda: "e2e.verdicts.toml:" in _log(home))
        assert home.status()["findings"][0]["verdict"] == "wont-fix"
        home("ctl", str(home.run), "judge", key, "known", code=FAILED)
        file.write_text(good.replace("wont-fix", "known"))
        wait_until(lambda: home.status()["findings"][0]["verdict"] == "known")
    finally:
        home("ctl", str(home.run), "stop")


def test_a_broken_file_does_not_start_a_campaign(home: Home) -> None:
    home("check", str(home.file), "--no-run", code=DONE)
    (home.path / "e2e.verdicts.toml").write_text("[[finding]\n")
    home("check", str(home.file), "--no-run", code=USAGE)
    assert "e2e.verdicts.toml:1:" in home.stderr
    home(str(home.file), "--headless", code=USAGE)
    assert "e2e.verdicts.toml:1:" in home.stderr
    assert not home.run.exists()


def test_words_that_are_none(home: Home) -> None:
    for words in ([], ["main/crashes/x"], ["main/crashes/x", "fine"], ["x", "known", "more"]):
        home("ctl", "run", "judge", *words, code=USAGE)
    home("ctl", "run", "skip", "main/1", "--note", "x", code=USAGE)


def _log(home: Home) -> str:
    return "\n".join(message.text for message in logged(home.run, Message))

"""A generator of zest and mu2 that draws the application's constants."""

import json
from pathlib import Path

import pytest
from engine_lab import stats
from homes import GENERATED, Home

pytestmark = pytest.mark.slow

CAMPAIGN = (
    GENERATED
    + """\
comparisons = false
constants = {constants}
"""
)
APP = """
WORDS = ("frobnicate", "quux")
def check(text):
    if text == WORDS[0]:
        raise KeyError(text)
    if text == "xyzzy-plugh":
        return 2
    return 1
"""
GENERATOR = """
def make(source):
    return source.text("abcdefghijklmnopqrstuvwxyz-", 0, 30)
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "gen.py").write_text(GENERATOR)
    return home


def began(home: Home, kind: str = "zest", constants: str = "true") -> Path:
    """Run the campaign to its end; returns the only finding, which exists with constants."""
    home.file.write_text(CAMPAIGN.format(kind=kind, constants=constants))
    home(str(home.file), "--headless", code=None)
    found = list((home.run / "out/main/crashes").glob("id:*"))
    assert len(found) == (constants == "true")
    return found[0] if found else home.run


def edges_of(home: Home) -> int:
    return int(stats(home.run / "out/main")["edges_found"])


@pytest.mark.parametrize("kind", ["zest", "mu2"])
def test_constants_open_what_no_random_text_opens(home: Home, kind: str) -> None:
    began(home, kind)
    values = json.loads((home.run / "constants.json").read_text())["constants"]["str"]
    assert {v["value"] for v in values} == {"frobnicate", "quux", "xyzzy-plugh"}
    edges = edges_of(home)
    home.run.rename(home.path / "with")
    began(home, kind, "false")
    assert edges_of(home) < edges


def test_choices_mean_the_same_when_the_program_has_changed(home: Home) -> None:
    finding = began(home)
    changed = APP.replace("WORDS =", 'OTHERS = ("aaaa", "zzzz")\nWORDS =')
    (home.path / "app.py").write_text(changed)
    assert "frobnicate" in home("repro", "run", str(finding), code=10) + home.stderr
    smallest = home.path / "small"
    home("minimise", "run", str(finding), "-o", str(smallest), code=None)
    assert "frobnicate" in home("repro", "run", str(smallest), code=10) + home.stderr
    pool = (home.run / "constants.json").read_text()
    home.headless("4000 trials", code=None)
    assert home.status()["execs"] == 4000
    assert (home.run / "constants.json").read_text() == pool


@pytest.mark.parametrize(
    "content", ["", "{}", '{"constants": {}}', '{"constants": {"str": [{"value": 3}]}}', None]
)
def test_a_damaged_file_of_constants_stops_the_run_and_loses_nothing(
    home: Home, content: str | None
) -> None:
    finding = began(home)
    file = home.run / "constants.json"
    good = file.read_text()
    file.unlink()
    if content is not None:
        file.write_text(content)
    more = str(home.file), "--headless", "--set", "campaign.budget=4000 trials"
    assert str(file) in home(*more, code=None) + home.stderr
    assert home.status()["execs"] == 3000
    assert str(file) in home("repro", "run", str(finding), code=None) + home.stderr
    file.write_text(good)
    home(*more, code=None)
    assert home.status()["execs"] == 4000

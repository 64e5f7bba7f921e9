"""``fuzztui targets``."""

import json
from pathlib import Path

import pytest

from fuzztui.cli import main
from fuzztui.cli.targets import summary, table
from fuzztui.cli.words import DONE, USAGE
from fuzztui.targets import Document, Influence, Target

SAMPLES = Path(__file__).parents[2] / "sample_campaigns"


def target(location, *types):
    influences = tuple(Influence(*t) for t in types)
    return Target(location, "m", "f", 1, 0, "then", 0, (1,), (0,), True, influences)


LONG = "package/with/long/names/and/" + "more_" * 8 + "module.py:12:then"
DOCUMENT = Document(
    ("m",),
    "3.11",
    targets=(
        target("m.py:1:then", ("datetime.date", 2), ("os.stat_result", 4), ("pathlib.Path", 5)),
        target("m.py:1:else"),
        target(LONG, *((f"some.module.Type{n}", n) for n in range(9))),
    ),
    types=(Influence("datetime.date", 2),),
)


def test_the_table():
    assert [line.split("  ", 1)[1].strip() for line in table(DOCUMENT)][:2] == [
        "datetime.date 2, os.stat_result 4, pathlib.Path 5", "-",
    ]  # fmt: skip
    assert summary(DOCUMENT) == "3 targets: 2 with a type (66.7%), 1 without; 1 type"
    assert summary(Document((), "3.11")) == "0 targets: 0 with a type, 0 without; 0 types"


def test_it_fits_the_terminal():
    lines = list(table(DOCUMENT, 80))
    assert max(map(len, lines)) == 80
    assert lines[2].startswith("…")
    assert "module.py:12:then  some.module.Type0 0" in lines[2]


def test_of_a_campaign(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    campaign = str(SAMPLES / "crate-zest.toml")
    assert main(["targets", campaign]) == DONE
    shown = capsys.readouterr().out.splitlines()
    assert main(["targets", campaign, "--json"]) == DONE
    document = json.loads(capsys.readouterr().out)
    assert len(shown) == len(document["targets"]) + 1
    assert shown[0].startswith(document["targets"][0]["location"])
    assert {"name", "distance"} == {*document["types"][0]} if document["types"] else True


@pytest.mark.parametrize(
    ("campaign", "words"),
    [
        ("crashy-afl.toml", "target.function is missing: code targets are found in Python"),
        ("nowhere.toml", "there is no such campaign file"),
    ],
)
def test_refused(capsys, campaign, words):
    assert main(["targets", str(SAMPLES / campaign)]) != DONE
    assert words in capsys.readouterr().err


def test_an_include_that_is_not_there(capsys):
    arguments = ["targets", str(SAMPLES / "crate-zest.toml"), "--set", 'target.include=["nope"]']
    assert main(arguments) == USAGE
    assert "there is no Python source of nope" in capsys.readouterr().err

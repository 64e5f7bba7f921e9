"""``fuzztui targets``."""

from pathlib import Path

import pytest

from fuzztui.cli import main, targets
from fuzztui.cli.output import DONE, USAGE
from fuzztui.cli.targets import summary, table
from fuzztui.features.targeting.analysis import AnalysedGoal, Influence, TargetingAnalysis
from fuzztui.features.targeting.screen.labels import nearest

SAMPLES = Path(__file__).parents[2] / "sample_campaigns"


def target(location, *types, reachable=True, never=False):
    influences = tuple(Influence(*t) for t in types)
    return AnalysedGoal(
        location, "m", "f", 1, 0, "then", 0, (1,), (0,), reachable, influences, never
    )


LONG = "package/with/long/names/and/" + "more_" * 5 + "module.py:12:then"
MANY = tuple((f"some.module.of.a.package.Type{n}", n) for n in range(9))
DOCUMENT = TargetingAnalysis(
    ("m",),
    "3.11",
    targets=(
        target("m.py:1:then", ("datetime.date", 2), ("os.stat_result", 4), ("pathlib.Path", 5)),
        target("m.py:1:else"),
        target(LONG, *MANY),
    ),
    types=(
        Influence("datetime.date", 2), Influence("os.stat_result", 4), Influence("pathlib.Path", 5),
        *(Influence(*t) for t in MANY),
    ),
)  # fmt: skip


def test_the_table():
    assert [line.split("  ", 1)[1].strip() for line in table(DOCUMENT)][:2] == [
        "datetime.date 2, os.stat_result 4, pathlib.Path 5", "-",
    ]  # fmt: skip
    assert summary(DOCUMENT) == "3 goals: 2 with a type (66.7%), 1 without; 12 types"
    assert summary(TargetingAnalysis((), "3.11")) == "0 goals: 0 with a type, 0 without; 0 types"


def test_it_fits_the_terminal():
    lines = list(table(DOCUMENT, 80))
    assert max(map(len, lines)) <= 80
    assert lines[0].split("  ", 1)[1].strip() == "date 2, stat_result 4, Path 5"
    assert lines[2].endswith("module.py:12:then  Type0 0, Type1 1, Type2 2 +6")
    assert list(table(DOCUMENT, 50))[2].endswith("  Type0 0, Type1 1 +7")
    assert list(table(DOCUMENT, 1000)) == list(table(DOCUMENT))


def test_a_name_that_is_too_long_leaves_room_for_how_many_more_there_are():
    types = [("m.Parameterised" * 3, 12), ("m.B", 13)]
    short = {name: name.rpartition(".")[2] for name, _ in types}
    assert nearest(types, short, 15) == "Par…rised 12 +1"
    assert nearest(types[1:], short, 15) == "B 13"
    assert nearest([], short, 15) == "-"


def test_types_of_one_name_are_told_apart_in_little_room():
    rows = [target(LONG, ("a.Order", 1), ("b.Order", 2)), target(LONG, *MANY)]
    types = [Influence("a.Order", 1), Influence("b.Order", 1), *(Influence(*t) for t in MANY)]
    lines = list(
        table(TargetingAnalysis(("m",), "3.11", targets=tuple(rows), types=tuple(types)), 80)
    )
    assert lines[0].endswith("  a.Order 1, b.Order 2")


def test_what_is_not_reached_comes_last_and_is_summed_up_on_a_terminal():
    rows = (
        target("m.py:1:then", ("a.A", 1), reachable=False),
        target("m.py:2:then", ("a.A", 1)),
        target("m.py:3:then", ("a.A", 1), reachable=False, never=True),
    )
    document = TargetingAnalysis(("m",), "3.11", targets=rows, types=(Influence("a.A", 1),))
    assert list(table(document)) == [
        "m.py:2:then  a.A 1",
        "m.py:1:then  (not reachable) a.A 1",
        "m.py:3:then  (never taken, as mypy infers)",
    ]
    assert list(table(document, 80)) == [
        "m.py:2:then  a.A 1",
        "2 goals are not reachable from the target; see --all",
    ]
    one = TargetingAnalysis(("m",), "3.11", targets=rows[:2])
    assert list(table(one, 80))[1].startswith("1 goal is not reachable")


def test_in_full_unless_it_is_for_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(targets, "find_targets", lambda request, progress: DOCUMENT)
    monkeypatch.setenv("COLUMNS", "80")
    campaign = str(SAMPLES / "crate-zest.toml")

    def shown(*arguments):
        assert main(["targets", campaign, *arguments]) == DONE
        return capsys.readouterr().out.splitlines()[:-1]

    assert shown() == list(table(DOCUMENT))
    monkeypatch.setattr(targets, "at_terminal", lambda: True)
    assert shown() == list(table(DOCUMENT, 80))
    assert shown("--all") == list(table(DOCUMENT))


@pytest.mark.slow
def test_of_a_campaign(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    campaign = str(SAMPLES / "crate-zest.toml")
    shown = cli("targets", campaign).out.splitlines()
    document = cli("targets", campaign, "--json").json
    assert len(shown) == len(document["targets"]) + 1
    assert shown[0].startswith(document["targets"][0]["location"])
    assert {"name", "distance"} == {*document["types"][0]} if document["types"] else True


@pytest.mark.parametrize(
    ("campaign", "words"),
    [
        ("crashy-afl.toml", "target.function: missing; goals can only be found in Python"),
        ("nowhere.toml", "there is no such campaign file"),
    ],
)
def test_refused(capsys, campaign, words):
    assert main(["targets", str(SAMPLES / campaign)]) != DONE
    assert words in capsys.readouterr().err


def test_an_include_that_is_not_there(cli):
    arguments = ["targets", str(SAMPLES / "crate-zest.toml"), "--set", 'target.include=["nope"]']
    assert "no Python source of nope" in cli(*arguments, code=USAGE).err


def refused(capsys, *settings):
    """What is said of the sample campaign with other keys."""
    pairs = [word for setting in settings for word in ("--set", setting)]
    assert main(["targets", str(SAMPLES / "crate-zest.toml"), *pairs]) == USAGE
    told = capsys.readouterr()
    assert not told.out
    return told.err


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("nosuch:thing", 'target.function = "nosuch:thing": no module nosuch for'),
        ("tomllib._parser:loods", "_parser.py has no loods; did you mean loads?"),
    ],
)
def test_what_the_sources_have_not_is_refused_without_an_import(
    capsys, monkeypatch, function, words
):
    monkeypatch.setattr(targets, "import_target", lambda *_: pytest.fail("it is imported"))
    said = refused(capsys, f'target.function="{function}"', 'target.include=["tomllib"]')
    assert words in said
    assert f'--set target.function="{function}": ' in said


@pytest.mark.slow
def test_what_only_an_import_tells_is_asked_as_check_does(cli, capsys):
    keys = ['target.function="tomllib.nosuch:thing"', 'target.include=["tomllib"]']
    said = refused(capsys, *keys)
    assert "No module named 'tomllib.nosuch'; package tomllib has: " in said
    pairs = [word for key in keys for word in ("--set", key)]
    assert cli("check", SAMPLES / "crate-zest.toml", *pairs, code=USAGE).err == said
    assert main(["targets", str(SAMPLES / "crate-zest.toml"), "--no-run", *pairs]) == DONE
    assert "target.function: not checked" in capsys.readouterr().err


@pytest.mark.slow
def test_what_the_sources_do_not_tell_of_may_be_there(cli):
    # Compiled, and nothing of it is analysed.
    keys = ['target.function="binascii:unhexlify"', 'target.include=["tomllib"]']
    pairs = [word for key in keys for word in ("--set", key)]
    assert "binascii has no source" in cli("targets", SAMPLES / "crate-zest.toml", *pairs).err

"""Tables that features add to campaign files, above all those of packages, which may be wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fuzztui.cli.run import _changed
from fuzztui.engines.keys import Key, ValueType
from fuzztui.engines.kinds import KINDS, EngineKind
from fuzztui.kernel.base.plugins import PluginError
from fuzztui.kernel.model import feature as features
from fuzztui.kernel.model.feature import Feature
from fuzztui.run.campaign import Campaign, CampaignError, FrozenCampaign
from fuzztui.run.campaign import table as module
from fuzztui.run.campaign.load import load
from fuzztui.run.campaign.model import write_frozen
from fuzztui.run.campaign.schema import tables_for
from fuzztui.run.campaign.table import CampaignTable, feature_tables
from fuzztui.tools.schema.json_schema import document

FILE = """
[target]
function = "tomllib:loads"
[engine]
kind = "zest"
"""
MOST = Key("most", "integer", "How many.", default=100, minimum=1)


@pytest.fixture
def add(monkeypatch) -> Iterator[Any]:
    """``add(table)``: the table of the only feature that a package adds."""
    package = ModuleType("tables_of_a_package")
    monkeypatch.setitem(sys.modules, package.__name__, package)

    def make(table: object) -> None:
        package.TABLE = table  # type: ignore[attr-defined]
        made = Feature("tide", table=f"{package.__name__}:TABLE")
        monkeypatch.setattr(features, "package_features", lambda: (made,))
        feature_tables.cache_clear()

    yield make
    feature_tables.cache_clear()


@pytest.fixture
def read(tmp_path):
    """``read(text, overrides)``: loads a campaign file."""

    def loaded(text: str, *overrides: str) -> FrozenCampaign:
        file = tmp_path / "c.toml"
        file.write_text(FILE + text)
        return load(file, overrides, cwd=tmp_path)

    return loaded


def run_of(loaded: FrozenCampaign) -> Path:
    """A run with the frozen copy."""
    for part in ("supervisor", "log", "out"):
        (loaded.campaign.output / part).mkdir(parents=True)
    write_frozen(loaded, loaded.campaign.output)
    return loaded.campaign.output / "campaign.toml"


def test_its_keys_are_checked_and_frozen(add, read) -> None:
    add(CampaignTable("tide", "tides", [MOST]))
    assert read("").campaign.table("tide") == {}
    loaded = read("[tide]\n", "tide.most=5")
    assert loaded.campaign.table("tide") == {"most": 5}
    frozen = run_of(loaded)
    assert load(frozen).campaign.table("tide") == {"most": 5}
    with pytest.raises(CampaignError, match=r"tide.most: 0 is too small"):
        read("[tide]\nmost = 0")
    with pytest.raises(CampaignError, match=r"unknown key, did you mean \"most\""):
        read("[tide]\nmots = 1")
    with pytest.raises(KeyError):
        loaded.campaign.table("tides")


def test_an_empty_table_is_no_missing_one(add, read) -> None:
    add(CampaignTable("tide", "tides", [MOST]))
    loaded = read("[tide]\n")
    assert loaded.campaign.table("tide") == {"most": 100}
    assert load(run_of(loaded)).campaign.table("tide") == {"most": 100}


class Switch(CampaignTable):
    """For zest alone, without keys."""

    def keys_for(self, kind: EngineKind | None) -> list[Key] | None:
        return [] if kind is KINDS["zest"] else None

    def reason_against(self, kind: str) -> str:
        return f"{kind} has no tides"


def test_a_table_without_keys_for_one_engine(add, read) -> None:
    add(Switch("tide", "tides", []))
    assert read("[tide]\n").campaign.tables["tide"] == {}
    assert read("").campaign.tables["tide"] is None
    with pytest.raises(CampaignError, match="text has no tides"):
        read("[tide]\n", "engine.kind=text")
    assert "tide" not in tables_for("mu2")


def test_a_run_opens_without_the_package(add, read, monkeypatch, tmp_path) -> None:
    add(CampaignTable("tide", "tides", [MOST]))
    frozen = run_of(read("[tide]\n"))
    monkeypatch.setattr(features, "package_features", tuple)
    feature_tables.cache_clear()
    again = load(frozen)
    assert again.frozen["tide"] == {}
    write_frozen(again, tmp_path)
    assert "[tide]" in (tmp_path / "campaign.toml").read_text()
    for wrong in ("campagin.budget=6s", "tide.most=7"):
        with pytest.raises(CampaignError, match="unknown table"):
            load(frozen, [wrong])
    frozen.write_text("foo = 3\n" + frozen.read_text())
    with pytest.raises(CampaignError, match="foo: 3 is not a table"):
        load(frozen)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (object(), "is no CampaignTable"),
        (CampaignTable("oracle", "", [MOST]), r"there is a table \[oracle\] already"),
        (CampaignTable("no.te", "", [MOST]), "'no.te' is no name of a table"),
        (CampaignTable("hosts", "", [MOST]), r"there is a table \[hosts\] already"),
        (CampaignTable("engine", "", [MOST]), r"there is a table \[engine\] already"),
    ],
    ids=["another class", "a feature's", "a dot", "of hosts", "of engines"],
)
def test_a_table_that_cannot_be_one(add, read, table, problem) -> None:
    add(table)
    with pytest.raises(CampaignError, match=f"feature tide: .*{problem}"):
        read("")


class Inventive(CampaignTable):
    def fill_in(self, campaign: Campaign, frozen: dict[str, Any], load: object) -> None:
        frozen["when"] = 5


class Leaving(CampaignTable):
    def fill_in(self, *_: object) -> None:
        raise SystemExit(3)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [(Inventive, "fill_in: ValueError: 'when' is no key"), (Leaving, "fill_in: SystemExit: 3")],
)
def test_what_a_package_must_not_do(add, read, kind, problem) -> None:
    add(kind("tide", "tides", [MOST]))
    with pytest.raises(CampaignError, match=problem):
        read("[tide]\n")


class Raising(CampaignTable):
    def keys_for(self, kind: object) -> Any:
        return self._asked("keys_for")

    def is_implied(self, kind: str) -> Any:
        return self._asked("is_implied")

    def fill_in(self, *_: object) -> Any:
        self._asked("fill_in")

    def problems(self, campaign: Campaign, *, of_run: bool) -> Any:
        self._asked("problems")
        return ()

    def without_effect(self, campaign: Campaign) -> Any:
        self._asked("without_effect")

    def notes(self, *_: object) -> Any:
        self._asked("notes")
        return ()

    def _asked(self, method: str) -> Any:
        if method in self.title:
            raise ZeroDivisionError(method)
        return self.keys if method == "keys_for" else None


@pytest.mark.parametrize("method", ["keys_for", "is_implied", "fill_in", "problems"])
def test_a_method_that_raises_refuses_the_file(add, read, method) -> None:
    add(Raising("tide", method, [MOST]))
    with pytest.raises(CampaignError, match=rf"c.toml: feature tide: \[tide\]: {method}: ZeroD"):
        read("" if method in ("keys_for", "is_implied") else "[tide]\n")


@pytest.mark.parametrize(("method", "more"), [("without_effect", ()), ("notes", ((),))])
def test_a_fault_of_what_only_new_campaigns_are_asked(add, read, method, more) -> None:
    add(Raising("tide", method, [MOST]))
    with pytest.raises(PluginError, match=rf"feature tide: \[tide\]: {method}"):
        next(getattr(module.feature_tables()["tide"], method)(read("[tide]\n").campaign, *more))


def wrong(error: type[Exception]) -> Any:
    def check(*_: object) -> Any:
        raise error("bad value")

    return check


@pytest.mark.parametrize(
    ("type_", "problem"),
    [
        ("nosuchtype", "the key most has the unknown type 'nosuchtype'"),
        ("choice", "the key most has the unknown type 'choice'"),
        (ValueType("a tide", wrong(ZeroDivisionError), {}), "the check of most: ZeroDivisionError"),
        (ValueType("a tide", wrong(ValueError), {}), "tide.most: bad value"),
        (ValueType("a tide", lambda *_: None, {}), "the check of most: TypeError"),
        (ValueType("a tide", lambda *_: (object(), 1), {}), "fill_in: TypeError"),
    ],
    ids=["unknown", "no choices", "raises", "refuses", "returns nothing", "no TOML"],
)
def test_a_type_that_is_wrong(add, read, type_, problem) -> None:
    add(CampaignTable("tide", "tides", [replace(MOST, type=type_, default=None)]))
    with pytest.raises(CampaignError, match=problem):
        read("[tide]\nmost = 3")


def test_a_schema_that_raises_names_the_feature(add) -> None:
    def schema() -> Any:
        raise ZeroDivisionError

    type_ = ValueType("a tide", lambda key, value, base: (value, value), schema)
    add(CampaignTable("tide", "tides", [Key("most", type_, "How many.")]))
    with pytest.raises(PluginError, match=r"feature tide: .*the schema of most"):
        document()


def test_a_file_that_only_the_first_start_reads_may_be_gone(add, read, tmp_path) -> None:
    own = ValueType("a file", lambda key, value, base: (value, Path(value).read_text()), {})
    keys = [Key("plain", "file", "A file.", once=True), Key("own", own, "A file.", once=True)]
    add(CampaignTable("tide", "tides", keys))
    file = tmp_path / "water"
    file.write_text("wet")
    loaded = read(f"[tide]\nplain = 'water'\nown = '{file}'")
    assert loaded.campaign.table("tide") == {"plain": str(file), "own": "wet"}
    frozen = run_of(loaded)
    file.unlink()
    assert load(frozen).campaign.table("tide") == {"plain": str(file), "own": str(file)}


def test_options_of_an_engine_of_another_package(monkeypatch) -> None:
    kind = EngineKind("toy", "toy", options=(Key("depth", "nosuchtype", "How deep."),))
    monkeypatch.setitem(KINDS, "toy", kind)
    with pytest.raises(ValueError, match="unusable: the key depth has the unknown type"):
        tables_for("toy")


def test_keys_that_go_away_are_changes() -> None:
    before = {"oracle": {"message": "x"}, "campaign": {"name": "c"}}
    assert [*_changed(before, {"campaign": {"name": "c"}})] == ["oracle.message (x -> none)"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[mutants]\nlanguage = "c++"\nsources = ["tomllib"]', 'did you mean "cpp"'),
        ('[mutants]\nlanguage = "py"\nsources = ["tomllib"]', 'did you mean "python"'),
    ],
)
def test_other_names_of_languages_are_suggested(read, text, problem) -> None:
    with pytest.raises(CampaignError, match=problem):
        read(text)


OF_SUITE = 'target.function=["tomllib:loads", "tomllib:load"]'
BUDGET = "campaign.budget=10m"
MUTANTS = "[mutants]\nsources = ['tomllib']\nper_mutant = '10s'\n"


@pytest.mark.parametrize(
    ("text", "overrides", "problem"),
    [
        (MUTANTS, [OF_SUITE, BUDGET], "mutants: is for one function"),
        ("[oracle]\nagainst = 'a:b'\n", [OF_SUITE], "oracle.against: is for one function"),
        (
            f"{MUTANTS}cluster = true\n[hosts]\nhere = {{}}\n",
            [BUDGET],
            r"mutants.cluster: contradicts \[hosts\]",
        ),
    ],
    ids=["mutants of a suite", "oracle of a suite", "turns on a cluster and on hosts"],
)
def test_contradictions(read, text, overrides, problem) -> None:
    with pytest.raises(CampaignError, match=problem):
        read(text, *overrides, 'target.include=["tomllib"]')


@pytest.mark.parametrize(("given", "cwd"), [([], "private"), (["target.cwd=."], "target")])
def test_where_mutants_run_by_default(read, given, cwd) -> None:
    assert read(MUTANTS, BUDGET, *given).campaign.table("mutants")["cwd"] == cwd


def test_a_single_value_stands_for_a_list(read) -> None:
    notify = read("[notify]\ncommand = 'true'\non = 'end'\n").campaign.table("notify")
    assert notify["on"] == ["end"]
    text = read("[text]\nwithout = 'delete-line'\n", "engine.kind=text").campaign.table("text")
    assert text["without"] == ["delete-line"]

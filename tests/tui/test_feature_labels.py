"""What screens show of a feature whose package fails."""

from __future__ import annotations

import sys
from math import nan
from pathlib import Path
from types import ModuleType

import pytest

from fuzztui.cli import status as cli_status
from fuzztui.cli.runs import RunStatus
from fuzztui.kernel.base.page import Note, Section, Table
from fuzztui.kernel.base.plugins import PluginError
from fuzztui.kernel.model import stall
from fuzztui.kernel.model.feature import Feature
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.wire.events import Event
from fuzztui.tools.report import engines
from fuzztui.tools.report.engines import sections_of_features
from fuzztui.tools.status import status
from fuzztui.tools.status.metrics import exposition
from fuzztui.tui.base.columns import Column
from fuzztui.tui.frame import feature_screens
from fuzztui.tui.frame.overview_line import OverviewLine
from fuzztui.tui.labels import features as module
from fuzztui.tui.labels.events import base


def boom(*_):
    raise RuntimeError("boom")


class Mute:
    def __str__(self):
        raise RuntimeError("mute")


class Unregistered(Event):
    kind = ""


@pytest.fixture
def feature(monkeypatch):
    """Makes the only feature, whose texts name these functions."""
    functions = ModuleType("functions_of_a_feature")
    monkeypatch.setitem(sys.modules, functions.__name__, functions)

    def make(part, function):
        setattr(functions, part, function)
        made = Feature(
            "tide",
            folds=[EventFold(Unregistered, lambda *_: None)],
            **{part: f"{functions.__name__}:{part}"},
        )
        monkeypatch.setattr(module, "features", lambda: (made,))
        monkeypatch.setattr(base, "package_features", lambda: (made,))
        monkeypatch.setattr(feature_screens, "features", lambda: (made,))
        monkeypatch.setattr(status, "package_features", lambda: (made,))
        monkeypatch.setattr(cli_status, "features", lambda: (made,))
        monkeypatch.setattr(stall, "features", lambda: (made,))
        monkeypatch.setattr(engines, "features", lambda: (made,))
        base._texts_of_features.cache_clear()

    yield make
    base._texts_of_features.cache_clear()


@pytest.mark.parametrize("cell", [boom, lambda _: "text", lambda _: None])
def test_a_cell_that_fails_is_marked(feature, cell):
    feature("columns", lambda state: [Column("tide", "tide", cell, boom)])
    (column,) = module.feature_columns(State)
    assert column.cell(Instance("main"))[1] == "failed"
    assert column.sort(Instance("main")) < (1, 0)


def test_a_column_of_numbers_and_texts_is_sorted_and_filtered(feature):
    keys = {"a": 3, "b": "", "c": 1.5}
    columns = [Column("tide", "tide", lambda i: (i.id, ""), lambda i: keys[i.id], "right")]
    feature("columns", lambda state: columns)
    (column,) = module.feature_columns(State)
    rows = sorted(map(Instance, "abcd"), key=column.sort)
    assert [i.id for i in rows] == ["d", "c", "a", "b"]
    assert [column.number(i) for i in rows] == [-1.0, 1.5, 3.0, -1.0]


@pytest.mark.parametrize("columns", [boom, lambda: [], lambda state: None, lambda state: ["tide"]])
def test_columns_that_fail_name_the_feature(feature, columns):
    feature("columns", columns)
    with pytest.raises(PluginError, match="feature tide: functions_of_a_feature:columns: "):
        list(module.feature_columns(State))


@pytest.mark.parametrize("facts", [boom, lambda *_: None, lambda *_: ["high"]])
def test_facts_that_fail_are_a_fact(feature, facts):
    feature("facts", facts)
    (found,) = module.feature_facts(Instance("main"), State())
    assert found.spans[0].text.startswith("feature tide: ")


@pytest.mark.parametrize("texts", [boom, dict, lambda: {Unregistered: boom}, lambda: 3])
def test_an_event_without_a_usable_text_is_shown_by_its_kind(feature, texts):
    feature("texts", texts)
    assert base.describe(Unregistered()).label == ""
    assert "boom" in base.describe(Unregistered()).text or texts is not boom


@pytest.mark.parametrize("text", ["high", base.Described("high", None)])
def test_a_text_of_another_kind_is_no_error(feature, text):
    feature("texts", lambda: {Unregistered: lambda e: text})
    described = base.describe(Unregistered())
    assert type(described.label) is type(described.text) is str


class BrokenLine(OverviewLine):
    content = boom


@pytest.mark.parametrize("lines", [boom, lambda: None, lambda: ["notes 3"], lambda: [BrokenLine()]])
def test_a_line_of_the_overview_that_fails_is_an_error_in_its_place(feature, lines):
    feature("overview", lines)
    (line,) = feature_screens.overview_lines()
    ((span,),) = line.lines_for(80)
    assert span.style == "failed" and "Error: " in span.text


@pytest.mark.parametrize("figures", [boom, lambda _: 3, lambda _: {"n": {1}}, lambda _: {"n": nan}])
def test_figures_that_fail_are_an_error_in_their_place(feature, figures):
    feature("figures", figures)
    (error,) = status.status_dict(State())["features"]["tide"].values()
    assert error.startswith("feature tide: functions_of_a_feature:figures: ")


@pytest.mark.parametrize(
    "rows", [boom, lambda *_: 3, lambda *_: ["ab"], lambda *_: [("a",)], lambda *_: [("a", Mute())]]
)
def test_rows_of_status_that_fail_are_an_error_in_their_place(feature, rows):
    feature("rows", rows)
    state = State(name="c")
    found = dict(cli_status.status_rows_of(Path("/run"), RunStatus(state, 1)))
    assert "Error: " in found["tide"]


def test_rows_of_status_are_texts(feature):
    feature("rows", lambda state, run: [("level", 3), ("run", run.name)])
    found = cli_status.status_rows_of(Path("/r"), RunStatus(State(name="c"), 1))
    assert ("level", "3") in found and ("run", "r") in found


SECTIONS = [
    boom, lambda _: 3, lambda _: [Section("a", "b")], lambda _: [Section("a", None)],
    lambda _: [Section("a", [Note(5)])], lambda _: [Section(3, [Note("a")])],
    lambda _: [Section("a", [Table(("a", "b"), [(1, 2)])])],
]  # fmt: skip


@pytest.mark.parametrize("report", SECTIONS)
def test_sections_of_reports_that_fail_are_an_error_in_their_place(feature, report):
    feature("report", report)
    (section,) = sections_of_features(State(name="c"))
    assert section.title == "tide" and section.parts[0].is_warning


@pytest.mark.parametrize("advice", [boom, lambda _: 3, lambda _: [3], lambda _: "wait"])
def test_an_advice_that_fails_is_an_error_in_its_place(feature, advice):
    feature("advice", advice)
    assert "Error: " in stall.advice(State(name="c"))


def test_an_advice_of_a_feature(feature):
    feature("advice", lambda state: iter([stall.Advice("wait for the tide")]))
    assert stall.advice(State(name="c")) == "wait for the tide"


def test_numbers_among_the_figures_are_metrics(feature):
    feature("figures", lambda _: {"level": 3, "name": "low", "ebb": True, "n": 10**400})
    of = {**status.status_dict(State(name="c")), "run": "r"}
    lines = exposition([of]).splitlines()
    assert [line for line in lines if line.startswith("fuzztui_feature_figure")] == [
        'fuzztui_feature_figure{campaign="c",run="r",feature="tide",figure="level"} 3'
    ]

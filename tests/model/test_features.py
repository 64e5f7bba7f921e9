"""Features: what a package may add, and what becomes of a package with mistakes."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from fuzztui.kernel.base.plugins import PluginError, installed
from fuzztui.kernel.model import feature as module
from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.feature import Feature, features
from fuzztui.kernel.model.fold import _folds
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.state import State, StatePart
from fuzztui.kernel.model.undo import permanent
from fuzztui.kernel.wire.codec import check_shapes
from fuzztui.kernel.wire.commands import Command, Pause
from fuzztui.kernel.wire.events import Event, Message

pytestmark = pytest.mark.usefixtures("registries_as_before")


@dataclass(slots=True)
class Empty(StatePart):
    pass


@dataclass(slots=True)
class OfRows(StatePart):
    rows: dict[str, Message] = field(default_factory=dict)


@dataclass(slots=True)
class OfSets(StatePart):
    rows: dict[str, set[str]] = field(default_factory=dict)


@dataclass(slots=True)
class Plain(StatePart):
    number: int = 0
    rows: dict[str, list[float]] = field(default_factory=dict)
    data: list[dict[str, Any]] = field(default_factory=list)


@pytest.mark.parametrize("part", [Empty, OfRows, OfSets])
def test_a_part_that_no_checkpoint_can_contain_is_refused(part):
    with pytest.raises(TypeError, match=part.__name__):
        Feature("x", part=part)


def test_a_part_is_made_when_it_is_first_read():
    assert Feature("x", part=Plain).part is Plain
    state = State()
    state.part(Plain).number = 3
    assert state.part(Plain) == Plain(3)


def test_two_features_of_one_name_are_refused(monkeypatch):
    monkeypatch.setattr(module, "installed", lambda *_: [Feature("notify")])
    with pytest.raises(PluginError, match="same name"):
        features.__wrapped__()


@pytest.mark.parametrize(("name", "annotation"), [("t", "float"), ("c", "str"), ("x", "set[str]")])
def test_a_field_that_cannot_be_on_the_wire_is_refused(name, annotation):
    made = type("Tide", (Event,), {"kind": "tide", "__annotations__": {name: annotation}})
    dataclass(frozen=True)(made)
    with pytest.raises(TypeError, match=rf"Tide\.{name}: a field has another name than"):
        check_shapes()


def test_an_event_that_a_feature_cannot_fold_counts_as_unknown():
    def fold(state, event, touched):
        raise KeyError(event.text)

    guarded = next(_folds(Feature("x", folds=[EventFold(Message, fold, fold, fold)])))
    state = State()
    guarded.apply(state, Message("info", "x"), ChangesBuilder())
    assert state.unknown == {"message": 1}
    assert guarded.is_news(state, Message("info", "x"))
    assert guarded.rows is not None and len(guarded.rows(Message("info", "x"))) == 0


def test_a_command_of_a_package_without_undo_is_passed_over(monkeypatch):
    @dataclass(frozen=True, slots=True)
    class Ebb(Command):
        name: ClassVar[str] = "ebb"

    assert (permanent(Pause()), permanent(None)) == ("", "")
    assert "no undo" in permanent(Ebb())
    undoing = Feature("x", undo={Ebb: lambda command, before, now: []})
    monkeypatch.setattr("fuzztui.kernel.model.undo.features", lambda: (undoing,))
    assert permanent(Ebb()) == ""


def test_a_package_in_an_archive_is_found(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as file:
        file.writestr("packed_plugin.py", "ONE = 1\n")
        file.writestr("packed-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: packed\n")
        file.writestr("packed-1.dist-info/entry_points.txt", "[a.group]\none = packed_plugin:ONE\n")
    assert installed("a.group", int) == []
    monkeypatch.syspath_prepend(tmp_path / "packed.zip")
    assert installed("a.group", int) == [1]
    with pytest.raises(PluginError, match=r"a\.group: one of packed is no str: packed_plugin:ONE"):
        installed("a.group", str)


@pytest.mark.parametrize(
    "text", ["no_such_module:X", "fuzztui.kernel.model.feature:no_such", "nonsense"]
)
def test_a_text_that_names_nothing_is_an_error_that_names_the_feature(text):
    with pytest.raises(PluginError, match=f"feature x: {text} cannot be imported"):
        Feature("x").load(text)

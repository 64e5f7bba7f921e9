"""Features: what a package may add, and what becomes of a package with mistakes."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from fuzztui.kernel.base.plugins import PluginError, installed
from fuzztui.kernel.model import checkpoint
from fuzztui.kernel.model import feature as module
from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.feature import Feature, package_features
from fuzztui.kernel.model.fold import _folds
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.inverses import UndoError, inverse
from fuzztui.kernel.model.state import State, StatePart
from fuzztui.kernel.model.undo import permanent
from fuzztui.kernel.wire.codec import check_shapes, decode_event, encode_event
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


@pytest.mark.parametrize("wrong", [{"folds": {Message: print}}, {"folds": [(Message, print)]}])
def test_folds_of_another_kind_are_refused(wrong):
    with pytest.raises(TypeError, match=r"feature 'x': .* EventFolds"):
        Feature("x", **wrong)


def test_a_part_is_made_when_it_is_first_read():
    assert Feature("x", part=Plain).part is Plain
    state = State()
    state.part(Plain).number = 3
    assert state.part(Plain) == Plain(3)


def test_two_features_of_one_name_are_refused(monkeypatch):
    monkeypatch.setattr(module, "installed", lambda *_: [Feature("notify")])
    with pytest.raises(PluginError, match="two features have the name notify"):
        package_features.__wrapped__()


@pytest.mark.parametrize(
    ("name", "annotation"), [("t", "float"), ("c", "str"), ("x", "set[str]"), ("x", set[str])]
)
def test_a_field_that_cannot_be_on_the_wire_is_refused(name, annotation):
    made = type("Tide", (Event,), {"kind": "tide", "__annotations__": {name: annotation}})
    dataclass(frozen=True)(made)
    with pytest.raises(
        TypeError, match=rf"Tide\.{name}: (no field is named|set\[str\] is not possible)"
    ):
        check_shapes()


def test_annotations_may_be_evaluated():
    rows = {"n": int, "names": list[str], "data": dict[str, Any]}
    made = type("Neap", (Event,), {"kind": "neap", "__annotations__": rows})
    neap = dataclass(frozen=True)(made)
    check_shapes()
    line = encode_event(neap(1, ["a"], {"b": 2}))
    assert decode_event(line) == neap(1, ["a"], {"b": 2})


def test_an_event_that_a_feature_cannot_fold_counts_as_unknown():
    def fold(state, event, touched):
        raise KeyError(event.text)

    guarded = next(_folds(Feature("x", folds=[EventFold(Message, fold, fold, fold)])))
    state = State()
    guarded.apply(state, Message("info", "x"), ChangesBuilder())
    assert state.unknown == {"message (KeyError in its fold)": 1}
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


def boom(*_):
    raise RuntimeError("boom")


def test_a_command_whose_package_fails_is_invalid():
    @dataclass(frozen=True, slots=True)
    class Flow(Command):
        name: ClassVar[str] = "flow"
        problem = summary = subject = affects = property(boom)

    assert Flow().problem == "its package failed: RuntimeError: boom"
    assert (Flow().summary, Flow().subject, Flow().affects) == ("flow", "", "")


@pytest.mark.parametrize("undo", [boom, lambda *_: None, lambda *_: ["x"]])
def test_an_undo_that_fails_names_its_feature(undo, monkeypatch):
    @dataclass(frozen=True, slots=True)
    class Surge(Command):
        name: ClassVar[str] = "surge"

    monkeypatch.setattr(
        "fuzztui.kernel.model.inverses.features", lambda: (Feature("x", undo={Surge: undo}),)
    )
    with pytest.raises(UndoError, match="feature x: its undo failed"):
        inverse(Surge(), State(), State())


def test_a_part_with_what_json_does_not_have_is_named(monkeypatch):
    monkeypatch.setattr(checkpoint, "_PARTS", {"x": Plain})
    monkeypatch.setitem(checkpoint._TYPES, Plain, {"number": "int", "rows": "", "data": ""})
    state = State()
    assert checkpoint.unstorable(state) == ""
    state.part(Plain).rows["a"] = {1}
    assert "feature x keeps what no checkpoint can contain" in checkpoint.unstorable(state)


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

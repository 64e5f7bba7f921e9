"""Fields: attributes with which objects are made, as types of their own."""

import pytest
from targets_lab import Laboratory, types_at

SHOP = """
    from __future__ import annotations
    import datetime
    from dataclasses import dataclass
    from enum import Enum
    from pathlib import Path
    from typing import NamedTuple
    from pydantic import BaseModel

    class Kind(Enum):
        GIFT = 1
        PARCEL = 2

    @dataclass
    class Line:
        text: str

    @dataclass
    class Order:
        title: str
        count: int | None
        tags: list[str]
        lines: list[Line]
        day: datetime.date
        kind: Kind
        where: Path
        total = 3

        @property
        def brief(self) -> str:
            return self.title[:3]

        def is_long(self) -> bool:
            return len(self.tags) > 3

    class Express(Order):
        pass

    class Plain:
        def __init__(self, title: str, size, *more: str) -> None:
            self.title, self.size, self.more = title, size, more
            self.state = "new"

    class Fault(Exception):
        def __init__(self, code: int) -> None:
            self.code = code

    class Pair(NamedTuple):
        left: int
        right: str

    class Model(BaseModel):
        name: str

    def title_of(order: Order) -> str:
        return order.title

"""

CONDITIONS = {
    "text": ("o: Order", "o.title.startswith('X')", {"app.Order.title": 1, "app.Order": 2}),
    "optional": ("o: Order", "o.count", {"app.Order.count": 0, "app.Order": 1}),
    "container": ("o: Order", "len(o.tags) > 3", {"app.Order.tags": 1, "app.Order": 2}),
    "class": ("o: Order", "o.lines", {"app.Line": 0, "app.Order": 1}),
    "inner": (
        "o: Order", "o.lines[0].text",
        {"app.Line.text": 0, "app.Line": 1, "app.Order": 3},
    ),
    "date": ("o: Order", "o.day.year > 3", {"datetime.date": 1, "app.Order": 2}),
    "enum": (
        "o: Order", "o.kind is Kind.GIFT",
        {"app.Kind": 0, "app.Order.kind": 0, "app.Order": 1},
    ),
    "path": ("o: Order", "o.where.name", {"pathlib.Path": 1, "app.Order": 2}),
    "constant": ("o: Order", "o.total", {"app.Order": 1}),
    "property": ("o: Order", "o.brief", {"app.Order.title": 2, "app.Order": 1}),
    "method": ("o: Order", "o.is_long()", {"app.Order.tags": 3, "app.Order": 4}),
    "helper": ("o: Order", "title_of(o)", {"app.Order.title": 1, "app.Order": 2}),
    "derived": ("o: Express", "o.title", {"app.Express.title": 0, "app.Express": 1}),
    "either": (
        "o: Order | Plain", "o.title",
        {"app.Order.title": 0, "app.Plain.title": 0, "app.Order": 1, "app.Plain": 1},
    ),
    "init": ("o: Plain", "o.title", {"app.Plain.title": 0, "app.Plain": 1}),
    "no annotation": ("o: Plain", "o.size", {"app.Plain.size": 0, "app.Plain": 1}),
    "rest": ("o: Plain", "o.more", {"app.Plain": 1}),
    "state": ("o: Plain", "o.state", {"app.Plain": 1}),
    "exception": ("o: Fault", "o.args or o.code", {"app.Fault.code": 0, "app.Fault": 1}),
    "tuple": ("o: Pair", "o.right", {"app.Pair.right": 0, "app.Pair": 1}),
    "model": ("o: Model", "o.name", {"app.Model.name": 0, "app.Model": 1}),
    "library": ("o: Path", "o.name", {"pathlib.Path": 1}),
    "builtin": ("o: OSError", "o.args", {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def document(tmp_path_factory, kept):
    """One analysis of all conditions, for all tests: mypy reads pydantic."""
    lab = Laboratory(tmp_path_factory.mktemp("fields"), kept)
    text = SHOP
    for number, (parameter, condition, _) in enumerate(CONDITIONS.values()):
        text += f"    def entry{number}({parameter}):\n        if {condition}: pass\n"
    return lab.study(text, "app:entry0")


@pytest.mark.slow
@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_depend_on_fields(document, name):
    number = list(CONDITIONS).index(name)
    goals = [t for t in document.targets if t.function == f"entry{number}" and t.branch == "then"]
    assert types_at(document, goals[0].location) == CONDITIONS[name][2]


def test_fields_follow_variables_and_constructors(lab):
    document = lab.study("""
        from dataclasses import dataclass

        @dataclass
        class Order:
            title: str
            note: str

        @dataclass
        class View:
            text: str

        def entry(order: Order):
            shown = order.title.strip()
            view = View(text=order.note)
            if shown > "x":
                pass
            if view.text:
                pass
    """)
    assert types_at(document, "app.py:15:then") == {"app.Order.title": 1, "app.Order": 2}
    assert types_at(document, "app.py:17:then") == {
        "app.View.text": 0, "app.View": 1, "app.Order.note": 2, "app.Order": 3,
    }  # fmt: skip

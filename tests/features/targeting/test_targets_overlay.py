"""Types of parameters that have no annotation."""

import ast
import json

from targets_lab import types_at

from fuzztui.features.targeting.analysis.overlay import annotate, returned_type

UNTYPED = """
    def entry(order, *, late=False): return 1 if order.when.year > 2008 else 2

    class Shop:
        def sell(self, thing):
            if thing.year:
                return 1
"""


def test_the_generators_annotation(lab):
    lab.write(
        made="""
            from __future__ import annotations
            import datetime as dt

            class Order:
                when: dt.datetime

            def generate(r) -> Order | None:
                return Order()
        """
    )
    document = lab.study(UNTYPED, generator="made:generate")
    assert types_at(document, "app.py:1:then") == {"datetime.datetime": 1, "made.Order": 2}
    (note,) = document.notes
    assert note.startswith("2 of 4 goals have no influencing type: 2 are in functions")


def test_nothing_tells_what_the_input_is(lab):
    first, *_ = lab.study(UNTYPED).notes
    assert first == (
        "the type of the input is unknown; annotate order of app.entry, or the generator's return"
        " type"
    )


def test_observed_types(lab):
    seen = lab.directory / "seen.json"
    seen.write_text(json.dumps({
        "app.entry": {"order": ["unknown.Order"]},
        "app.Shop.sell": {"thing": ["datetime.date", "datetime.datetime"]},
    }))  # fmt: skip
    document = lab.study(UNTYPED, observed=str(seen))
    # What mypy cannot find is known by its name.
    assert types_at(document, "app.py:1:then") == {"unknown.Order": 2}
    assert types_at(document, "app.py:5:then") == {"datetime.date": 1, "datetime.datetime": 1}


def test_classes_within_classes(lab):
    seen = lab.directory / "seen.json"
    seen.write_text(json.dumps({"app.entry": {"order": ["app.Shop.Order"]}}))
    document = lab.study(
        """
            import datetime

            class Shop:
                class Order:
                    when: datetime.date

            def entry(order):
                return 1 if order.when.year > 2008 else 2
        """,
        observed=str(seen),
    )
    types = {
        name: n for t in document.targets for name, n in types_at(document, t.location).items()
    }
    assert types == {"datetime.date": 1, "app.Shop.Order": 2}


def test_classes_within_classes_of_other_modules():
    text = "def f(a): pass"
    known = {"f": {"a": "pkg.made.Shop.Order | other.Thing"}}
    made = annotate("app", text, ast.parse(text), known, {"app", "pkg.made", "pkg"}).text
    assert made.splitlines() == [
        "def f(a: '_fuzztui_0.Shop.Order | _fuzztui_1.Thing'): pass",
        "import pkg.made as _fuzztui_0",
        "import other as _fuzztui_1",
    ]


def test_places_move_there_and_back():
    text = "def f(a, é=1, *b): return a\r\n"
    tree = ast.parse(text)
    overlay = annotate("own", text, tree, {"f": {"a": "m.A", "é": "list[m.n.B]", "b": "int"}})
    assert overlay.text.splitlines() == [
        "def f(a: '_fuzztui_0.A', é: 'list[_fuzztui_1.B]'=1, *b: 'int'): return a", "",
        "import m as _fuzztui_0", "import m.n as _fuzztui_1",
    ]  # fmt: skip
    moved = next(n for n in ast.walk(ast.parse(overlay.text)) if isinstance(n, ast.Return)).value
    place = (moved.lineno, moved.col_offset, moved.end_lineno, moved.end_col_offset)
    returned = tree.body[0].body[0].value
    assert overlay.back({place: 1}) == {(1, returned.col_offset, 1, returned.end_col_offset): 1}


def test_what_a_generator_returns():
    tree = ast.parse(
        "from datetime import date as day\nfrom ..up import U\nclass C: pass\n"
        "def f() -> 'dict[str, day] | C': ...\nasync def g() -> U: ...\ndef h(): ..."
    )
    assert returned_type(tree, "a.b.c", "f") == "dict[str, datetime.date] | a.b.c.C"
    assert returned_type(tree, "a.b.c", "g") == "a.up.U"
    assert returned_type(tree, "a.b.c", "h") == ""

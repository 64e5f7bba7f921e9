"""Operators, indices, loops and ``with`` call methods of the application."""

import textwrap

import pytest
from targets_lab import types_at

CLASSES = """
    from __future__ import annotations

    class Inner:
        size: int

    class Thing:
        inner: Inner
        def __add__(self, other: Thing) -> int: return self.inner.size + 1
        def __radd__(self, other: int) -> int: return self.inner.size + other
        def __iadd__(self, other: int) -> Thing: return Thing() if self.inner.size else self
        def __neg__(self) -> int: return self.inner.size
        def __eq__(self, other: object) -> bool: return self.inner.size == 3
        def __lt__(self, other: Thing) -> bool: return self.inner.size < 3
        def __contains__(self, item: object) -> bool: return self.inner.size == 7
        def __getitem__(self, at: int) -> int: return self.inner.size
        def __len__(self) -> int: return self.inner.size
        def __enter__(self) -> int: return self.inner.size
        def __exit__(self, *error: object) -> None: pass

    class More(Thing): pass

    class Steps:
        def __init__(self, inner: Inner) -> None: self.inner = inner
        def __iter__(self) -> Steps: return self
        def __next__(self) -> int:
            if self.inner.size: raise StopIteration
            return self.inner.size

    class Made:
        inner: Inner
        def __iter__(self):
            yield self.inner.size
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "def entry(a: Thing, b: Thing):\n    if a + b: pass",
        "def entry(a: Thing, b: Thing):\n    if 1 + b: pass",
        "def entry(a: Thing):\n    a += 1\n    if a: pass",
        "def entry(a: Thing):\n    if -a: pass",
        "def entry(a: Thing, b: int):\n    if a == b: pass",
        "def entry(a: Thing, b: int):\n    if b == a: pass",
        "def entry(a: Thing, b: int):\n    if a != b: pass",
        "def entry(a: Thing, b: Thing):\n    if a < b: pass",
        "def entry(a: Thing, b: Thing):\n    if a > b: pass",
        "def entry(a: Thing, b: int):\n    if b in a: pass",
        "def entry(a: Thing):\n    if a[0] > 3: pass",
        "def entry(a: Thing):\n    if a: pass",
        "def entry(a: Thing):\n    if not a: pass",
        "def entry(a: Thing):\n    if len(a): pass",
        "def entry(a: Thing):\n    with a as size:\n        if size: pass",
        "def entry(a: More | None):\n    if a == 3: pass",
        "def entry(a: Steps):\n    for x in a: pass",
        "def entry(a: Steps):\n    return [x for x in a if x]",
        "def entry(a: Made):\n    for x in a:\n        if x: pass",
        "def entry(a: list[Made]):\n    for x in a:\n        for y in x:\n            if y: pass",
    ],
)
def test_methods_without_a_name_are_followed(lab, body):
    document = lab.study(textwrap.dedent(CLASSES) + body + "\n")
    types = [t for t in document.targets if t.function == "entry"][-1].types
    assert "app.Inner" in {t.name for t in types}


def test_one_step_as_a_call_has(lab):
    text = textwrap.dedent(CLASSES) + "def entry(a: Thing):\n    if {}: pass\n"
    by_name = lab.study(text.format("a.__getitem__(0)")).targets[-1]
    by_index = lab.study(text.format("a[0]")).targets[-1]
    assert [t for t in by_index.types if t.name == "app.Inner"] == [
        t for t in by_name.types if t.name == "app.Inner"
    ]


def test_what_is_stored_by_a_method(lab):
    document = lab.study("""
        class Inner:
            size: int
        class Seen:
            last: int
        class Box:
            seen: Seen
            def __setitem__(self, at: int, value: int): self.seen.last = value
        def entry(inner: Inner, box: Box, seen: Seen):
            box[1] = inner.size
            if seen.last: pass
    """)
    assert "app.Inner" in types_at(document, document.targets[-1].location)


def test_elements_have_their_own_methods(lab):
    text = textwrap.dedent(CLASSES) + "def entry(a: list[Thing], b: int):\n    if b in a: pass\n"
    assert "app.Inner" not in {t.name for t in lab.study(text).targets[-1].types}


def test_what_has_no_body_is_as_unknown_as_a_librarys(lab):
    document = lab.study("""
        from typing import Protocol
        class Key: pass
        class Store(Protocol):
            def get(self, key: Key) -> bytes:
                \"\"\"What is kept there.\"\"\"
                ...
        def entry(store: Store, key: Key):
            try:
                got = store.get(key)
            except KeyError as e:
                if e.args:
                    return 1
    """)
    handler, inside, *_ = [t for t in document.targets if t.branch in ("except", "then")]
    assert {t.name: t.distance for t in handler.types} == {"app.Key": 1, "app.Store": 1}
    assert {t.name for t in inside.types} == {"app.Key", "app.Store"}


@pytest.mark.slow
def test_the_source_of_choices_is_no_type(lab):
    document = lab.study(
        """
        from fuzztui.generators import Png, Source
        class Order:
            size: int
        def generate(r: Source) -> Order:
            if r.boolean(): return Order()
            return Order()
        def entry(order: Order, png: Png):
            if order.size and png: pass
        """,
        generator="app:generate",
    )
    names = {t.name for t in document.types}
    assert "app.Order" in names
    assert not any("Source" in name for name in names)
    assert any(name.startswith("fuzztui.") and name.endswith(".Png") for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["generators", "aws"])
def test_what_ready_generators_make_has_one_name(lab, where):
    text = f"""
        from fuzztui.generators import Item
        from fuzztui.{where} import World
        from fuzztui.generators import gen_item as generate
        def entry({{}}):
            if world: pass
            if item: return 1
        """
    names = {
        t.name
        for annotations in ("world: World, item: Item", "world: 'World', item: 'Item | None'")
        for t in lab.study(text.format(annotations)).types
    }
    assert names == {
        "fuzztui.engines.generators.aws.Item",
        "fuzztui.engines.generators.aws.World",
        "fuzztui.engines.generators.aws.S3Object",  # which a world holds
    }


def test_a_class_for_another_python_is_left_out(lab):
    document = lab.study("""
        import sys
        if sys.version_info < (3, 0):
            class Order(Exception):
                size = 1
        else:
            class Order(Exception):
                size = 2
        def entry(order: Order):
            if order.size: pass
    """)
    assert "app.Order" in {t.name for t in document.types}

"""Which types influence which branches."""

import textwrap

import pytest
from targets_lab import THUMBS, types_at


def test_section_two_of_the_paper(lab):
    document = lab.study(THUMBS)  # Fig. 7: the date is nearest, then what it is read from
    expected = {"datetime.datetime": 2, "os.stat_result": 4, "pathlib.Path": 5}
    assert types_at(document, "app.py:18:then") == expected
    assert types_at(document, "app.py:18:else") == expected
    assert types_at(document, "app.py:17:loop") == {"pathlib.Path": 0}
    assert [(c.value, c.context, c.at) for c in document.constants] == [(2008, "=", "app.py:6")]
    # Both targets have as many types; that of the loop has fewer.
    assert {t.name: t.distance for t in document.types} == expected
    assert document.notes == ()


CLASSES = """
    from __future__ import annotations
    from dataclasses import dataclass

    class A:
        def ok(self) -> bool: ...
        size: int
    class B:
        size: int
    class C:
        size: int
"""


FLOWS = {
    "attribute": ("def entry(a: A):\n    if a.size: pass", {"app.A": 1}),
    "arithmetic": (
        "def entry(a: A, b: B):\n    x = a.size + b.size\n    if x > 3: pass",
        {"app.A": 2, "app.B": 2},
    ),
    "elements": ("def entry(xs: dict[str, A | None]):\n    if xs: pass", {"app.A": 0}),
    "loop": ("def entry(a: A):\n    for x in a.size, 1:\n        if x: pass", {"app.A": 3}),
    "unpacking": ("def entry(a: A):\n    x, (y, z) = 1, (a.size, 2)\n    if y: pass", {"app.A": 1}),
    "with": (
        "def entry(a: A):\n    with open(str(a.size)) as f:\n        if f.read(): pass",
        {"app.A": 4, "_io.TextIOWrapper": 1, "_io._WrappedBuffer": 1},
    ),
    "walrus": ("def entry(a: A):\n    if (n := a.size) and n > 1: pass", {"app.A": 1}),
    "global": (
        "X = 0\ndef entry(a: A):\n    global X\n    X = a.size\n    if X: pass",
        {"app.A": 1},
    ),
    "closure": (
        "def entry(a: A):\n    def inner():\n        return a.size\n    if inner(): pass",
        {"app.A": 2},
    ),
    "lambda": (
        "def entry(a: A):\n    f = lambda x: x + 1\n    y = list(map(lambda v: v, [a.size]))\n"
        "    if y: pass",
        {"app.A": 4},
    ),
    "generator": (
        "def gen(a: A):\n    yield a.size\ndef entry(a: A):\n"
        "    for x in gen(a):\n        if x: pass",
        {"app.A": 3},
    ),
    "async": (
        "async def get(a: A):\n    return a.size\nasync def entry(a: A):\n"
        "    if await get(a): pass",
        {"app.A": 2},
    ),
    "recursion": (
        "def down(a: A, n: int) -> int:\n    return down(a, n - 1) if n else a.size\n"
        "def entry(a: A):\n    if down(a, 3): pass",
        {"app.A": 2},
    ),
    "stars": (
        "def pick(*args, **kw):\n    return args[0] + kw['b']\ndef entry(a: A, b: B):\n"
        "    if pick(a.size, b=b.size): pass",
        {"app.A": 5, "app.B": 5},
    ),
    "property": (
        "class H:\n    def __init__(self, a: A) -> None:\n        self.n = a.size\n"
        "    @property\n    def twice(self) -> int:\n        return self.n * 2\n"
        "def entry(a: A):\n    h = H(a)\n    if h.twice: pass",
        {"app.H": 1, "app.A": 2},
    ),
    "dataclass": (
        "@dataclass\nclass D:\n    n: int\n    m: int\ndef entry(a: A, b: B):\n"
        "    d = D(a.size, b.size)\n    if d.m: pass",
        {"app.D.m": 0, "app.D": 1, "app.A": 3, "app.B": 3},
    ),
    "override": (
        "class S(A):\n    def ok(self) -> bool:\n        return self.size > 2\n"
        "def entry(a: A, b: B):\n    if a.ok(): pass",
        {"app.S": 3, "app.A": 4},
    ),
    "isinstance": (
        "def entry(a: object):\n    if isinstance(a, (B, C)): pass",
        {"app.B": 1, "app.C": 1},
    ),
    "append": (
        "def entry(a: A):\n    xs = []\n    xs.append(a.size)\n    if xs: pass",
        {"app.A": 2},
    ),
    "item": (
        "def entry(a: A):\n    d = {}\n    d['k'] = a.size\n    if d.get('k'): pass",
        {"app.A": 3},
    ),
    "comprehension": (
        "def entry(a: A, b: B):\n    xs = [b.size for x in range(a.size)]\n    if xs: pass",
        {"app.A": 3, "app.B": 2},
    ),
    "raise": (
        "def f(a: A, b: B):\n    if a.size: raise ValueError(b)\ndef entry(a: A, b: B):\n"
        "    try:\n        f(a, b)\n    except ValueError: pass",
        {"app.A": 3},
    ),
}
"""A body, and the types that its last decision depends on, with their distances."""


@pytest.mark.slow
@pytest.mark.parametrize(("body", "types"), FLOWS.values(), ids=FLOWS)
def test_values_are_followed(lab, body, types):
    document = lab.study(textwrap.dedent(CLASSES) + body + "\n")
    last = [t for t in document.targets if t.function == "entry"][-1]
    assert {t.name: t.distance for t in last.types} == types


@pytest.mark.slow
def test_what_is_returned_depends_on_the_conditions_around(lab):
    text = textwrap.dedent(CLASSES) + textwrap.dedent("""
        def is_large(a: A, b: B, c: C) -> bool:
            if a.size:
                return False
            if c.size:
                print(c)
            return True

        def entry(a: A, b: B, c: C):
            if is_large(a, b, c):
                pass
    """)
    document = lab.study(text)
    last = document.targets[-1]
    assert [(t.name, t.distance) for t in last.types] == [("app.A", 3)]


def test_a_helper_does_not_tie_its_callers_together(lab):
    text = textwrap.dedent(CLASSES) + textwrap.dedent("""
        def half(n: int) -> int:
            return n // 2

        def entry(a: A, b: B):
            if half(a.size):
                pass
            if half(b.size):
                pass
    """)
    one, _, other, _ = lab.study(text).targets
    assert [t.name for t in one.types] == ["app.A"]
    assert [t.name for t in other.types] == ["app.B"]


def test_match(lab):
    text = textwrap.dedent(CLASSES) + textwrap.dedent("""
        def entry(a: object):
            match a:
                case B(size=n) if n:
                    pass
                case [C(), *rest]:
                    pass
    """)
    assert [t.branch for t in lab.study(text).targets] == ["no-case", "case", "case"]
    assert {t.name for t in lab.study(text).targets[0].types} == {"app.B", "app.C"}


def test_types_of_other_modules_and_untyped_libraries(lab):
    lab.write({
        "pack/__init__.py": "",
        "pack/kinds.py": "class K:\n    size = 0\n",
        "pack/app.py": """
            import nowhere
            from .kinds import K
            from . import kinds

            LIMIT = kinds.K()

            def entry(k: K, u: nowhere.Unknown):
                if nowhere.size(k):
                    pass
                if u.size():
                    pass
        """,
    })  # fmt: skip
    document = lab.study(function="pack.app:entry")
    assert [m.name for m in document.modules] == ["pack", "pack.app", "pack.kinds"]
    assert types_at(document, "pack/app.py:8:then") == {"pack.kinds.K": 1}
    assert types_at(document, "pack/app.py:10:then") == {"nowhere.Unknown": 1}


def test_what_is_made_up_stands_for_its_parts(lab):
    lab.write({
        "pack/__init__.py": "",
        "pack/app.py": """
            class V:
                def __init__(self) -> None:
                    self.size = 0
                def __len__(self) -> int:
                    return self.size
            class W:
                text = ""

            def entry(v: V):
                if isinstance(v, list):
                    if len(v):
                        pass
                    if isinstance(v, W):
                        if v.text:
                            pass
        """,
    })  # fmt: skip
    document = lab.study(function="pack.app:entry")
    assert {t.name for t in document.types} == {"pack.app.V", "pack.app.W"}
    assert types_at(document, "pack/app.py:11:then") == {"pack.app.V": 1}
    assert types_at(document, "pack/app.py:14:then") == {"pack.app.V": 1, "pack.app.W": 1}


def test_names_that_are_imported_for_annotations_are_known_in_full(lab):
    lab.write({
        "pack/__init__.py": """
            from .app import entry
            from .kinds import K

            def sized(k: K):
                if k.size:
                    pass
        """,
        "pack/kinds.py": "class K:\n    size = 0\n",
        "pack/app.py": """
            from typing import TYPE_CHECKING

            if TYPE_CHECKING:
                from . import kinds
                from .kinds import K
            try:
                import nowhere as there
            except ImportError:
                import elsewhere as there
            import sys
            if sys.version_info > (3,):
                import nowhere as here
            else:
                import elsewhere as here

            def entry(k: "kinds.K", w: "K.Wrong", u: there.Unknown, v: here.Other):
                if k.size:
                    pass
                if w:
                    pass
                if u.size():
                    pass
                if v.size():
                    pass
        """,
    })  # fmt: skip
    document = lab.study(function="pack.app:entry")
    assert {t.name for t in document.types} == {"pack.kinds.K", "nowhere.Unknown", "nowhere.Other"}
    assert types_at(document, "pack/app.py:17:then") == {"pack.kinds.K": 1}
    assert types_at(document, "pack/app.py:19:then") == {}
    assert types_at(document, "pack/app.py:21:then") == {"nowhere.Unknown": 1}
    assert types_at(document, "pack/app.py:23:then") == {"nowhere.Other": 1}

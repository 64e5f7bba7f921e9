"""Swapping mutants into a running program: all kinds of functions, and nothing left behind."""

import asyncio
import gc
import importlib
import sys
import traceback
import types
from typing import Any

import pytest
from mutant_lab import Subject

from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard, TrialTimeout
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.mutants.program import CannotSwap, Program

CONSTRUCTS = '''
from __future__ import annotations
import asyncio, contextlib, enum, functools, dataclasses, types

def wraps(function):
    @functools.wraps(function)
    def wrapper(*args, **keys):
        return function(*args, **keys)
    return wrapper

def plain(n, *, k=1): return n + k
def fact(n): return 1 if n < 2 else n * fact(n - 1)
@wraps
@wraps
def wrapped(n):
    """Docs."""
    return n + 1
def adder(k):
    count = k + 0
    def add(n):
        nonlocal count
        count += 1
        return n + k
    return add
add_five = adder(5)
part = functools.partial(plain, k=3)
double = lambda n: n + n
table = {"a": lambda n: n + 1, "b": lambda n: n + 2}
pair = lambda n: n + 3, lambda n: n + 4

class Base:
    __secret = 3
    def __init__(self, n=1): self.n = n; self.__hidden = n
    def method(self, n): return self.__hidden + n + self.__secret
    @property
    def prop(self): return self.n + 1
    @prop.setter
    def prop(self, value): self.n = value + 1
    @staticmethod
    def static(n): return n + 1
    @classmethod
    def klass(cls, n): return cls().n + n
    @functools.cached_property
    def cached(self): return self.n + 1
    def __len__(self): return self.n + 1
    class Inner:
        def method(self, n): return n + 1
        class Innermost:
            x = 1 + 1
            def method(self): return __class__.x + 1
class Child(Base):
    def method(self, n):
        return super().method(n) + 100
    def twice(self, n): return super(Child, self).method(n) + __class__().n

@functools.lru_cache(maxsize=None)
def cached(n): return n + 1
def through_cache(n): return cached(n)
@contextlib.contextmanager
def context(n):
    yield n + 1
def use_context(n):
    with context(n) as found: return found
@functools.singledispatch
def dispatch(x): return x + 1
@dispatch.register
def _(x: str): return x + x
def generator(n):
    k = yield n + 1
    yield k + n
async def coroutine(n):
    await asyncio.sleep(0)
    return n + 1
async def agen(n):
    for i in range(n): yield i + 1
async def collect(n): return [i async for i in agen(n)]
class Color(enum.Enum):
    RED = 1
    GREEN = 2
    def shifted(self, n): return self.value + n
    @classmethod
    def _missing_(cls, value): return cls(value - 10)
@dataclasses.dataclass(slots=True)
class Point:
    x: int
    y: int = 2
    def __post_init__(self): self.y = self.x + self.y
    def size(self): return self.x + self.y
def comprehend(n): return [i + 1 for i in range(n) if i > 0], {i: i + 2 for i in (n,)}, sum(i + n for i in (1, 2))
def matching(n):
    match n:
        case int() if n > 3: return n + 1
        case {"k": [x, *_]}: return x + 1
        case Point(x=a): return a + 1
    return n
def nested(n):
    class Local:
        y = n + 1
        def get(self): return self.y + n
    def inner(m):
        return (lambda k: k + m)(n)
    return Local().get() + inner(2)
def defaults(n, m=2, /, *rest, k: int = 3, **keys): return n + m + k + len(rest) + len(keys)
def tries(n):
    try:
        return 10 // n
    except ZeroDivisionError as e:
        return -1 if str(e) else 1
    finally:
        f = lambda: n + 1
        f()
def made_by_type(n): return n + 1
Made = type("Made", (), {"m": lambda self, n: n + 1, "s": staticmethod(made_by_type)})
class Meta(type):
    def __call__(cls, *args): return super().__call__(*args)
    def __getitem__(cls, n): return n + 1
class WithMeta(metaclass=Meta): pass
class Descriptor:
    def __get__(self, obj, owner): return 1 if obj is None else obj.n + 1
    def __set_name__(self, owner, name): self.name = name + "!"
class Holder:
    n = 4
    d = Descriptor()
'''  # noqa: E501


def drive(subject: Subject) -> dict[str, Any]:
    """What every construct does."""
    m = subject.module
    base, child = m.Base(5), m.Child(7)

    def step() -> list[int]:
        running = m.generator(4)
        return [next(running), running.send(10)]

    def assign() -> int:
        mine = m.Base(0)
        mine.prop = 3
        return mine.n  # type: ignore[no-any-return]

    calls = {
        "plain": lambda: m.plain(1),
        "fact": lambda: m.fact(5),
        "wrapped": lambda: m.wrapped(3),
        "add": lambda: m.add_five(1),
        "adder": lambda: m.adder(1)(2),
        "part": lambda: m.part(2),
        "double": lambda: m.double(4),
        "table": lambda: [f(1) for f in m.table.values()],
        "pair": lambda: [f(1) for f in m.pair],
        "method": lambda: (base.method(1), child.method(2), child.twice(3)),
        "prop": lambda: (base.prop, assign()),
        "static": lambda: (m.Base.static(1), base.klass(2)),
        "cached_property": lambda: m.Base(2).cached,
        "len": lambda: len(base),
        "inner": lambda: (m.Base.Inner().method(1), m.Base.Inner.Innermost().method()),
        "cache": lambda: m.through_cache(1),
        "context": lambda: m.use_context(1),
        "dispatch": lambda: (m.dispatch(1), m.dispatch("x")),
        "generator": step,
        "async": lambda: (asyncio.run(m.coroutine(1)), asyncio.run(m.collect(2))),
        "enum": lambda: (m.Color.RED.shifted(2), m.Color(12)),
        "dataclass": lambda: (m.Point(1).size(), m.Point(1)),
        "comprehend": lambda: m.comprehend(3),
        "matching": lambda: (m.matching(4), m.matching({"k": [5]}), m.matching(m.Point(1))),
        "nested": lambda: m.nested(3),
        "defaults": lambda: m.defaults(1, 2, 3, k=4, z=5),
        "tries": lambda: (m.tries(5), m.tries(0)),
        "made": lambda: (m.Made().m(1), m.Made.s(2)),
        "meta": lambda: (m.WithMeta[1], type(m.WithMeta()).__name__),
        "descriptor": lambda: m.Holder().d,
    }
    found = {}
    for name, call in calls.items():
        try:
            found[name] = repr(call())
        except Exception as e:
            found[name] = repr(e)
    return found


@pytest.fixture(scope="module")
def constructs() -> Subject:
    return Subject(CONSTRUCTS)


def test_every_construct_can_be_mutated_and_is_put_back(constructs):
    original = drive(constructs)
    changed: set[str] = set()
    unseen = []
    for mutant in constructs.program.mutants:
        if mutant.static:
            continue
        with constructs.mutated(mutant):
            now = drive(constructs)
        different = {name for name in original if now[name] != original[name]}
        changed |= different
        if not different:
            unseen.append(mutant.id)
    assert drive(constructs) == original
    assert changed == set(original)
    # Equivalent ones: n + 0, a finalizer's value that nobody uses, _missing_ for unknown values,
    # a name that nobody reads.
    assert len(unseen) < 12, unseen


def test_what_runs_at_import_is_static(constructs):
    static = {m.id for m in constructs.program.mutants if m.static}
    assert static == {"subject:Base.Inner.Innermost.x:math:0:-"}
    with pytest.raises(CannotSwap, match="runs at import"):
        constructs.program.enter(constructs.program.by_id[static.pop()])


def test_functions_that_are_gone_are_static_if_they_ran():
    subject = Subject(
        "def make(n): return n + 1\nX = make(1)\ndel make\ndef never(n): return n + 1\ndel never\n",
        ["math"],
    )
    assert [(m.function, m.static) for m in subject.program.mutants] == [
        ("make", True),
        ("never", False),
    ]


def test_probed_and_recompiled_code_covers_the_same_cells(constructs):
    program = constructs.program
    program.clear_caches()
    constructs.coverage.clear()
    plain = drive(constructs), constructs.coverage.collect()
    probing = program.probing()
    probing.want(range(len(program.mutants)))
    probing.cover(program.units)
    program.install(probing)
    try:
        assert {m.index for m in program.mutants if not m.static} == probing.watched
        for _ in range(2):
            probing.clear()
            constructs.coverage.clear()
            assert (drive(constructs), constructs.coverage.collect()) == plain
            reached = probing.reached()
        assert len(reached) > 0.9 * len(probing.watched)
        assert set(probing.infected()) <= set(reached)
        probing.want([])
        probing.cover(program.units)
        probing.clear()
        drive(constructs)
        assert probing.reached() == probing.infected() == []
    finally:
        program.install(None)


def test_tracebacks_and_introspection_stay_true(constructs):
    """Lines, columns, names and first lines of probed and mutated code."""
    source = (
        "def deco(f): return f\nclass C:\n    @deco\n    @deco\n"
        "    def m(self, a):\n        x = (a.b\n             < 3)\n"
        "        return a.y - 1 if x else 2\n"
    )
    subject = Subject(source)
    code = subject.C.m.__code__

    def trace() -> list[tuple[Any, ...]]:
        try:
            subject.C().m(types.SimpleNamespace(b=2))
        except AttributeError as e:
            frame = traceback.extract_tb(e.__traceback__)[-1]
            return [(frame.lineno, frame.end_lineno, frame.colno, frame.end_colno, frame.name)]
        return []

    plain = trace()
    assert plain[0][0] == 8
    probing = subject.program.probing()
    probing.want(range(len(subject.program.mutants)))
    probing.cover(subject.program.units)
    subject.program.install(probing)
    assert subject.C.m.__code__ is not code
    for _ in range(2):
        now = subject.C.m.__code__
        assert trace() == plain
        assert (now.co_firstlineno, now.co_qualname, now.co_filename, now.co_varnames[:2]) == (
            *(code.co_firstlineno, code.co_qualname, code.co_filename),
            ("self", "a"),
        )
        hash(now)
        subject.program.enter_base(subject.mutants("boundary")[0])
    subject.program.install(None)
    assert subject.C.m.__code__ is code


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters")
def test_type_parameters():
    subject = Subject(
        "class Box[T]:\n"
        "    def get[S: (int, str)](self, s: S, n: T) -> S | T: return (T, S, n + 1)[-1]\n"
        "    def __mine[S](self): return 3\n"
        "    def put(self, n): return self.__mine() + (n if T else 0)\n"
        "def typed[T: int](x: T) -> T:\n"
        "    def inner[U](y: U) -> U: return y + x if (T, U) else x\n"
        "    return inner(x)\n"
        "type Pair[A] = tuple[A, A] if 1 + 1 else None\n"
    )

    def drive() -> list[Any]:
        box = subject.Box()
        return [box.get("s", 1), box.put(4), subject.typed(2)]

    original = drive()
    assert original == [2, 7, 4]
    assert not any(m.static for m in subject.program.mutants)
    for mutant in subject.mutants("math"):
        with subject.mutated(mutant):
            assert drive() != original
        assert drive() == original
    probing = subject.program.probing()
    probing.want(range(len(subject.program.mutants)))
    probing.cover(subject.program.units)
    assert len(probing.watched) == len(subject.program.mutants)
    subject.program.install(probing)
    assert drive() == original
    assert probing.reached()


def test_states_of_a_unit():
    subject = Subject("def f(n):\n    return g(n) + 1\ndef g(n):\n    return n + 1\n", ["math"])
    program = subject.program
    f, g = program.mutants
    probing = program.probing()
    probing.want([f.index, g.index])
    probing.cover(program.units)
    observed = subject.observed("f", 1)
    assert {u.name for u in program.units_of(observed)} == {"f", "g"}
    assert program.units_of(0) == []

    program.install(probing)
    probing.clear()
    assert subject.f(1) == 3
    assert probing.reached() == probing.infected() == [0, 1]

    program.enter(f)  # g keeps its probes, f has neither probes nor coverage
    probing.clear()
    assert subject.observed("f", 1) == subject.observed("g", 1) != 0
    assert subject.f(1) == 1
    assert probing.reached() == [g.index]
    program.enter(g)
    assert subject.f(1) == 1
    program.leave()
    program.leave()
    assert subject.f(1) == 3

    program.quiet(program.units)
    probing.clear()
    assert subject.observed("f", 1) == 0
    assert subject.f(1) == 3
    with subject.mutated(g):
        assert subject.f(1) == 1
    assert subject.observed("f", 1) == 0
    assert probing.reached() == []
    program.end_quiet()
    assert subject.observed("f", 1) == observed
    assert probing.reached() == [0, 1]

    program.install(None)
    probing.clear()
    assert subject.observed("f", 1) == observed
    assert probing.reached() == []


def test_wanting_less_and_more():
    body = "".join(f"    if n < {i}: n += {i}\n" for i in range(8))
    subject = Subject(f"def f(n):\n{body}    return n\n", ["boundary"])
    program = subject.program
    watches = [m.index for m in program.mutants]
    probing = program.probing()
    program.install(probing)
    for wanted in (watches, watches[:7], watches[2:5], watches[:1], [], watches[4:], watches):
        probing.want(wanted)
        assert probing.watched <= set(wanted)
        probing.cover(program.units)
        assert probing.watched == set(wanted)
        probing.clear()
        assert subject.f(100) == 100
        assert probing.reached() == wanted
        assert probing.infected() == []
        probing.clear()
        assert subject.f(3) == 7
        assert probing.infected() == [i for i in wanted if i in (watches[3], watches[7])]


def test_caches_are_emptied():
    subject = Subject(
        "import functools\n@functools.cache\ndef f(n): return n + 1\n"
        "class C:\n    @functools.lru_cache\n    def m(self): return 2 + 3\n"
        "def g(n): return f(n)\n",
        ["math"],
    )
    assert subject.g(1) == 2
    with subject.mutated("f:math:0:-"):
        assert subject.g(1) == 0
    assert subject.g(1) == 2
    probing = subject.program.probing()
    probing.want([0])
    probing.cover(subject.program.units)
    subject.program.install(probing)
    for _ in range(2):  # not only the first run executes it
        probing.clear()
        assert subject.g(1) == 2
        assert probing.reached() == [0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "mutant"),
    [
        ("def f(n):\n    while n > 0: n -= 1\n", "f:increments:0:+="),
        ("def f(n):\n    for i in grow(n): pass\ndef grow(n):\n    while n: n -= 1; yield n\n",
         "grow:increments:0:+="),
        ("def f(n):\n    xs = [1]\n    for x in xs:\n        if x > n: xs.append(x)\n",
         "f:negate:0:<="),
        ("def f(n):\n    def g(n): return 0 if n < 1 else g(n - 1) + g(n - 1)\n    return g(24)\n",
         "f:math:2:-"),
        ("def f(n):\n    class C:\n        n = 5\n        while n > 0: n = n - 1\n", "f:math:0:+"),
        ("f = lambda n: 0 if n > 23 else f(n + 1) + f(n + 1)", ":math:2:-"),
    ],
)  # fmt: skip
def test_mutants_run_out_of_fuel_at_the_same_turn(source, mutant):
    subject = Subject(source)
    (found,) = (m for m in subject.program.mutants if m.id.endswith(mutant))
    spent = []
    for _ in range(2):
        with subject.mutated(found):
            subject.guard.start()
            subject.guard._left = 2000
            with pytest.raises(TrialTimeout):
                subject.f(3)
            assert subject.guard.expired
            subject.guard.stop()
        spent.append(subject.guard._left)
    assert spent[0] == spent[1]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="compiles code that is never reached")
def test_what_cannot_be_swapped_says_why_and_leaves_things_as_they_were():
    subject = Subject("def f(n):\n    if -0.0:\n        return sum(i for i in n)\n    return n\n")
    code = subject.f.__code__
    with pytest.raises(CannotSwap, match="nested"):
        subject.program.enter(subject.mutants("negatives")[0])
    assert subject.f.__code__ is code
    assert subject.f(3) == 3


def test_modules_that_come_later():
    subject = Subject("def f(n): return n + 1\n", ["math"])
    program = subject.program
    assert program.scan() == []
    late = types.ModuleType("subject.late")
    source = b"def h(n): return n * 2\n"
    exec(subject.application.compile("subject.late", "/src/subject/late.py", source), vars(late))
    (new,) = program.scan()
    assert (new.id, new.index, new.file) == ("subject.late:h:math:0://", 1, "subject/late.py")
    program.enter(new)
    assert (late.h(3), subject.f(1)) == (1, 2)
    program.enter(program.mutants[0])
    assert (late.h(3), subject.f(1)) == (6, 0)
    program.leave()


def test_modules_that_only_a_mutant_imports_do_not_belong_to_the_program(tmp_path, monkeypatch):
    package = tmp_path / "pkg_of_late"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "main.py").write_text(
        "def f(n):\n    if n > 5:\n        from pkg_of_late import rare\n"
        "        return rare.g(n)\n    return n\n"
    )
    (package / "rare.py").write_text("def g(n): return n * 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    table, coverage = EdgeTable(tmp_path / "edges.json"), CoverageMap()
    application = Application(["pkg_of_late"], [], table, coverage, Guard(0.2))
    program = Program(application, ["negate", "math"])
    application.install()
    try:
        main = importlib.import_module("pkg_of_late.main")
        program.scan()
        (mutant,) = program.mutants
        edges, sizes = table.reachable, set()
        for _ in range(2):
            program.enter(mutant)
            assert main.f(1) == 2
            program.leave()
            sizes.add(table.size)
            table.save(lambda file, data: None)
            assert "pkg_of_late.rare" not in sys.modules
            assert not hasattr(sys.modules["pkg_of_late"], "rare")
            assert (table.reachable, table.known_files()) == (edges, table.files())
            assert program.scan() == []
        assert len(sizes) == 1, "its cells are used again"
        coverage.clear()
        assert main.f(6) == 12
        (new,) = program.scan()
        assert new.module == "pkg_of_late.rare"
        assert table.reachable > edges
        assert program.units_of(coverage.collect()) == [mutant.unit, new.unit]
    finally:
        sys.meta_path.remove(application)
        for name in [name for name in sys.modules if application.has(name)]:
            del sys.modules[name]


def test_only_some_modules():
    subject = Subject("x = 1")
    program = type(subject.program)(subject.application, ["math"], ["a.b"])
    for name in ("a", "a.b", "a.b.c", "a.bc"):
        subject.application.compile(name, f"/src/{name}.py", b"def f(n): return n + 1\n")
    assert [m.module for m in program.scan()] == ["a.b", "a.b.c"]


def test_too_deep_a_module_is_told():
    subject = Subject("x = 1")
    deep = "def f(x): return " + "-" * 150 + "x\n"
    limit = sys.getrecursionlimit()
    try:
        code = "m", "/src/m.py", deep.encode()
        subject.application.compile(*code)
        sys.setrecursionlimit(len(traceback.extract_stack()) + 120)
        new = subject.program.scan()
    finally:
        sys.setrecursionlimit(limit)
    assert new == []
    assert "module m is nested too deeply" in subject.program.warnings[0]


def test_nothing_is_found_twice_and_nothing_is_kept_alive_by_the_collector():
    subject = Subject(CONSTRUCTS)
    before = [len(u.live.functions) for u in subject.program.units]
    gc.collect()
    subject.program.scan()
    assert [len(u.live.functions) for u in subject.program.units] == before
    assert len(subject.program.by_id) == len(subject.program.mutants)


def test_compiled_mutants_do_not_fill_the_memory():
    subject = Subject(CONSTRUCTS)
    subject.program.keep_bytes = 20_000
    swappable = [m for m in subject.program.mutants if not m.static]
    for mutant in swappable:
        with subject.mutated(mutant):
            assert mutant.code
    kept = [m for m in swappable if m.code]
    assert 1 < len(kept) < len(swappable) / 2
    assert kept == swappable[-len(kept) :]


def test_a_module_that_runs_twice_has_its_mutants_in_both():
    subject = Subject("def f(n): return n + 1\n", ["math"])
    program = subject.program
    (mutant,) = program.mutants
    probing = program.probing()
    probing.want([0])
    probing.cover(program.units)
    program.install(probing)
    with subject.mutated(mutant):
        assert subject.f(1) == 0
    again = types.ModuleType("subject")
    subject.execute(again)
    assert program.scan() == []
    assert probing.watched == set()  # until it is compiled for both
    probing.cover(program.units)
    assert probing.watched == {0}
    for function in (subject.f, again.f):
        probing.clear()
        assert function(1) == 2
        assert probing.reached() == [0]
    with subject.mutated(mutant):
        assert (subject.f(1), again.f(1)) == (0, 0)
    assert (subject.f(1), again.f(1)) == (2, 2)


PLACES = """# coding: utf-8
def one(n, größe):
    text, size = f"{n + 1}ß{größe - 2}", len("äöü𝄞") + größe
    return (
        n *
        größe
    ) + len(text)
"""


def test_the_place_of_a_mutant_is_that_of_its_expression():
    """Lines and columns select the very text that the mutant replaces."""
    lines = PLACES.splitlines()
    spans = {}
    for mutant in Subject(PLACES, ["math"]).mutants():
        cut = lines[mutant.line - 1 : mutant.end_line]
        cut[-1] = cut[-1][: mutant.end_column - 1]  # first: it may be the same line
        cut[0] = cut[0][mutant.column - 1 :]
        text = " ".join(" ".join(cut).split())
        assert mutant.before in text
        spans[mutant.before] = mutant.line, mutant.end_line, text == mutant.before
    assert spans['len("äöü𝄞") + größe'] == (3, 3, True)
    assert spans["n * größe"] == (5, 6, True)
    assert spans["( n * größe ) + len(text)"] == (4, 7, True)
    # Parts of an f-string have a place from Python 3.12 on; before, that of the whole string.
    assert spans["n + 1"] == (3, 3, sys.version_info >= (3, 12))

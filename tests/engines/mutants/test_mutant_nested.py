"""A mutant in a nested function is compiled alone: the code is that of the whole unit's compile."""

import importlib.util
import sys
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
from mutant_lab import Subject

from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.mutants.mutant import mutated_node
from fuzztui.engines.mutants.operators import OPERATORS
from fuzztui.engines.mutants.program import Program
from fuzztui.engines.mutants.recompile import Nested
from fuzztui.engines.mutants.units import CannotSwap, Code, Unit

ALL = [operator.name for operator in OPERATORS]

SCOPES = '''
import functools

def keep(function): return function

class Outer:
    def method(self, n):
        count = _Inner__private = n + 1
        class Inner(Outer):
            @keep
            @functools.lru_cache(None)
            def deep(self, a: int = n + 1, *rest: str, k: "int" = 3) -> int:
                """Doc."""
                nonlocal count
                count += 1
                def deeper(b):
                    nonlocal __private
                    __private = a - b
                    while b > 0:
                        b -= 1
                    return super().__str__ and __private < n + k
                return deeper(a) or [x + n for x in rest if x > __private]
            value = n - 1
            async def wait(self):
                async def inner(): return n * 2
                return -(await inner()) + self.__hidden
            @property
            def twice(self): return __class__ and self.value * 2
        return Inner

def unclear(n):
    if n:
        def same(a): return a + n
    else:
        def same(a): return a - n
    try:
        n += 1
    finally:
        def twice(a): return a < n
    f = lambda a, b=n + 1: a * b + n
    def generate(m):
        global made
        made = m - 1
        yield from (i + n for i in range(m) if i > made)
    return same, twice, f, generate

def dropped(n):
    def last(a):
        return n
    def locals_too(a):
        b = a + 1
        return locals(), b > n
    return last, locals_too
'''


def parts(code: CodeType) -> list[Any]:
    """Everything that one can see of a code object, and of those in it."""
    nested = [parts(c) if isinstance(c, CodeType) else (type(c), repr(c)) for c in code.co_consts]
    names = (
        "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_stacksize", "co_flags",
        "co_code", "co_names", "co_varnames", "co_filename", "co_name", "co_qualname",
        "co_firstlineno", "co_linetable", "co_exceptiontable", "co_freevars", "co_cellvars",
    )  # fmt: skip
    return [*(getattr(code, name) for name in names), nested]


def seen(code: Code) -> list[Any]:
    return [(id(function), parts(body)) for function, body in code]


def compare(program: Program, every: int = 1) -> tuple[int, int]:
    """The numbers of mutants in nested functions, and of those that were compiled alone."""
    compiler = program.compiler
    before = compiler._patched
    fitted: list[bool] = []

    def patched(unit: Unit, nested: Nested) -> Any:
        found = before(unit, nested)
        fitted.append(found is not None)
        return found

    compiler._patched = patched  # type: ignore[method-assign]
    inside = 0
    for mutant in program.mutants[::every]:
        unit = mutant.unit
        if unit is None:
            continue
        prepared = compiler.for_mutants(unit)
        point = prepared.points[mutant.point - unit.points[0]]
        changed = mutated_node(point.changes[mutant.change][1], point.node)
        whole: Code | None = None
        prepared.slots.put(point.node, changed)
        try:
            whole = compiler.compile(unit, prepared, {})
        except CannotSwap:
            pass
        finally:
            prepared.slots.put(point.node, point.node)
        try:
            code, _ = compiler.mutant(unit, prepared, point.node, changed)
        except CannotSwap:
            assert whole is None, mutant.id
            continue
        assert whole is not None, mutant.id
        assert seen(code) == seen(whole), mutant.id
        inside += prepared.nested[id(point.node)] is not None
    return inside, sum(fitted)


def test_scopes_of_every_kind() -> None:
    inside, alone = compare(Subject(SCOPES, ALL).program)
    assert inside == alone > 15


def test_code_that_does_not_fit_is_not_patched_in() -> None:
    subject = Subject(SCOPES, ALL)
    compiler = subject.program.compiler
    (unit,) = (u for u in subject.program.units if u.name == "dropped")
    prepared = compiler.for_mutants(unit)
    nested = compiler._nested(unit, prepared, prepared.points[0].node)
    assert nested is not None
    fits = compiler._codes(unit, nested.module, {})
    assert nested.patch(unit.base_codes, fits)
    last = fits[0].co_consts[1]
    for other in (last.replace(co_freevars=("n", "m")), last.replace(co_qualname="dropped.last")):
        assert nested.patch(unit.base_codes, [fits[0].replace(co_consts=(None, other))]) is None


def source_of(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("module", ["dataclasses", "typing", "unittest.mock", "inspect", "difflib"])
def test_libraries(module: str) -> None:
    inside, alone = compare(Subject(source_of(module), ALL).program)
    assert inside == alone > 0


@pytest.mark.slow
def test_a_unit_of_thousands_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "html5lib.html5parser"
    pytest.importorskip("html5lib")
    application = Application(["html5lib"], [], EdgeTable(), CoverageMap(), Guard(0.2))
    program = Program(application, ALL)
    source = source_of(name)
    module = ModuleType(name)
    module.__package__ = "html5lib"
    monkeypatch.setitem(sys.modules, name, module)
    exec(application.compile(name, "/html5parser.py", source.encode()), module.__dict__)
    program.scan()
    inside, alone = compare(program, 23)
    assert inside == alone > 30


def test_a_mutant_in_a_nested_function_runs() -> None:
    subject = Subject(SCOPES, ALL)
    assert subject.dropped(3)[1](2)[1] is False
    with subject.mutated("dropped:negate:0:<="):
        assert subject.dropped(1)[1](2)[1] is False
        assert subject.dropped(3)[1](2)[1] is True

"""Units that are compiled from their lines alone: the code is that of the whole module."""

import importlib.util
import inspect
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.instrument import Instrumenter, UnitSpan
from fuzztui.engines.instrument.markers import compile_with
from fuzztui.engines.instrument.segments import ModuleLines, only_unit, shelled, unit_of
from fuzztui.engines.instrument.units import Census

MODULES = (
    "argparse", "ast", "asyncio.base_events", "contextlib", "dataclasses", "email.message", "enum",
    "functools", "inspect", "json.decoder", "pprint", "tarfile", "textwrap", "typing",
    "unittest.case",
)  # fmt: skip

ODD = '''\
from __future__ import annotations
import json, os.path
from os import *
def plain(a, *, key=lambda x: x or 1, **rest: "int"): return json.loads(a) or os.path.join(a)
if plain:
\tclass Outer:
\t\t@property

\t\t@staticmethod
\t\tdef decorated(x: int = 3) -> str:
\t\t\t"""A text
of two lines."""
\t\t\tdef inner(): return __class__, super().x, self.__private
\t\t\treturn inner
\t\tclass __Inner:
\t\t\tasync def method(self):
\t\t\t\tasync for x in self.__ä: yield {y for y in x if y}
\t\t\tpair = [(lambda: 1), (lambda é=2:
  (é and 3))]
try: text = f"é {(lambda: 'a' or 1)()}"
finally:
    def at_the_end():  # the compiler copies it
        while True:
            return f"""{plain
                }"""
'''
GENERIC = """\
class Outer[T]:
    class Inner[U]:
        def method(self, x: T) -> U:
            return T, lambda: U, super().method(x)
        def generic[V: int](self): return T, U, V
"""


def everything(code: CodeType) -> list[Any]:
    """What must be equal. From Python 3.12 on, lambdas in comprehensions of modules are nested."""
    nested = [everything(c) if isinstance(c, CodeType) else (type(c), c) for c in code.co_consts]
    return [
        code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
        code.co_name, code.co_qualname, code.co_filename, code.co_firstlineno,
        code.co_flags & ~inspect.CO_NESTED, code.co_stacksize, code.co_exceptiontable,
        code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount,
        list(code.co_positions()), list(code.co_lines()), nested,
    ]  # fmt: skip


def differing(source: bytes) -> tuple[int, list[str]]:
    """The number of units, and the names of those whose code is another one when made alone."""
    application = Application(["m"], [], EdgeTable(), CoverageMap(), Guard(1.0))
    application.compile("m", "/m.py", source)
    census = Census(application)
    (module,) = census.scan()
    text, found = ModuleLines(source), []
    for unit in census.units.values():
        node = unit_of(text, unit.span)
        Instrumenter(unit.span.cells[0]).visit(node)
        tree = shelled(node, unit.span.classes, module.imports)
        alone = only_unit(compile_with(tree, "/m.py", application.constants, module.flags))
        if everything(alone[0]) != everything(unit.codes[0]):
            found.append(f"{unit.span.name}:{unit.span.line}")
    return len(census.units), found


@pytest.mark.parametrize("name", MODULES)
def test_units_of_the_standard_library(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    count, wrong = differing(Path(spec.origin).read_bytes())
    assert count > 5
    assert not wrong


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_odd_units(end: str) -> None:
    source = ODD.replace("\n", end)
    assert differing(source.encode()) == (8, [])
    assert differing(f"# coding: latin-1{end}{source}".encode("latin-1")) == (8, [])


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters")
def test_units_in_generic_classes() -> None:
    assert differing(GENERIC.encode()) == (2, [])


def test_a_unit_that_the_source_does_not_have() -> None:
    span = UnitSpan("f", 1, 0, 1, 9, 1, (0, 1), ())
    with pytest.raises(SyntaxError, match="no unit at line 1"):
        unit_of(ModuleLines(b"g = 1\n"), span)
